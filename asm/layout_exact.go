package asm

import "math/bits"

// A line of exact rows of 32-bit words is 16 cells of 32 bits or 32 cells of 16 bits, one after
// the other from the lowest bit of the first word up. With 2^L lines the top L bits of a word
// are the number of its line, and a cell holds the other 32-L bits, its remainder, plus one; 0
// is empty. Cells are filled from the first one on. Line and remainder together are the word.
//
// A line of exact rows of digests is 8 cells of 64 bits: the low halves of digests, 1 in place
// of 0. With 2^L lines the top L bits of a cell are the number of its line.

// Exact16Lines is the number of lines from which the remainder of a 32-bit word
// fits a 16-bit cell beside the code for empty.
const Exact16Lines = 1 << 17

// ExactRemainderBits returns how many bits of a 32-bit word the number of one of lines, a
// power of two, leaves.
func ExactRemainderBits(lines int) uint { return uint(33 - bits.Len(uint(lines))) }
