// SPDX-License-Identifier: Apache-2.0

package layout

import "math/bits"

// A line of sliding rows is one row of eight cells of 64 bits. A cell holds a part of a
// word (the low half of a digest) and the date when the word was last seen.
//
//	 63                                          16  15  14           0
//	┌───────────────────────────────────────────────┬───┬──────────────┐
//	│ word without its top ten bits and low six: 48 │ 1 │ date: 15     │
//	└───────────────────────────────────────────────┴───┴──────────────┘
//
// An empty cell is 0. Cells are filled from the first one on. With 2^L lines, the top L
// bits of the word are the number of the line. So line and cell together hold 58 bits of
// the word; the top bits of a cell repeat the low bits of the line number when L is above
// ten. A full line holds eight elements.
const (
	// SlidingLines is the least number of lines of sliding rows: the number of a line
	// must hold the ten bits of a word that its cells leave out.
	SlidingLines = 1 << slidingTop
	// SlidingPresent is the bit of a cell that says that it holds an element.
	SlidingPresent = 1 << SlidingDateBits
	// SlidingDateBits is the width of a date.
	SlidingDateBits = 15

	slidingTop = 10
)

// SlidingCell returns the cell of a word that was last seen at date 0.
func SlidingCell(word uint64) uint64 {
	return word<<slidingTop&^(2*SlidingPresent-1) | SlidingPresent
}

// SlidingHalfAt returns the number of the bit of a cell that is the lowest one of its line
// number among lines, a power of two of at least 2*SlidingLines. It says to which half of
// an old line's pair the cell goes when the number of lines doubles.
func SlidingHalfAt(lines int) uint { return uint(65 + slidingTop - bits.Len(uint(lines))) }
