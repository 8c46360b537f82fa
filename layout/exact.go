package layout

import "github.com/flowdedup/flowdedup/asm"

// Bounds of the number of lines of exact rows. Rows of more than MaxExactLines
// lines would take as much memory as a bitmap of all 2^32 words, which fills
// ExactBitLines lines (512 MiB) and never spills.
const (
	minExactLines = 2
	MaxExactLines = ExactBitLines / 2
	ExactBitLines = 1 << 23
)

// ExactCells returns how many words a line holds where exact rows have the
// given number of lines: 32 cells of 16 bits from asm.Exact16Lines on, where the
// remainder and the code for empty fit them, else 16 cells of 32 bits.
func ExactCells(lines int) int {
	return 512 / int(exactCellBits(lines))
}

// exactCellBits returns the width of their cells.
func exactCellBits(lines int) uint {
	if lines >= asm.Exact16Lines {
		return 16
	}
	return 32
}
