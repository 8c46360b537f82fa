package layout

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/asm"
)

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
	asm.SplitExact(dst[2*from:2*to], src[from:to], wide, narrow, asm.ExactRemainderBits(len(dst)))
}

// ExactRowsToBits sets in a bitmap of all 32-bit words those that lines from to to-1 of
// exact rows hold: word y is bit y%64 of element y/64%8 of line y/512. It panics unless
// bitmap has ExactBitLines lines, rows a number that exact rows may have, and
// 0 <= from <= to <= len(rows).
func ExactRowsToBits(bitmap, rows []Line, from, to int) {
	if len(bitmap) != ExactBitLines || len(rows)&(len(rows)-1) != 0 || len(rows) < minExactLines || len(rows) > MaxExactLines {
		panic("layout: ExactRowsToBits: a number of lines out of range")
	}
	width, shift := exactCellBits(len(rows)), asm.ExactRemainderBits(len(rows))
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

// ThinExactRows takes those words from lines from to to-1 of exact rows that have one of the
// bits of out, and returns how many. The others keep their order. Bits of out must be
// ones that cells hold. It panics unless 0 <= from <= to <= len(rows).
func ThinExactRows(rows []Line, from, to int, out uint32) (removed int) {
	width := exactCellBits(len(rows))
	for i := range rows[from:to] {
		line := &rows[from+i]
		var kept Line
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

// SplitDigestRows distributes lines from to to-1 of rows of digests
// (asm.TestAndSetExact64) over rows of twice as many lines: of what line i holds, that
// with the next bit clear goes to line 2i, the rest to 2i+1, in address order. Everything
// finds a cell there. It panics unless src has 2^k lines, at least two, dst has 2^(k+1),
// and 0 <= from <= to <= 2^k. Lines 2*from to 2*to-1 of dst must be empty.
func SplitDigestRows(dst, src []Line, from, to int) {
	if len(dst) != 2*len(src) || len(src)&(len(src)-1) != 0 || len(src) < 2 {
		panic("layout: SplitDigestRows: not twice as many lines, or not a power of two")
	}
	shift := uint(65 - bits.Len(uint(len(dst)))) // leaves a line's number
	for i, line := range src[from:to] {
		pair := (*[2]Line)(dst[2*(from+i):])
		// Which side a digest goes to is as good as random: no branch foresees it. A 0
		// for an empty cell is put where one is.
		fill := uint64(0) // of either side
		for _, digest := range line {
			side := digest >> (shift & 63) & 1
			pair[side][fill>>(32*side&63)&7] = digest
			fill += 1 << (32 * side & 63)
		}
	}
}

// ThinDigestRows takes those digests from lines from to to-1 of rows of digests
// (asm.TestAndSetExact64) that have one of the bits of out, and returns how many. The others
// keep their order. It panics unless 0 <= from <= to <= len(rows).
func ThinDigestRows(rows []Line, from, to int, out uint64) (removed int) {
	for i := range rows[from:to] {
		line := &rows[from+i]
		var kept Line
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
