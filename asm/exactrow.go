package asm

import "math/bits"

// Exact16Lines is the number of lines from which the remainder of a 32-bit word
// fits a 16-bit cell beside the code for empty.
const Exact16Lines = 1 << 17

// exactBitLines is the number of lines that have one bit for each 32-bit word.
const exactBitLines = 1 << 23

// TestAndSetExact32 looks up 32-bit words in exact rows of 16 cells of 32 bits,
// in stream order, and adds those that are missing.
//
// With 2^L lines the top L bits of a word choose its line and the other 32-L
// bits, its remainder, are stored plus one in the line's first empty cell; 0 is
// empty. Cell c lies in the low (c even) or high half of element c/2 of the
// line. Together line and remainder are the word, so equality is exact.
//
// Bit i of seen is set if and only if the row of permuted[i] held it before,
// whether from an earlier call or from an earlier element of this one; the other
// bits of the words that len(permuted) elements cover are cleared. The
// positions of words that are neither in their row nor have an empty cell
// there go to spill, ascending, and their number is returned: their seen bits
// are clear, and the caller has to remember these words elsewhere. A full
// row stays full, so all later sightings of such a word spill as well.
//
// It panics unless len(lines) is a power of two from 2 to 2^31, seen holds
// len(permuted) bits and spill is no shorter than permuted.
func TestAndSetExact32(lines [][8]uint64, seen []uint64, permuted, spill []uint32) int {
	checkExact(lines, 2, seen, len(permuted), spill)
	return testAndSetExact(lines, seen, exactElements{words: permuted}, spill, Lines16x32)
}

// TestAndSetExact16 is TestAndSetExact32 for rows of 32 cells of 16 bits: cell c
// lies in bits 16*(c%4) and up of element c/4 of the line. It panics if there are
// fewer than Exact16Lines lines, and otherwise as TestAndSetExact32 does.
func TestAndSetExact16(lines [][8]uint64, seen []uint64, permuted, spill []uint32) int {
	checkExact(lines, Exact16Lines, seen, len(permuted), spill)
	return testAndSetExact(lines, seen, exactElements{words: permuted}, spill, Lines32x16)
}

// TestAndSetExact64 is TestAndSetExact32 for the low halves of digests, digests[i][0], in
// rows of 8 cells of 64 bits: with 2^L lines the top L bits choose the line, and the
// whole word is stored in it, in element c for cell c, 1 in place of 0. So two digests
// count as equal if their low halves are.
func TestAndSetExact64(lines [][8]uint64, seen []uint64, digests []Digest, spill []uint32) int {
	checkExact(lines, 2, seen, len(digests), spill)
	return testAndSetExact(lines, seen, exactElements{digests: digests}, spill, Lines8x64)
}

// TestAndSetExactBits is TestAndSetExact32 for a bitmap of all 2^32 words: the
// top 23 bits choose the line, the next three the element in it and the low six
// the bit. Nothing ever spills. It panics unless there are 2^23 lines and
// seen holds len(permuted) bits.
func TestAndSetExactBits(lines [][8]uint64, seen []uint64, permuted []uint32) {
	if len(lines) != exactBitLines || len(seen) < (len(permuted)+63)/64 {
		panic("asm: TestAndSetExactBits: not 2^23 lines, or seen too short")
	}
	testAndSetExactBits(lines, seen, permuted)
}

func checkExact(lines [][8]uint64, least int, seen []uint64, elements int, spill []uint32) {
	n := len(lines)
	if n < least || n&(n-1) != 0 || uint64(n) > 1<<31 {
		panic("asm: exact rows: the number of lines is not a power of two of the kernel's range")
	}
	if len(seen) < (elements+63)/64 || len(spill) < elements {
		panic("asm: exact rows: seen or spill too short")
	}
}

// exactShift returns by how much a word is shifted to leave its line's number.
func exactShift(lines int) uint {
	return uint(33 - bits.Len(uint(lines)))
}
