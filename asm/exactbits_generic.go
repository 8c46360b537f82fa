package asm

func testAndSetExactBitsGeneric(lines [][8]uint64, seen []uint64, permuted []uint32) {
	lines = lines[:exactBitLines]
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
