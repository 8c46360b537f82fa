// SPDX-License-Identifier: Apache-2.0

package line

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/layout"
)

// TestAndSetSliding looks up words, the low halves of digests, in stream order, in
// sliding rows (layout/rows.go). It adds missing words, and stores the latest date of
// each.
//
// With 2^L lines the top L bits of words[i] choose the line. Dates count modulo 2^15 and
// are compared the short way round: a is later than b if a-b modulo 2^15 is 1 to 2^14-1.
// dates[i] is the date of element i, below 2^15.
//
// If a cell holds the element, before[i] becomes layout.SlidingPresent with the date of
// the cell, and the cell gets the later of both dates. Otherwise before[i] becomes 0, and
// the element takes the first empty cell. If no cell is empty, its index goes to
// overflow, ascending, and the caller must remember the element elsewhere. It returns the
// number of these elements.
//
// A line has at most one cell for an element. TestAndSetSliding takes constant time for
// each element and does not allocate. It panics unless len(lines) is a power of two from
// layout.SlidingLines to 2^31, and before, dates and overflow are at least as long as
// words.
func TestAndSetSliding(lines []layout.Line, before []uint16, words []uint64, dates []uint16, overflow []uint32) (overflowed int) {
	n := len(lines)
	if n < layout.SlidingLines || n&(n-1) != 0 || uint64(n) > 1<<31 {
		panic("line: TestAndSetSliding: the number of lines is not a power of two from 2^10 to 2^31")
	}
	count := len(words)
	if len(before) < count || len(dates) < count || len(overflow) < count {
		panic("line: TestAndSetSliding: before, dates or overflow shorter than words")
	}
	if count == 0 {
		return 0
	}
	var w pipeline
	w.elements = elements{kind: sliding, count: count, lows: words, dates: dates}
	w.begin(lines)
	for base := 0; base < count; base += 64 {
		current, ahead, n := w.next()
		held := testAndSetSlidingBatch(lines, current, ahead, before[base:base+n])
		overflowed = listBits(overflow, overflowed, inOrder(^held, n), base)
	}
	return overflowed
}

// SplitSlidingRows distributes lines from to to-1 of sliding rows over rows of twice as
// many lines. Of line i, cells whose next bit is clear go to line 2i, and the rest to
// line 2i+1, in address order. All of them find a place there. Lines 2*from to 2*to-1 of
// dst must be empty. It panics unless src has 2^k lines, at least layout.SlidingLines,
// dst has 2^(k+1), and 0 <= from <= to <= 2^k.
func SplitSlidingRows(dst, src []layout.Line, from, to int) {
	if len(dst) != 2*len(src) || len(src)&(len(src)-1) != 0 || len(src) < layout.SlidingLines {
		panic("line: SplitSlidingRows: not twice as many lines, or not a power of two")
	}
	splitCells64(dst[2*from:2*to], src[from:to], layout.SlidingHalfAt(len(dst)))
}

// SlidingExpiry selects the cells of sliding rows to remove: cells whose date is more
// than Steps, below 2^14, before Current, and cells with one of the bits of Out. Only the
// low 15 bits of Current count. Out has no bits of a date.
type SlidingExpiry struct{ Current, Steps, Out uint64 }

// Expired returns 1 for a cell that is too old, else 0.
func (e *SlidingExpiry) Expired(cell uint64) uint64 {
	_, old := bits.Sub64(e.Steps, (e.Current-cell)&(layout.SlidingPresent-1), 0)
	return old
}

// Drops returns 1 for a cell to remove, else 0. Its result for an empty cell is
// undefined.
func (e *SlidingExpiry) Drops(cell uint64) uint64 {
	_, out := bits.Sub64(0, cell&e.Out, 0)
	return e.Expired(cell) | out
}

// Purge removes cells from lines, and returns their number. Other cells stay where they
// are.
func (e *SlidingExpiry) Purge(lines []layout.Line) (removed int) { return purgeSliding(lines, e) }

// testAndSetSlidingBatchGeneric looks up len(before) elements. It returns the elements
// that have a cell after the call, shifted in from below.
func testAndSetSlidingBatchGeneric(lines []layout.Line, current *batch, before []uint16) (held uint64) {
	touchLines(lines, current.offset[:len(before)])
	for i := range before {
		line, cell := &lines[current.offset[i&63]/64], current.low[i&63]
		held = held<<1 | 1
		at := findSliding(line, cell, layout.SlidingPresent-1)
		if at == len(line) {
			before[i] = 0
			if at = findSliding(line, 0, 0); at == len(line) {
				held--
				continue
			}
			line[at&7] = cell
			continue
		}
		known := line[at&7]
		before[i] = uint16(known)
		if (cell-known)&(layout.SlidingPresent-1) < layout.SlidingPresent/2 {
			line[at&7] = cell
		}
	}
	return held
}

// findSliding returns the number of the first cell that differs from the given cell by at
// most differ, or 8. It has no branches, since the place of the cell is as good as
// random.
func findSliding(line *[8]uint64, cell, differ uint64) int {
	misses := above(line[0]^cell, differ) | above(line[1]^cell, differ)<<1 | above(line[2]^cell, differ)<<2 |
		above(line[3]^cell, differ)<<3 | above(line[4]^cell, differ)<<4 | above(line[5]^cell, differ)<<5 |
		above(line[6]^cell, differ)<<6 | above(line[7]^cell, differ)<<7
	return bits.TrailingZeros64(^misses)
}

// purgeSlidingGeneric does not branch on cells, as no branch predictor could guess which
// cells expire.
func purgeSlidingGeneric(lines []layout.Line, e *SlidingExpiry) (removed int) {
	rule, freed := *e, uint64(0) // loops keep the copy in registers
	for i := range lines {
		line := &lines[i]
		for at, cell := range line {
			out := rule.Drops(cell)
			line[at] = cell & (out - 1)
			freed += cell >> layout.SlidingDateBits & out
		}
	}
	return int(freed)
}
