package layout

import "github.com/flowdedup/flowdedup/asm"

// SplitSlidingRows distributes sliding rows (asm.TestAndSetSliding) over twice as many
// lines: of what line i holds, that with the next bit clear goes to line 2i, the rest to
// 2i+1, in one pass in address order. Everything finds a cell there. It panics unless src
// has 2^k lines, at least asm.SlidingLines, and dst has 2^(k+1), all empty.
func SplitSlidingRows(dst, src []Line) {
	if len(dst) != 2*len(src) || len(src)&(len(src)-1) != 0 || len(src) < asm.SlidingLines {
		panic("layout: SplitSlidingRows: not twice as many lines, or not a power of two")
	}
	for i := range src {
		var fill [2]uint
		for _, cell := range src[i] {
			if cell != 0 {
				side := asm.SlidingSide(cell, len(dst))
				dst[2*i+int(side)][fill[side&1]&7] = cell
				fill[side&1]++
			}
		}
	}
}
