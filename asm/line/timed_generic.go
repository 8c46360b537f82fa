// SPDX-License-Identifier: Apache-2.0

package line

import (
	"github.com/flowdedup/flowdedup/layout"
	"math/bits"
)

// The last two words of a line hold three times 21 bits each.
const highMask = 1<<layout.TimedHighBits - 1

func testAndSetTimedBatchGeneric(lines []layout.Line, current *batch, n int, b *timedBatch, r *timedRule) (found timedFound) {
	touchLines(lines, current.offset[:n])
	for i := range n {
		line, mark := &lines[current.offset[i&63]/64], b.mark[i&63]
		b.before[i&63] = *line
		spare := r.maySpare(line, mark)
		isCopy, isNew, _ := r.testAndSet(line, b.cell[i&63], mark)
		found.copies |= isCopy << (i & 63)
		found.new |= isNew << (i & 63)
		found.spare |= (spare & isNew) << (i & 63)
	}
	return found
}

// maySpare returns 1 if a new element may concern the spare line of its line.
func (r *timedRule) maySpare(line *[8]uint64, mark uint64) uint64 {
	const last = layout.TimedCells - 1
	return r.mayHaveCopies(line[last], r.rawMark(line, last), mark) | line[7]>>63
}

// testAndSet looks up one element. It has no branches: whether an element finds its
// fingerprint is as good as random, so every second prediction would be wrong.
func (r *timedRule) testAndSet(line *[8]uint64, cell, mark uint64) (isCopy, isNew, pushedOut uint64) {
	at := r.find(line, cell)
	kept := r.rawMark(line, at)
	near, away, diff := r.judge(kept, mark)
	isNew = above(at, layout.TimedCells-1)
	pushedOut = near & isNew & above(line[layout.TimedCells-1], 0)
	near &= away
	isCopy = near &^ isNew
	if r.refresh {
		r.move(line, at, cell, mark^diff&(r.points|r.tickMask)&-isCopy)
	} else {
		r.move(line, at+8*near, cell, mark)
	}
	return isCopy, isNew, pushedOut
}

// judge compares an element with a cell by their marks: whether it is within the window,
// and away from the cell's point if that is required. diff is the change in the element's
// mark if it refreshes the cell: the later time wins.
func (r *timedRule) judge(kept, mark uint64) (near, away, diff uint64) {
	after := (kept - mark + r.window) & r.tickMask
	near = above(2*r.window+1, after)
	diff = (kept ^ mark) &^ (r.tickMask & -above(r.window+1, after))
	if !r.across {
		return near, 1, diff
	}
	return near, above(diff&r.points, 0), diff
}

// rawMark returns the mark of a cell, of the last cell for TimedCells. The bits above the
// mark belong to other cells.
func (r *timedRule) rawMark(line *[8]uint64, at uint64) uint64 {
	place := timedTables.places[at&7]
	return line[place.cell/8&7]&r.low | line[place.word/8&7]>>(place.shift&63)<<(r.lowBits&63)
}

// find returns the number of the first cell with the fingerprint of cell, or TimedCells.
func (r *timedRule) find(line *[8]uint64, cell uint64) (at uint64) {
	low := r.low
	misses := above(line[0]^cell, low) | above(line[1]^cell, low)<<1 | above(line[2]^cell, low)<<2 |
		above(line[3]^cell, low)<<3 | above(line[4]^cell, low)<<4 | above(line[5]^cell, low)<<5
	return uint64(bits.TrailingZeros64(^misses))
}

// above returns 1 if a is above b.
func above(a, b uint64) uint64 {
	_, borrow := bits.Sub64(b, a, 0)
	return borrow
}

// move makes a move of timedTables with a cell of this fingerprint and mark.
func (r *timedRule) move(line *[8]uint64, number, cell, mark uint64) {
	c0, c1, c2, c3, c4, c5, h, h2 := line[0], line[1], line[2], line[3], line[4], line[5], line[6], line[7]
	moves := &timedTables.moves[number&15].bits
	line[0] = c0 ^ (c0^(cell&^r.low|mark&r.low))&moves[0]
	line[1] = c1 ^ (c1^c0)&moves[1]
	line[2] = c2 ^ (c2^c1)&moves[2]
	line[3] = c3 ^ (c3^c2)&moves[3]
	line[4] = c4 ^ (c4^c3)&moves[4]
	line[5] = c5 ^ (c5^c4)&moves[5]
	line[6] = h ^ (h^(h<<layout.TimedHighBits|mark>>(r.lowBits&63)))&moves[6]
	line[7] = h2 ^ (h2^(h2<<layout.TimedHighBits|h>>(2*layout.TimedHighBits)))&moves[7]
}
