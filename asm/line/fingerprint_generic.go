// SPDX-License-Identifier: Apache-2.0

package line

import "math/bits"

// The plain kernels look for the fingerprint in all cells of a word at once. With v =
// word XOR pattern, (v-ones) &^ v & tops is not 0 if and only if a cell of v is 0. Its
// lowest bit is the top bit of the first such cell; bits above it may be false. The
// bits up to it are the cells from the front to the found cell: a move to the front
// changes these.
//
// Like the kernels in assembly they return the missed elements, shifted in from below, so
// that the last is bit 0.

func testAndSetRowBatchGeneric(lines [][8]uint64, current, ahead *batch, n int, g *rowGeometry, p RowParams) (missed, filled uint64) {
	if ahead != current {
		touchLines(lines, ahead.offset[:])
	}
	words, held := p.Shape.InWords(), ^uint64(0)
	if p.Eviction.InsertsCopies() {
		held = 0
	}
	switch {
	case p.Eviction.random() && words:
		return wordsRandomGeneric(lines, current, n, g, held)
	case p.Eviction.random():
		return linesRandomGeneric(lines, current, n, g, held)
	case p.Eviction == EvictLRU && words:
		return wordsLRUGeneric(lines, current, n, g)
	case p.Eviction == EvictLRU:
		return linesLRUGeneric(lines, current, n, g)
	case words:
		return wordsQueueGeneric(lines, current, n, g, held)
	default:
		return linesQueueGeneric(lines, current, n, g, held)
	}
}

// isZero returns 1 if x is 0, else 0, without a branch.
func isZero(x uint64) uint64 { return (x - 1) &^ x >> 63 }

// upTo returns the bits of a word from its lowest bit up to the lowest bit of x.
func upTo(x uint64) uint64 { return x ^ (x - 1) }

func wordsLRUGeneric(lines [][8]uint64, b *batch, n int, g *rowGeometry) (missed, filled uint64) {
	ones, tops, width, cell := g.ones, g.tops, int(g.width), g.cell
	for i := range n {
		offset, pattern := b.offset[i&63], b.low[i&63]
		word := &lines[offset/64][offset/8%8]
		row := *word
		v := row ^ pattern
		match := (v - ones) &^ v & tops
		missed = missed<<1 | isZero(match)
		rotated := bits.RotateLeft64(row, width)
		last := rotated & cell
		filled = filled<<1 | isZero(match|last)
		moved := rotated ^ last ^ pattern&cell
		*word = row ^ (row^moved)&upTo(match|1<<63)
	}
	return missed, filled
}

// The kernels of random evictions and queues have a mask of the fingerprints that stay
// where they are if they are found: all, or none where copies are inserted.

func wordsQueueGeneric(lines [][8]uint64, b *batch, n int, g *rowGeometry, held uint64) (missed, filled uint64) {
	ones, tops, width, cell := g.ones, g.tops, int(g.width), g.cell
	for i := range n {
		offset, pattern := b.offset[i&63], b.low[i&63]
		word := &lines[offset/64][offset/8%8]
		row := *word
		v := row ^ pattern
		match := (v - ones) &^ v & tops
		missed = missed<<1 | isZero(match)
		inserted := isZero(match & held)
		rotated := bits.RotateLeft64(row, width)
		last := rotated & cell
		filled = filled<<1 | inserted&isZero(last)
		*word = row ^ (row^rotated^last^pattern&cell)&-inserted
	}
	return missed, filled
}

// wordsRandomGeneric overwrites a found fingerprint with itself, to save a branch.
func wordsRandomGeneric(lines [][8]uint64, b *batch, n int, g *rowGeometry, held uint64) (missed, filled uint64) {
	ones, tops, width, cell := g.ones, g.tops, int(g.width), g.cell
	for i := range n {
		offset, pattern := b.offset[i&63], b.low[i&63]
		word := &lines[offset/64][offset/8%8]
		row := *word
		v := row ^ pattern
		match := (v - ones) &^ v & tops
		empty := (row - ones) &^ row & tops
		missed = missed<<1 | isZero(match)
		match &= held
		filled = filled<<1 | isZero(match)&^isZero(empty)
		top := b.random[i&63]
		if empty != 0 {
			top = empty
		}
		if match != 0 {
			top = match
		}
		bit := bits.TrailingZeros64(top) + 1 - width
		*word = row ^ v&(cell<<(bit&63))
	}
	return missed, filled
}

// The loops over the words of a line are separate functions, so that all of their
// variables have registers.

func linesLRUGeneric(lines [][8]uint64, b *batch, n int, g *rowGeometry) (missed, filled uint64) {
	for i := range n {
		miss, last := g.toFront(&lines[b.offset[i&63]/64], b.low[i&63])
		missed = missed<<1 | miss
		filled = filled<<1 | miss&isZero(last)
	}
	return missed, filled
}

func linesQueueGeneric(lines [][8]uint64, b *batch, n int, g *rowGeometry, held uint64) (missed, filled uint64) {
	for i := range n {
		line, pattern := &lines[b.offset[i&63]/64], b.low[i&63]
		missed, filled = missed<<1, filled<<1
		if !g.holds(line, pattern) {
			missed |= 1
		}
		if held&^missed&1 != 0 {
			continue
		}
		filled |= isZero(g.push(line, pattern))
	}
	return missed, filled
}

func linesRandomGeneric(lines [][8]uint64, b *batch, n int, g *rowGeometry, held uint64) (missed, filled uint64) {
	for i := range n {
		line, pattern, victim := &lines[b.offset[i&63]/64], b.low[i&63], b.random[i&63]
		missed, filled = missed<<1, filled<<1
		if !g.holds(line, pattern) {
			missed |= 1
		} else if held != 0 {
			continue
		}
		at := bits.TrailingZeros64(victim) * int(g.width)
		if g.holds(line, 0) {
			at = g.firstEmpty(line)
			filled |= 1
		} else if victim == 0 {
			continue
		}
		word := &line[at/64&7]
		*word ^= (*word ^ pattern) & (g.cell << (at & 63))
	}
	return missed, filled
}

// toFront moves the cells before the cell with the pattern on by one, and puts the pattern
// in front. If there is none, all cells move, miss is 1, and last is the cell that was
// pushed out.
func (g *rowGeometry) toFront(line *[8]uint64, pattern uint64) (miss, last uint64) {
	ones, tops, width, cell := g.ones, g.tops, int(g.width), g.cell
	last = pattern & cell
	for w, row := range line {
		v := row ^ pattern
		match := (v - ones) &^ v & tops
		rotated := bits.RotateLeft64(row, width)
		next := rotated & cell
		moved := rotated ^ next ^ last
		if match != 0 {
			line[w] = row ^ (row^moved)&upTo(match)
			return 0, 0
		}
		line[w] = moved
		last = next
	}
	return 1, last
}

// push moves all cells on by one and puts the pattern in front.
func (g *rowGeometry) push(line *[8]uint64, pattern uint64) (last uint64) {
	width, cell := int(g.width), g.cell
	last = pattern & cell
	for w, row := range line {
		rotated := bits.RotateLeft64(row, width)
		next := rotated & cell
		line[w] = rotated ^ next ^ last
		last = next
	}
	return last
}

// holds reports whether the line has a cell with the pattern.
func (g *rowGeometry) holds(line *[8]uint64, pattern uint64) bool {
	var match uint64
	for _, row := range line {
		v := row ^ pattern
		match |= (v - g.ones) &^ v
	}
	return match&g.tops != 0
}

// firstEmpty returns the lowest bit of the first empty cell of a line. There must be one.
func (g *rowGeometry) firstEmpty(line *[8]uint64) (at int) {
	for w, row := range line {
		if empty := (row - g.ones) &^ row & g.tops; empty != 0 {
			return 64*w + bits.TrailingZeros64(empty) + 1 - int(g.width)
		}
	}
	return 0
}
