package asm

// TestAndSetSliding looks up words, the low halves of digests, in sliding rows, in stream
// order, adds those that are missing, and keeps of each the latest date.
//
// With 2^L lines the top L bits of words[i] choose the line. What its cells look like is said
// beside SlidingLines. As lines double, a cell's next bit says which half it belongs to.
//
// Dates are counted modulo 2^15 and compared the short way round: a is later than b if
// a-b modulo 2^15 is from 1 to 2^14-1. dates[i] is that of element i, below 2^15. If a cell
// holds the element, before[i] becomes SlidingKnown with the date that this had, and the
// cell has the later one of both from then on. If not, before[i] becomes 0 and the first
// empty cell takes it. Where no cell is empty, the element's position goes to spill,
// ascending: the caller has to remember it elsewhere. The number of these is returned.
//
// Lines have at most one cell of an element. It panics unless len(lines) is a power of two
// from SlidingLines to 2^31, and before, dates and spill are no shorter than words.
func TestAndSetSliding(lines [][8]uint64, before []uint16, words []uint64, dates []uint16, spill []uint32) (spilled int) {
	n := len(lines)
	if n < SlidingLines || n&(n-1) != 0 || uint64(n) > 1<<31 {
		panic("asm: TestAndSetSliding: the number of lines is not a power of two from 2^10 to 2^31")
	}
	count := len(words)
	if len(before) < count || len(dates) < count || len(spill) < count {
		panic("asm: TestAndSetSliding: before, dates or spill shorter than words")
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
		spilled = listBits(spill, spilled, inOrder(^held, n), base)
	}
	return spilled
}
