package layout

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/asm"
)

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

func exactCellBits(lines int) uint {
	if lines >= asm.Exact16Lines {
		return 16
	}
	return 32
}

// SplitExactRows distributes lines from to to-1 of exact rows over rows of twice as many
// lines: the top bit of the remainder becomes the lowest bit of the line number, so what
// line i holds goes to lines 2i and 2i+1, in address order. Everything finds
// a cell there. It panics unless src has 2^k lines, minExactLines
// to MaxExactLines/2, dst has 2^(k+1), and 0 <= from <= to <= 2^k. Lines 2*from to
// 2*to-1 of dst must be empty.
func SplitExactRows(dst, src []Line, from, to int) {
	if len(dst) != 2*len(src) || len(src)&(len(src)-1) != 0 || len(src) < minExactLines || len(dst) > MaxExactLines {
		panic("layout: SplitExactRows: not twice as many lines, or a number of lines out of range")
	}
	wide, narrow := exactCellBits(len(src)), exactCellBits(len(dst))
	asm.SplitExact(dst[2*from:2*to], src[from:to], wide, narrow, exactRemainderBits(len(dst)))
}

// ExactRowsToBits sets in a bitmap of all 32-bit words those that lines from to to-1 of
// exact rows hold: word y is bit y%64 of element y/64%8 of line y/512. It panics unless
// bitmap has ExactBitLines lines, rows a number that exact rows may have, and
// 0 <= from <= to <= len(rows).
func ExactRowsToBits(bitmap, rows []Line, from, to int) {
	if len(bitmap) != ExactBitLines || len(rows)&(len(rows)-1) != 0 || len(rows) < minExactLines || len(rows) > MaxExactLines {
		panic("layout: ExactRowsToBits: a number of lines out of range")
	}
	width, shift := exactCellBits(len(rows)), exactRemainderBits(len(rows))
	for i := from; i < to; i++ {
		for at := uint(0); at < 512; at += width {
			cell := exactCell(&rows[i], at, width)
			if cell == 0 {
				break
			}
			y := uint64(i)<<shift | (cell - 1)
			bitmap[y>>9][y>>6&7] |= 1 << (y & 63)
		}
	}
}

// exactCell returns the cell whose lowest bit is bit at of the line.
func exactCell(line *Line, at, width uint) uint64 {
	return line[at/64] >> (at % 64) & (1<<width - 1)
}

// exactRemainderBits returns how many bits of a word the line number leaves.
func exactRemainderBits(lines int) uint {
	return uint(33 - bits.Len(uint(lines)))
}
