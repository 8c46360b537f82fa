package line

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
	"math/bits"
)

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
// there go to overflow, ascending, and their number is returned: their seen bits
// are clear, and the caller has to remember these words elsewhere. A full
// row stays full, so all later sightings of such a word overflow as well.
//
// It panics unless len(lines) is a power of two from 2 to 2^31, seen holds
// len(permuted) bits and overflow is no shorter than permuted.
func TestAndSetExact32(lines []layout.Line, seen []uint64, permuted, overflow []uint32) int {
	checkExact(lines, 2, seen, len(permuted), overflow)
	return testAndSetExact(lines, seen, elements{kind: exact32, count: len(permuted), words: permuted}, overflow, layout.Lines16x32)
}

// TestAndSetExact16 is TestAndSetExact32 for rows of 32 cells of 16 bits: cell c
// lies in bits 16*(c%4) and up of element c/4 of the line. It panics if there are
// fewer than Exact16Lines lines, and otherwise as TestAndSetExact32 does.
func TestAndSetExact16(lines []layout.Line, seen []uint64, permuted, overflow []uint32) int {
	checkExact(lines, layout.Exact16Lines, seen, len(permuted), overflow)
	return testAndSetExact(lines, seen, elements{kind: exact32, count: len(permuted), words: permuted}, overflow, layout.Lines32x16)
}

// TestAndSetExact64 is TestAndSetExact32 for the low halves of digests, digests[i][0], in
// rows of 8 cells of 64 bits: with 2^L lines the top L bits choose the line, and the
// whole word is stored in it, in element c for cell c, 1 in place of 0. So two digests
// count as equal if their low halves are.
func TestAndSetExact64(lines []layout.Line, seen []uint64, digests []digest.Digest, overflow []uint32) int {
	checkExact(lines, 2, seen, len(digests), overflow)
	return testAndSetExact(lines, seen, elements{kind: exact64, count: len(digests), digests: digests}, overflow, layout.Lines8x64)
}

func checkExact(lines []layout.Line, least int, seen []uint64, elements int, overflow []uint32) {
	n := len(lines)
	if n < least || n&(n-1) != 0 || uint64(n) > 1<<31 {
		panic("line: exact rows: the number of lines is not a power of two of the kernel's range")
	}
	if len(seen) < bitWords(elements) || len(overflow) < elements {
		panic("line: exact rows: seen or overflow too short")
	}
}

// testAndSetExact looks elements up with the kernels of fingerprint rows. What is stored of
// an element takes the place of the fingerprint, and no cell of a full row is a victim.
func testAndSetExact(lines []layout.Line, seen []uint64, e elements, overflow []uint32, shape layout.RowShape) (overflowed int) {
	if e.count == 0 {
		return 0
	}
	g := newRowGeometry(shape)
	e.geometry = &g
	var w pipeline
	w.elements = e
	w.begin(lines)
	for at := range seen[:bitWords(e.count)] {
		current, ahead, n := w.next()
		missed, filled := testAndSetRowBatch(lines, current, ahead, n, &g, RowParams{shape, EvictRandom})
		seen[at] = inOrder(^missed, n)
		overflowed = listBits(overflow, overflowed, inOrder(missed^filled, n), 64*at)
	}
	return overflowed
}

// listBits writes base and the number of each bit that is set to list, from number at on,
// and returns the number behind the last one.
func listBits(list []uint32, at int, set uint64, base int) int {
	for ; set != 0; set &= set - 1 {
		list[at] = uint32(base + bits.TrailingZeros64(set))
		at++
	}
	return at
}
