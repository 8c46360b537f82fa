// SPDX-License-Identifier: Apache-2.0

package line

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

// TestAndSetExact32 looks up 32-bit words, in stream order, in exact rows of 16 cells of
// 32 bits (layout/rows.go), and adds missing words.
//
// With 2^L lines the top L bits of a word choose its line. The line stores the other 32-L
// bits, the remainder, plus one, in its first empty cell. Line and remainder determine
// the word, so equality is exact.
//
// It sets bit i of seen if and only if the row of permuted[i] held it before, from an
// earlier call or an earlier element of this one, and clears the other bits of the words
// that len(permuted) elements cover. A word that is not in its row and finds no empty
// cell there overflows: its index goes to overflow, ascending, and its bit in seen is
// clear. The caller must remember such words elsewhere. It returns their number. A full
// row stays full, so such a word overflows each time it is seen.
//
// It takes constant time for each element and does not allocate. It panics unless
// len(lines) is a power of two from 2 to 2^31, seen has len(permuted) bits, and overflow
// is at least as long as permuted.
func TestAndSetExact32(lines []layout.Line, seen []uint64, permuted, overflow []uint32) int {
	checkExact(lines, 2, seen, len(permuted), overflow)
	return testAndSetExact(lines, seen, elements{kind: exact32, count: len(permuted), words: permuted}, overflow, layout.Lines16x32)
}

// TestAndSetExact16 is TestAndSetExact32 for rows of 32 cells of 16 bits. It panics if
// there are fewer than layout.Exact16Lines lines, and otherwise as TestAndSetExact32
// does.
func TestAndSetExact16(lines []layout.Line, seen []uint64, permuted, overflow []uint32) int {
	checkExact(lines, layout.Exact16Lines, seen, len(permuted), overflow)
	return testAndSetExact(lines, seen, elements{kind: exact32, count: len(permuted), words: permuted}, overflow, layout.Lines32x16)
}

// TestAndSetExact64 is TestAndSetExact32 for the low halves of digests, digests[i][0], in
// digest rows of 8 cells of 64 bits. With 2^L lines the top L bits choose the line, which
// stores all 64 bits, and 1 in place of 0. So two digests count as equal if their low
// halves are.
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

// testAndSetExact looks elements up with the kernels of fingerprint rows. The stored part
// of an element takes the place of the fingerprint, and a full row evicts nothing.
func testAndSetExact(lines []layout.Line, seen []uint64, e elements, overflow []uint32, shape layout.RowShape) (overflowed int) {
	if e.count == 0 {
		return 0
	}
	g := newRowGeometry(shape, topVictims())
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

// listBits writes base plus the number of each bit that is set to list, from index at on,
// and returns the index after the last.
func listBits(list []uint32, at int, set uint64, base int) int {
	for ; set != 0; set &= set - 1 {
		list[at] = uint32(base + bits.TrailingZeros64(set))
		at++
	}
	return at
}

// TestAndSetBitmap is TestAndSetExact32 for a bitmap of all 2^32 words: word y is bit
// y%512 of line y/512. Nothing overflows. It panics unless there are layout.BitmapLines
// lines and seen has len(permuted) bits.
func TestAndSetBitmap(lines []layout.Line, seen []uint64, permuted []uint32) {
	if len(lines) != layout.BitmapLines || len(seen) < bitWords(len(permuted)) {
		panic("line: TestAndSetBitmap: not 2^23 lines, or seen too short")
	}
	testAndSetBitmap(lines, seen, permuted)
}

func testAndSetBitmapGeneric(lines []layout.Line, seen []uint64, permuted []uint32) {
	lines = lines[:layout.BitmapLines]
	for base := 0; base < len(permuted); base += 64 {
		var hits uint64
		for i, y := range permuted[base:min(base+64, len(permuted))] {
			word := &lines[y>>9][y>>6&7]
			hits |= *word >> (y & 63) & 1 << i
			*word |= 1 << (y & 63)
		}
		seen[base/64] = hits
	}
}
