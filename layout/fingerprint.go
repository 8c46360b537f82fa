// SPDX-License-Identifier: Apache-2.0

package layout

// A line of fingerprint rows has one row of its 512 bits, or eight rows of a word each. A
// row is searched as a whole, and evicts from itself alone. A cell holds a fingerprint,
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
