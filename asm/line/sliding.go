package line

import "github.com/flowdedup/flowdedup/layout"

// TestAndSetSliding looks up words, the low halves of digests, in sliding rows, in stream
// order, adds those that are missing, and keeps of each the latest date.
//
// With 2^L lines the top L bits of words[i] choose the line. What its cells look like is said
// beside SlidingLines. As lines double, a cell's next bit says which half it belongs to.
//
// Dates are counted modulo 2^15 and compared the short way round: a is later than b if
// a-b modulo 2^15 is from 1 to 2^14-1. dates[i] is that of element i, below 2^15. If a cell
// holds the element, before[i] becomes SlidingPresent with the date that this had, and the
// cell has the later one of both from then on. If not, before[i] becomes 0 and the first
// empty cell takes it. Where no cell is empty, the element's position goes to overflow,
// ascending: the caller has to remember it elsewhere. The number of these is returned.
//
// Lines have at most one cell of an element. It panics unless len(lines) is a power of two
// from SlidingLines to 2^31, and before, dates and overflow are no shorter than words.
func TestAndSetSliding(lines []layout.Line, before []uint16, words []uint64, dates []uint16, overflow []uint32) (overflowed int) {
	n := len(lines)
	if n < layout.SlidingLines || n&(n-1) != 0 || uint64(n) > 1<<31 {
		panic("line: TestAndSetSliding: the number of lines is not a power of two from 2^10 to 2^31")
	}
	count := len(words)
	if len(before) < count || len(dates) < count || len(overflow) < count {
		panic("line: TestAndSetSliding: before, dates or overflow shorter than words")
	}
	if count == 0 {
		return 0
	}
	var w pipeline
	w.elements = elements{kind: sliding, count: count, lows: words, dates: dates}
	w.begin(lines)
	for base := 0; base < count; base += 64 {
		current, ahead, n := w.next()
		held := testAndSetSlidingBatch(lines, current, ahead, before[base:base+n])
		overflowed = listBits(overflow, overflowed, inOrder(^held, n), base)
	}
	return overflowed
}

// SplitSlidingRows distributes lines from to to-1 of sliding rows (asm.TestAndSetSliding) over
// rows of twice as many lines: of what line i holds, that with the next bit clear goes to line
// 2i, the rest to 2i+1, in address order. Everything finds a cell there. It panics unless
// src has 2^k lines, at least layout.SlidingLines, dst has 2^(k+1), and 0 <= from <= to <= 2^k.
// Lines 2*from to 2*to-1 of dst must be empty.
func SplitSlidingRows(dst, src []layout.Line, from, to int) {
	if len(dst) != 2*len(src) || len(src)&(len(src)-1) != 0 || len(src) < layout.SlidingLines {
		panic("line: SplitSlidingRows: not twice as many lines, or not a power of two")
	}
	for i := range src[from:to] {
		var fill [2]uint
		for _, cell := range src[from+i] {
			if cell != 0 {
				side := layout.SlidingHalf(cell, len(dst))
				dst[2*(from+i)+int(side)][fill[side&1]&7] = cell
				fill[side&1]++
			}
		}
	}
}
