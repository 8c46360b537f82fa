package paper

// maxCellBits bounds a cell's width: Max is 65535 then, beyond any use.
const maxCellBits = 16

// cells is an array of unsigned counters of width bits, packed without gaps: a
// cell may straddle two words. Indexes are from 0 to below its count; the
// caller sees to it.
type cells struct {
	words []uint64
	width uint64
	top   uint64 // the largest value of a cell, 2^width - 1
}

// newCells returns count cells that are zero. count * width must be at most
// maxBits, width from 1 to 64.
func newCells(count, width int) cells {
	return cells{
		words: make([]uint64, (count*width+63)/64),
		width: uint64(width),
		top:   1<<width - 1,
	}
}

func (c *cells) get(i uint64) uint64 {
	bit := i * c.width
	word, shift := bit/64, bit%64
	value := c.words[word] >> shift
	if shift+c.width > 64 {
		value |= c.words[word+1] << (64 - shift)
	}
	return value & c.top
}

// prefetch reads the word that cell i begins in.
func (c *cells) load(i uint64) uint64 { return c.words[i*c.width/64] }

// put stores value, at most c.top, in cell i.
func (c *cells) put(i, value uint64) {
	bit := i * c.width
	word, shift := bit/64, bit%64
	c.words[word] = c.words[word]&^(c.top<<shift) | value<<shift
	if shift+c.width > 64 {
		shift = 64 - shift
		c.words[word+1] = c.words[word+1]&^(c.top>>shift) | value>>shift
	}
}

// decrement takes one off cell i unless it is zero.
func (c *cells) decrement(i uint64) {
	if value := c.get(i); value > 0 {
		c.put(i, value-1)
	}
}
