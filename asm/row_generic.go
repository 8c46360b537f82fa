package asm

import "math/bits"

// The plain kernels. They look for the fingerprint in all cells of a word at
// once: with v = word XOR pattern, (v-ones) &^ v & tops is not zero if and only
// if a cell of v is, and its lowest bit is the top bit of the lowest such cell;
// bits above that one may be false. The bits up to that one are the cells from
// the front to the one that was found, which is what a move to the front changes.

func testAndSetBlockGeneric(lines [][8]uint64, block, next *rowBlock, n int, g *rowGeometry, p RowParams) (found, filled uint64) {
	if next != block {
		touchRows(lines, next.offset[:])
	}
	words := rowWords[p.Shape] == 1
	switch {
	case p.Eviction == EvictRandom && words:
		return wordsRandomGeneric(lines, block, n, g)
	case p.Eviction == EvictRandom:
		return linesRandomGeneric(lines, block, n, g)
	case p.Eviction == EvictFIFO && words:
		return wordsFIFOGeneric(lines, block, n, g)
	case p.Eviction == EvictFIFO:
		return linesFIFOGeneric(lines, block, n, g)
	case words:
		return wordsLRUGeneric(lines, block, n, g)
	default:
		return linesLRUGeneric(lines, block, n, g)
	}
}

// isZero returns 1 if x is 0, else 0, without a branch that would be guessed.
func isZero(x uint64) uint64 { return (x - 1) &^ x >> 63 }

// upTo returns the bits of a word from its lowest bit up to the lowest bit of x.
func upTo(x uint64) uint64 { return x ^ (x - 1) }

func wordsLRUGeneric(lines [][8]uint64, b *rowBlock, n int, g *rowGeometry) (found, filled uint64) {
	ones, tops, width := g.ones, g.ones<<((g.width-1)&63), g.width&63
	for i := range n {
		offset, pattern := b.offset[i&63], b.pattern[i&63]
		word := &lines[offset/64][offset/8%8]
		row := *word
		v := row ^ pattern
		match := (v - ones) &^ v & tops
		found |= (isZero(match) ^ 1) << (i & 63)
		filled += isZero(match | row>>((64-width)&63))
		moved := row<<width | pattern>>((64-width)&63)
		*word = row ^ (row^moved)&upTo(match|1<<63)
	}
	return found, filled
}

func wordsFIFOGeneric(lines [][8]uint64, b *rowBlock, n int, g *rowGeometry) (found, filled uint64) {
	ones, tops, width := g.ones, g.ones<<((g.width-1)&63), g.width&63
	for i := range n {
		offset, pattern := b.offset[i&63], b.pattern[i&63]
		word := &lines[offset/64][offset/8%8]
		row := *word
		v := row ^ pattern
		miss := isZero((v - ones) &^ v & tops)
		found |= (miss ^ 1) << (i & 63)
		filled += miss & isZero(row>>((64-width)&63))
		moved := row<<width | pattern>>((64-width)&63)
		*word = row ^ (row^moved)&-miss
	}
	return found, filled
}

// wordsRandomGeneric writes what is found over itself, to save a branch.
func wordsRandomGeneric(lines [][8]uint64, b *rowBlock, n int, g *rowGeometry) (found, filled uint64) {
	ones, tops, width := g.ones, g.ones<<((g.width-1)&63), g.width&63
	for i := range n {
		offset, pattern := b.offset[i&63], b.pattern[i&63]
		word := &lines[offset/64][offset/8%8]
		row := *word
		v := row ^ pattern
		match := (v - ones) &^ v & tops
		empty := (row - ones) &^ row & tops
		miss := isZero(match)
		found |= (miss ^ 1) << (i & 63)
		filled += miss &^ isZero(empty)
		at := uint64(1) << ((uint64(bits.TrailingZeros64(b.victim[i&63]))*width + width - 1) & 63)
		if empty != 0 {
			at = empty
		}
		if match != 0 {
			at = match
		}
		top := at & -at
		*word = row ^ v&(top<<1-top>>((width-1)&63))
	}
	return found, filled
}

// linesLRUGeneric moves cells on while it searches.
func linesLRUGeneric(lines [][8]uint64, b *rowBlock, n int, g *rowGeometry) (found, filled uint64) {
	ones, tops, width := g.ones, g.ones<<((g.width-1)&63), g.width
element:
	for i := range n {
		line, pattern := &lines[b.offset[i&63]/64], b.pattern[i&63]
		carry := pattern >> (64 - width)
		for w, row := range line {
			v := row ^ pattern
			match := (v - ones) &^ v & tops
			moved := row<<width | carry
			if match != 0 {
				line[w] = row ^ (row^moved)&upTo(match)
				found |= 1 << (i & 63)
				continue element
			}
			line[w] = moved
			carry = row >> (64 - width)
		}
		filled += isZero(carry)
	}
	return found, filled
}

func linesFIFOGeneric(lines [][8]uint64, b *rowBlock, n int, g *rowGeometry) (found, filled uint64) {
	ones, tops, width := g.ones, g.ones<<((g.width-1)&63), g.width
	for i := range n {
		line, pattern := &lines[b.offset[i&63]/64], b.pattern[i&63]
		if matchLine(line, pattern, ones)&tops != 0 {
			found |= 1 << (i & 63)
			continue
		}
		carry := pattern >> (64 - width)
		for w, row := range line {
			line[w] = row<<width | carry
			carry = row >> (64 - width)
		}
		filled += isZero(carry)
	}
	return found, filled
}

func linesRandomGeneric(lines [][8]uint64, b *rowBlock, n int, g *rowGeometry) (found, filled uint64) {
	ones, tops, width := g.ones, g.ones<<((g.width-1)&63), g.width
	for i := range n {
		line, pattern := &lines[b.offset[i&63]/64], b.pattern[i&63]
		if matchLine(line, pattern, ones)&tops != 0 {
			found |= 1 << (i & 63)
			continue
		}
		bit := uint64(bits.TrailingZeros64(b.victim[i&63])) * width
		if matchLine(line, 0, ones)&tops != 0 {
			bit = firstEmpty(line, ones, tops) + 1 - width
			filled++
		}
		cell := ^uint64(0) >> (64 - width) << (bit & 63)
		word := &line[bit/64&7]
		*word ^= (*word ^ pattern) & cell
	}
	return found, filled
}

// matchLine returns the bits of all words together; tops of them are not zero if
// and only if a cell of the line is that of pattern.
func matchLine(line *[8]uint64, pattern, ones uint64) (match uint64) {
	for _, row := range line {
		v := row ^ pattern
		match |= (v - ones) &^ v
	}
	return match
}

// firstEmpty returns the top bit of the first empty cell, counted from the
// line's first bit. There must be one.
func firstEmpty(line *[8]uint64, ones, tops uint64) (bit uint64) {
	for w, row := range line {
		if empty := (row - ones) &^ row & tops; empty != 0 {
			return uint64(64*w + bits.TrailingZeros64(empty))
		}
	}
	return 0
}
