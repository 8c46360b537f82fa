// SPDX-License-Identifier: Apache-2.0

package layout

import "math/bits"

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
// An empty cell is 0. Cells are filled from the first one on, and nothing is evicted:
// what finds its line full overflows.
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
