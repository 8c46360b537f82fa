package layout

import "github.com/flowdedup/flowdedup/asm"

// SplitSlidingRows distributes lines from to to-1 of sliding rows (asm.TestAndSetSliding) over
// rows of twice as many lines: of what line i holds, that with the next bit clear goes to line
// 2i, the rest to 2i+1, in address order. Everything finds a cell there. It panics unless
// src has 2^k lines, at least asm.SlidingLines, dst has 2^(k+1), and 0 <= from <= to <= 2^k.
// Lines 2*from to 2*to-1 of dst must be empty.
func SplitSlidingRows(dst, src []Line, from, to int) {
	if len(dst) != 2*len(src) || len(src)&(len(src)-1) != 0 || len(src) < asm.SlidingLines {
		panic("layout: SplitSlidingRows: not twice as many lines, or not a power of two")
	}
	for i := range src[from:to] {
		var fill [2]uint
		for _, cell := range src[from+i] {
			if cell != 0 {
				side := asm.SlidingSide(cell, len(dst))
				dst[2*(from+i)+int(side)][fill[side&1]&7] = cell
				fill[side&1]++
			}
		}
	}
}
