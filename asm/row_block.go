package asm

import (
	"math/bits"
)

// rowBlock is what the kernels know of up to 64 elements. It is made for all of
// them before the first one is looked up, so that this work can be done on
// vectors. The kernels in assembly know its layout.
type rowBlock struct {
	offset  [64]uint64 // of the row, in bytes from the first line
	pattern [64]uint64 // the fingerprint, in each cell of a word
	victim  [64]uint64 // the bit of the cell that a random eviction takes; else not set
}

// rowGeometry is a RowShape as the kernels want it. The kernels in assembly know
// its layout.
type rowGeometry struct {
	rows  uint64 // the number of rows
	shift uint64 // a row has 2^shift bytes
	width uint64 // bits a cell
	ones  uint64 // the lowest bit of each cell of a word
	tops  uint64 // the top bit of each cell of a word
	cell  uint64 // all bits of the first cell of a word
}

func newRowGeometry(lines int, s RowShape) rowGeometry {
	width := s.CellBits()
	cell := ^uint64(0) >> (64 - width)
	ones := ^uint64(0) / cell
	return rowGeometry{
		rows:  uint64(lines) * uint64(s.RowsPerLine()),
		shift: uint64(bits.TrailingZeros8(8 * rowWords[s])),
		width: uint64(width),
		ones:  ones,
		tops:  ones << (width - 1),
		cell:  cell,
	}
}

// testAndSetRows is TestAndSetRows after its checks; it returns how many cells
// were filled. With each block the kernels get the one after it, to fetch some of
// its lines meanwhile; the last block is its own successor. They return the
// elements that they miss, shifted in from below: the last one is bit 0.
func testAndSetRows(lines [][8]uint64, seen []uint64, digests []Digest, position uint64, order []uint32, p RowParams) (filled uint64) {
	if len(digests) == 0 {
		return 0
	}
	g := newRowGeometry(len(lines), p.Shape)
	if p.Eviction != EvictRandom {
		order = nil
	}
	var blocks [2]rowBlock
	blocks[0].fill(digests, position, order, &g, p)
	touchRows(lines, blocks[0].offset[:32])
	for w := range seen {
		block, next := &blocks[w&1], &blocks[w&1]
		n := min(64, len(digests))
		if digests = digests[n:]; len(digests) > 0 {
			if order == nil {
				position += 64
			} else {
				order = order[64:]
			}
			next = &blocks[w&1^1]
			next.fill(digests, position, order, &g, p)
		}
		missed, empty := testAndSetBlock(lines, block, next, n, &g, p)
		seen[w] = ^bits.Reverse64(missed) >> (64 - n)
		filled += empty
	}
	return filled
}

// fill makes the block of the first 64 digests, or of all if there are fewer. The
// places behind them get the row of the first one: they are fetched ahead with
// the others, and lines of other elements may be in use by other workers.
func (b *rowBlock) fill(digests []Digest, position uint64, order []uint32, g *rowGeometry, p RowParams) {
	digests = digests[:min(64, len(digests))]
	done := locateRows(b, digests, g)
	rows, shift, cell, ones := g.rows, g.shift&63, g.cell, g.ones
	for i := done; i < len(digests); i++ {
		d := &digests[i]
		row, _ := bits.Mul64(d[1], rows)
		b.offset[i&63] = row << shift
		fingerprint, _ := bits.Mul64(d[0], cell)
		b.pattern[i&63] = (fingerprint + 1) * ones
	}
	for i := len(digests); i < 64; i++ {
		b.offset[i&63] = b.offset[0]
	}
	if p.Eviction == EvictRandom {
		b.chooseVictims(digests, position, order, p.Shape.Cells())
	}
}

// chooseVictims sets the cells that random evictions take.
func (b *rowBlock) chooseVictims(digests []Digest, position uint64, order []uint32, cells int) {
	shift := 65 - bits.Len(uint(cells))
	for i := locateVictims(b, digests, position, order, shift); i < len(digests); i++ {
		s := position + uint64(i)
		if order != nil {
			s = position + uint64(order[i])
		}
		b.victim[i&63] = 1 << (draw(digests[i][0], s) >> (shift & 63) & 63)
	}
}

// touchRows loads a word of the line of each offset, so that the cache misses of
// all of them run at the same time. It must stay a call: inlined, loads without a
// use would be left out.
//
//go:noinline
func touchRows(lines [][8]uint64, offsets []uint64) (sum uint64) {
	for _, offset := range offsets {
		sum += lines[offset/64][0]
	}
	return sum
}
