package layout

import "math/bits"

// A line of exact rows of 32-bit words is 16 cells of 32 bits or 32 cells of 16 bits, one after
// the other from the lowest bit of the first word up. With 2^L lines the top L bits of a word
// are the number of its line, and a cell holds the other 32-L bits, its remainder, plus one; 0
// is empty. Cells are filled from the first one on. Line and remainder together are the word.
//
// A line of exact rows of digests is 8 cells of 64 bits: the low halves of digests, 1 in place
// of 0. With 2^L lines the top L bits of a cell are the number of its line.

// Exact16Lines is the number of lines from which the remainder of a 32-bit word
// fits a 16-bit cell beside the code for empty.
const Exact16Lines = 1 << 17

// ExactRemainderBits returns how many bits of a 32-bit word the number of one of lines, a
// power of two, leaves.
func ExactRemainderBits(lines int) uint { return uint(33 - bits.Len(uint(lines))) }

// Bounds of the number of lines of exact rows. Rows of more than MaxExactLines
// lines would take as much memory as a bitmap of all 2^32 words, which fills
// BitmapLines lines (512 MiB) and never overflows.
const (
	MinExactLines = 2
	MaxExactLines = BitmapLines / 2
	BitmapLines   = 1 << 23
)

// ExactCells returns how many words a line holds where exact rows have the
// given number of lines: 32 cells of 16 bits from layout.Exact16Lines on, where the
// remainder and the code for empty fit them, else 16 cells of 32 bits.
func ExactCells(lines int) int {
	return 512 / int(ExactCellBits(lines))
}

// ExactCellBits returns the width of their cells.
func ExactCellBits(lines int) uint {
	if lines >= Exact16Lines {
		return 16
	}
	return 32
}
