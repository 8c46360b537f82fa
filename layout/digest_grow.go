package layout

import "math/bits"

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
