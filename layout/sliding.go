package layout

import "math/bits"

// A line of sliding rows is eight cells of 64 bits. From the top down a cell holds
//
//	the bits of a word behind its first ten (48) | 1 | date (15)
//
// and 0 where it is empty. With 2^L lines the top L bits of the word are the number of the
// line, so line and cell together hold 58 bits of the word.
const (
	// SlidingLines is the least number of lines of sliding rows: a line's number holds the
	// ten bits of a word that its cells leave out at the top.
	SlidingLines = 1 << slidingTop
	// SlidingPresent is the bit of a cell that says that it holds an element.
	SlidingPresent = 1 << SlidingDateBits
	// SlidingDateBits is the width of a date.
	SlidingDateBits = 15

	slidingTop = 10
)

// SlidingCell returns what a cell of sliding rows holds of a word that was last seen at
// date 0.
func SlidingCell(word uint64) uint64 {
	return word<<slidingTop&^(2*SlidingPresent-1) | SlidingPresent
}

// SlidingHalf returns the last bit of the number of the line that a cell belongs to, if there
// are 2*SlidingLines lines or more, a power of two.
func SlidingHalf(cell uint64, lines int) uint64 {
	return cell >> ((65 + slidingTop - bits.Len(uint(lines))) & 63) & 1
}
