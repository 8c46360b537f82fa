// SPDX-License-Identifier: Apache-2.0

package line

import "github.com/flowdedup/flowdedup/layout"

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
