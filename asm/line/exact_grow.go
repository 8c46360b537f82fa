// SPDX-License-Identifier: Apache-2.0

package line

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/layout"
)

// SplitExactRows distributes lines from to to-1 of exact rows over rows of twice as many
// lines. The top bit of a remainder becomes the lowest bit of the line number, so the
// words of line i go to lines 2i and 2i+1, in address order. All of them find a cell
// there. Lines 2*from to 2*to-1 of dst must be empty. It panics unless src has 2^k lines,
// layout.MinExactLines to layout.MaxExactLines/2, dst has 2^(k+1), and 0 <= from <= to <=
// 2^k.
func SplitExactRows(dst, src []layout.Line, from, to int) {
	if len(dst) != 2*len(src) || len(src)&(len(src)-1) != 0 || len(src) < layout.MinExactLines || len(dst) > layout.MaxExactLines {
		panic("line: SplitExactRows: not twice as many lines, or a number of lines out of range")
	}
	wide, narrow := layout.ExactCellBits(len(src)), layout.ExactCellBits(len(dst))
	splitExact(dst[2*from:2*to], src[from:to], wide, narrow, layout.ExactRemainderBits(len(dst)))
}

// ExactRowsToBitmap sets the words of lines from to to-1 of exact rows in a bitmap of all
// 32-bit words: word y is bit y%512 of line y/512. It panics unless bitmap has
// layout.BitmapLines lines, rows has a number of lines that exact rows can have, and 0 <=
// from <= to <= len(rows).
func ExactRowsToBitmap(bitmap, rows []layout.Line, from, to int) {
	if len(bitmap) != layout.BitmapLines || len(rows)&(len(rows)-1) != 0 || len(rows) < layout.MinExactLines || len(rows) > layout.MaxExactLines {
		panic("line: ExactRowsToBitmap: a number of lines out of range")
	}
	width, shift := layout.ExactCellBits(len(rows)), layout.ExactRemainderBits(len(rows))
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
func exactCell(line *layout.Line, at, width uint) uint64 {
	return line[at/64] >> (at % 64) & (1<<width - 1)
}

// SampleExactRows removes the words with one of the bits of out from lines from to to-1
// of exact rows, and returns their number. The others keep their order. Bits of out must
// be bits of a remainder. It panics unless 0 <= from <= to <= len(rows).
func SampleExactRows(rows []layout.Line, from, to int, out uint32) (removed int) {
	width := layout.ExactCellBits(len(rows))
	for i := range rows[from:to] {
		line := &rows[from+i]
		var kept layout.Line
		fill := uint(0)
		for at := uint(0); at < 512; at += width {
			cell := exactCell(line, at, width)
			if cell == 0 {
				break
			}
			if (cell-1)&uint64(out) != 0 {
				removed++
				continue
			}
			kept[fill/64&7] |= cell << (fill % 64)
			fill += width
		}
		*line = kept
	}
	return removed
}

// SplitDigestRows distributes lines from to to-1 of digest rows (TestAndSetExact64) over
// rows of twice as many lines. Of line i, digests whose next bit is clear go to line 2i,
// and the rest to line 2i+1, in address order. All of them find a cell there. Lines
// 2*from to 2*to-1 of dst are overwritten. It panics unless src has 2^k lines, at least
// two, dst has 2^(k+1), and 0 <= from <= to <= 2^k.
func SplitDigestRows(dst, src []layout.Line, from, to int) {
	if len(dst) != 2*len(src) || len(src)&(len(src)-1) != 0 || len(src) < 2 {
		panic("line: SplitDigestRows: not twice as many lines, or not a power of two")
	}
	splitCells64(dst[2*from:2*to], src[from:to], uint(65-bits.Len(uint(len(dst)))))
}

// splitCells64 distributes the cells of lines over twice as many: cells of line i without
// bit half go to line 2i of dst, and the others to line 2i+1, in address order. Lines of
// dst are overwritten.
func splitCells64(dst, src []layout.Line, half uint) {
	if splitCellsVectors(dst, src, half) {
		return
	}
	for i := range src {
		line, pair := &src[i], (*[2]layout.Line)(dst[2*i:])
		// The side of a cell is as good as random, so there is no branch. An empty cell is
		// copied to an empty cell.
		fill := uint64(0) // cells of side 0, and from bit 32 on of side 1
		*pair = [2]layout.Line{}
		for at := range line {
			cell := line[at]
			shift := 32 * (cell >> (half & 63) & 1)
			pair[shift/32][fill>>(shift&63)&7] = cell
			fill += (cell | -cell) >> 63 << (shift & 63)
		}
	}
}

// SampleDigestRows removes the digests with one of the bits of out from lines from to
// to-1 of digest rows, and returns their number. The others keep their order. It panics
// unless 0 <= from <= to <= len(rows).
func SampleDigestRows(rows []layout.Line, from, to int, out uint64) (removed int) {
	for i := range rows[from:to] {
		line := &rows[from+i]
		var kept layout.Line
		n := 0
		for _, digest := range line {
			if digest == 0 {
				break
			}
			if digest&out != 0 {
				removed++
				continue
			}
			kept[n&7] = digest
			n++
		}
		*line = kept
	}
	return removed
}

// splitExact distributes exact rows of 32-bit words over twice as many lines. Of the
// remainders in line i of src, those without bit rest go to line 2i of dst. Those with it
// lose it and go to line 2i+1. Each side keeps its order. Cells have wide bits in src and
// narrow bits in dst, 32 or 16. Lines of dst must be empty. It panics unless dst has
// twice as many lines as src, wide is at least narrow, and a remainder below bit rest and
// the code for empty fit a cell of narrow bits.
func splitExact(dst, src []layout.Line, wide, narrow, rest uint) {
	if len(dst) != 2*len(src) || wide != 16 && wide != 32 || narrow != 16 && narrow != wide || rest >= narrow {
		panic("line: SplitExact: not twice as many lines, or cells of a wrong width")
	}
	if wide == narrow && splitExactVectors(dst, src, wide, rest) {
		return
	}
	for i := range src {
		var cells [2 * 32]uint32
		splitCells(&cells, &src[i], wide, rest)
		packCells(&dst[2*i], cells[:32], narrow)
		packCells(&dst[2*i+1], cells[32:], narrow)
	}
}

// splitCells separates the remainders of a line: those without bit rest become cells 0
// and up, the others cells 32 and up. The side of a remainder is as good as random, so no
// branch depends on it.
func splitCells(cells *[2 * 32]uint32, line *[8]uint64, width, rest uint) {
	mask := uint32(1)<<(rest&31) - 1
	fill := uint64(32) << 32 // the next cell of side 0, and from bit 32 on of side 1
	for _, word := range line {
		for range 64 / width {
			cell := uint32(word & (1<<(width&63) - 1))
			if cell == 0 {
				return
			}
			half := (cell - 1) >> (rest & 31) & 1 * 32
			cells[fill>>(half&63)&63] = (cell-1)&mask + 1
			fill += 1 << (half & 63)
			word >>= width & 63
		}
	}
}

// packCells writes a line of cells of 16 or 32 bits.
func packCells(line *[8]uint64, cells []uint32, width uint) {
	cells = cells[:32]
	for w := range line {
		if width == 32 {
			line[w] = uint64(cells[2*w]) | uint64(cells[2*w+1])<<32
		} else {
			c := cells[4*w : 4*w+4 : 4*w+4]
			line[w] = uint64(c[0]) | uint64(c[1])<<16 | uint64(c[2])<<32 | uint64(c[3])<<48
		}
	}
}
