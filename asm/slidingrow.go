package asm

import "math/bits"

const (
	// SlidingLines is the least number of lines of sliding rows: a line's number holds the
	// ten bits of a word that its cells leave out at the top.
	SlidingLines = 1 << slidingTop
	// SlidingKnown is the bit of a cell that says that it holds an element.
	SlidingKnown = 1 << SlidingDateBits
	// SlidingDateBits is the width of a date.
	SlidingDateBits = 15

	slidingTop = 10
)

// SlidingCell returns what a cell of sliding rows holds of a word that was last seen at
// date 0.
func SlidingCell(word uint64) uint64 {
	return word<<slidingTop&^(2*SlidingKnown-1) | SlidingKnown
}

// SlidingSide returns the last bit of the number of the line that a cell belongs to, if there
// are 2*SlidingLines lines or more, a power of two.
func SlidingSide(cell uint64, lines int) uint64 {
	return cell >> ((65 + slidingTop - bits.Len(uint(lines))) & 63) & 1
}

// TestAndSetSliding looks up words, the low halves of digests, in sliding rows, in stream order, adds those that are
// missing, and keeps of each the latest date.
//
// With 2^L lines the top L bits of words[i] choose the line, which has eight cells of
// 64 bits. From the top down a cell holds
//
//	the bits of the word behind its first ten (48) | 1 | date (15)
//
// and 0 where it is empty. Line and cell together hold 58 bits of a word, and as
// lines double a cell's next bit says which half it belongs to.
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
	shift := uint(65 - bits.Len(uint(n)))
	var blocks [2]lineBlock
	blocks[0].fillSliding(words[:min(64, count)], dates, shift)
	touchBlock(lines, blocks[0].offset[:32])
	for base := 0; base < count; base += 64 {
		block, ahead := &blocks[base/64&1], &blocks[base/64&1]
		end := min(base+64, count)
		if end < count {
			ahead = &blocks[base/64&1^1]
			ahead.fillSliding(words[end:min(end+64, count)], dates[end:], shift)
		}
		full := testAndSetSlidingBlock(lines, before[base:end], block, ahead)
		for ; full != 0; full &= full - 1 {
			spill[spilled] = uint32(base + bits.TrailingZeros64(full))
			spilled++
		}
	}
	return spilled
}

// fillSliding makes the block of 1 to 64 words, with their cells in the place of low halves.
func (b *lineBlock) fillSliding(words []uint64, dates []uint16, shift uint) {
	dates = dates[:len(words)]
	for i, word := range words {
		b.offset[i&63] = word >> (shift & 63) * 64
		b.low[i&63] = SlidingCell(word) | uint64(dates[i]&(SlidingKnown-1))
	}
	b.repeatFirst(len(words))
}
