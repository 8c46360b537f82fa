package layout

import "math/bits"

// SplitDigestRows distributes rows of digests (asm.TestAndSetExact64) over twice as many
// lines: of what line i holds, that with the next bit clear goes to line 2i, the rest to
// 2i+1, in one pass in address order. Everything finds a cell there. It panics unless
// src has 2^k lines, at least two, and dst has 2^(k+1), all empty.
func SplitDigestRows(dst, src []Line) {
	if len(dst) != 2*len(src) || len(src)&(len(src)-1) != 0 || len(src) < 2 {
		panic("layout: SplitDigestRows: not twice as many lines, or not a power of two")
	}
	shift := uint(65 - bits.Len(uint(len(dst)))) // leaves a line's number
	for i := range src {
		var fill [2]uint
		for _, digest := range src[i] {
			if digest == 0 {
				break
			}
			side := digest >> (shift & 63) & 1
			dst[2*i+int(side)][fill[side]&7] = digest
			fill[side]++
		}
	}
}
