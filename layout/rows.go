// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"math"
	"math/bits"
)

// A line of fingerprint rows has one row of its 512 bits, or eight rows of a word each. A
// row is searched as a whole, and evicts only its own cells. A cell holds a fingerprint,
// or 0 when it is empty. Cells are counted from the lowest bit of a row up; cell 0 is the
// front, which holds the element that was seen last where rows keep that order.
//
//	word         0          1                  7
//	            ┌──────────┬──────────┬──   ──┬──────────┐
//	Rows8x8     │01234567  │01234567  │   …   │01234567  │  8 rows of 8 cells of 8 bits
//	            ├──────────┼──────────┼──   ──┼──────────┤
//	Rows4x16    │0 1 2 3   │0 1 2 3   │   …   │0 1 2 3   │  8 rows of 4 cells of 16 bits
//	            ├──────────┴──────────┴──   ──┴──────────┤
//	Lines32x16  │0 1 2 3    4 5 6 7       …    28 … 31   │  1 row of 32 cells of 16 bits
//	            ├────────────────────────────────────────┤
//	Lines16x32  │0   1      2   3         …    14  15    │  1 row of 16 cells of 32 bits
//	            ├────────────────────────────────────────┤
//	Lines8x64   │0          1             …    7         │  1 row of 8 cells of 64 bits
//	            └────────────────────────────────────────┘
//
// A line remembers 64, 32, 32, 16 or 8 elements. Of two elements in one row, the second
// looks seen with a probability of 1 in 2^8 - 1, 2^16 - 1, 2^32 - 1 or 2^64 - 1.

// RowShape says how a line consists of rows, and a row of cells.
type RowShape uint8

const (
	// Rows8x8 has 8 rows in a line, each a word of 8 cells of 8 bits.
	Rows8x8 RowShape = iota
	// Rows4x16 has 8 rows in a line, each a word of 4 cells of 16 bits.
	Rows4x16
	// Lines32x16 has one row in a line: 32 cells of 16 bits.
	Lines32x16
	// Lines16x32 has one row in a line: 16 cells of 32 bits.
	Lines16x32
	// Lines8x64 has one row in a line: 8 cells of 64 bits.
	Lines8x64
	// RowShapes is how many shapes there are.
	RowShapes
)

// rowCellBits and rowWords are the bits of a cell and the words of a row, by shape.
var (
	rowCellBits = [RowShapes]uint8{8, 16, 16, 32, 64}
	rowWords    = [RowShapes]uint8{1, 1, 8, 8, 8}
)

// CellBits returns the bits of a cell. It panics if s is none of the constants.
func (s RowShape) CellBits() int { return int(rowCellBits[s]) }

// Cells returns the cells of a row. It panics if s is none of the constants.
func (s RowShape) Cells() int { return int(rowWords[s]) * 64 / int(rowCellBits[s]) }

// RowsPerLine returns the rows of a line, 8 or 1. It panics if s is none of the
// constants.
func (s RowShape) RowsPerLine() int { return 8 / int(rowWords[s]) }

// InWords reports whether a row is a word, and not a line. It panics if s is none of the
// constants.
func (s RowShape) InWords() bool { return rowWords[s] == 1 }

// A line of exact rows is one row of 16 cells of 32 bits or of 32 cells of 16 bits, one
// after the other from the lowest bit of word 0 up. It holds 32-bit words, such as
// permuted IPv4 addresses. With 2^L lines the top L bits of a word are the number of its
// line. Its cell holds the other 32-L bits, the remainder, plus one. So line and
// remainder together are the word, and equality is exact.
//
//	          31              32-L 31-L                    0
//	         ┌────────────────────┬────────────────────────┐
//	a word   │ number of the line │ remainder              │
//	         └────────────────────┴────────────────────────┘
//
//	word      0           1                   7
//	         ┌─────┬─────┬─────┬─────┬──   ──┬─────┬─────┐
//	32 bits  │  0  │  1  │  2  │  3  │   …   │ 14  │ 15  │  MinExactLines to Exact16Lines/2 lines
//	         └─────┴─────┴─────┴─────┴──   ──┴─────┴─────┘
//	         ┌──┬──┬──┬──┬──┬──┬──┬──┬──   ──┬──┬──┬──┬──┐
//	16 bits  │ 0│ 1│ 2│ 3│ 4│ 5│ 6│ 7│   …   │28│29│30│31│  Exact16Lines to MaxExactLines lines
//	         └──┴──┴──┴──┴──┴──┴──┴──┴──   ──┴──┴──┴──┴──┘
//
// An empty cell is 0. Cells are filled from the first one on, and nothing is evicted: an
// element that finds its line full overflows.
//
// A line of digest rows is eight cells of 64 bits, a cell a word: the low halves of
// digests, with 1 in place of 0. With 2^L lines the top L bits of a cell are the number
// of its line. All 64 bits are stored, so rows can grow.

// Exact16Lines is the number of lines from which a cell of 16 bits holds a remainder of a
// 32-bit word and the code for empty.
const Exact16Lines = 1 << 17

// Bounds of the number of lines of exact rows. More than MaxExactLines lines would take
// as much memory as a bitmap of all 2^32 words. That has BitmapLines lines (512 MiB):
// word y is bit y%512 of line y/512. It never overflows.
const (
	MinExactLines = 2
	MaxExactLines = BitmapLines / 2
	BitmapLines   = 1 << 23
)

// ExactRemainderBits returns the width of a remainder with this number of lines, a power
// of two: 32-L bits with 2^L lines.
func ExactRemainderBits(lines int) uint { return uint(33 - bits.Len(uint(lines))) }

// ExactCells returns how many words a line holds with this number of lines, 16 or 32.
func ExactCells(lines int) int { return LineBits / int(ExactCellBits(lines)) }

// ExactCellBits returns the width of a cell with this number of lines, 32 or 16.
func ExactCellBits(lines int) uint {
	if lines >= Exact16Lines {
		return 16
	}
	return 32
}

// NoTick is the tick of an element without a time. Such an element is never a copy and is
// not remembered.
const NoTick = math.MinInt64

// A line of timed rows is one row of six cells of 85 bits. Cell 0 was set last, cell 5
// first. A cell has three fields, whose widths TimedParams in asm/line chooses:
//
//	 84                                                         0
//	┌───────────────────────────┬─────────────┬──────────────────┐
//	│ fingerprint: 21 to 63     │ point: 0-32 │ time: 2 to 63    │
//	└───────────────────────────┴─────────────┴──────────────────┘
//	                            └──────────── mark ──────────────┘
//
// The 85 bits do not fit a word. Word j holds the fingerprint of cell j and the low bits
// of its mark. The upper 21 bits of the mark are in word 6 or 7:
//
//	word       0        1        2        3        4        5        6         7
//	       ┌────────┬────────┬────────┬────────┬────────┬────────┬────────┬─────────┐
//	       │ cell 0 │ cell 1 │ cell 2 │ cell 3 │ cell 4 │ cell 5 │ marks  │ marks   │
//	       │ fp|mark│ fp|mark│ fp|mark│ fp|mark│ fp|mark│ fp|mark│ 0│1│2  │ 3│4│5   │
//	       └────────┴────────┴────────┴────────┴────────┴────────┴────────┴─────────┘
//
//	         63  62            42 41            21 20             0
//	        ┌───┬────────────────┬────────────────┬────────────────┐
//	word 6  │ 0 │ mark of cell 2 │ mark of cell 1 │ mark of cell 0 │  21 bits each
//	        ├───┼────────────────┼────────────────┼────────────────┤
//	word 7  │ s │ mark of cell 5 │ mark of cell 4 │ mark of cell 3 │
//	        └───┴────────────────┴────────────────┴────────────────┘
//
// Bit s is set if a spare line may have cells of this line, which had no room for them. A
// spare line has the same form, and its own s is 0. Several lines next to each other share
// a spare line. A cell keeps its bits when it goes there.
//
// Fingerprint 0 is an empty cell; empty cells come after all others. A line remembers six
// elements. The fingerprint depends on the era of the time, so cells of other eras do not
// match.
const (
	// TimedCells is the number of cells of a timed row.
	TimedCells = 6
	// TimedHighBits is how many bits of a cell are in word 6 or 7.
	TimedHighBits = 21
	// TimedCellBits is the size of a cell: a word and TimedHighBits.
	TimedCellBits = 64 + TimedHighBits
	// TimedSpilled is the bit of word 7 that is set if a spare line may have cells of the
	// line.
	TimedSpilled = 1 << 63
)

// A line of coarse rows is one row of cells and a clock. Cell 0 was set last, the last cell
// first. There are two splits. Coarse cells have 32 bits: cell j is bits 32j to 32j+31 of the
// line.
//
//	 31                        8 7         0
//	┌───────────────────────────┬───────────┐
//	│ fingerprint: 24           │ youth: 8  │  15 cells
//	└───────────────────────────┴───────────┘
//
// Fine cells have 40 bits, in two places: 32 bits of cell j are bits 32j to 32j+31 of the
// line, and the others are byte 48+j.
//
//	byte    0        4               44       48  49      59  60        63
//	       ┌────────┬────────┬──   ─┬────────┬───┬───┬─ ─┬───┬────────────┐
//	       │ cell 0 │ cell 1 │  …   │cell 11 │ 0 │ 1 │ … │11 │ clock: 32  │
//	       └────────┴────────┴──   ─┴────────┴───┴───┴─ ─┴───┴────────────┘
//
//	 31                                    0     7      6 5          0
//	┌───────────────────────────────────────┐   ┌────────┬────────────┐
//	│ fingerprint: its lower 32 bits        │   │ its 2  │ youth: 6   │  12 cells
//	└───────────────────────────────────────┘   └────────┴────────────┘
//
// The clock is the latest time of the line's elements, modulo 2^32. The youth of a cell
// is CoarseOld or FineOld, less the ticks from its time to the clock. It stops at 0,
// which is too old for all, so a line of zeros is empty. Times count in ticks of about a
// hundredth of a window in coarse cells and a thirtieth in fine ones. So a line remembers
// two or three times as many elements as a line of timed rows, and the edges of its
// window are less sharp by a tick.
const (
	// CoarseCells is the number of coarse cells of a row.
	CoarseCells = 15
	// CoarseFingerprintBits is the width of the fingerprint of a coarse cell.
	CoarseFingerprintBits = 24
	// CoarseOld is the age of coarse cells that match no more.
	CoarseOld = 1<<8 - 1
	// CoarseWindow is the longest window, in ticks. Then an element finds the elements
	// within the window before and after it even if it is late by a window.
	CoarseWindow = CoarseOld / 2

	// FineCells is the number of fine cells of a row.
	FineCells = 12
	// FineFingerprintBits is the width of the fingerprint of a fine cell.
	FineFingerprintBits = 34
	// FineOld is the age of fine cells that match no more.
	FineOld = 1<<6 - 1
	// FineWindow is as CoarseWindow, for fine cells.
	FineWindow = FineOld / 2
)

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
	// SlidingPresent is the bit of a cell that marks it as occupied.
	SlidingPresent = 1 << SlidingDateBits
	// SlidingDateBits is the width of a date.
	SlidingDateBits = 15

	slidingTop = 10
)

// SlidingCell returns the cell of a word that was last seen at date 0.
func SlidingCell(word uint64) uint64 {
	return word<<slidingTop&^(2*SlidingPresent-1) | SlidingPresent
}

// SlidingHalfAt returns the number of the cell's bit that holds the lowest bit of its
// line number among lines, a power of two of at least 2*SlidingLines. When the number of
// lines doubles, this bit chooses the half of an old line's pair that the cell goes to.
func SlidingHalfAt(lines int) uint { return uint(65 + slidingTop - bits.Len(uint(lines))) }
