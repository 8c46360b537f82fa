package asm

import "math/bits"

// Broadcast ones and top bits of the cells of a word. (v-ones)&^v&tops is not
// zero if and only if a cell of v is, and its lowest bit is the top bit of
// the lowest such cell; bits above that one may be false.
const (
	ones32 = 0x00000001_00000001
	tops32 = ones32 << 31
	ones16 = 0x0001_0001_0001_0001
	tops16 = ones16 << 15
)

// The three kernels are written out rather than made of one: a parameter or a
// call in the inner loop costs as much as the row itself.

func testAndSetExact32Generic(lines [][8]uint64, seen []uint64, permuted, spill []uint32) int {
	shift := exactShift(len(lines))
	mask := uint32(1)<<shift - 1
	spilled := 0
	for base := 0; base < len(permuted); base += 64 {
		var hits uint64
		for i, y := range permuted[base:min(base+64, len(permuted))] {
			line := &lines[y>>shift]
			cell := uint64(y&mask) + 1
			pattern := cell * ones32
			var match uint64
			for _, word := range line {
				v := word ^ pattern
				match |= (v - ones32) &^ v
			}
			if match&tops32 != 0 {
				hits |= 1 << i
				continue
			}
			if line[7]>>32 != 0 {
				spill[spilled] = uint32(base + i)
				spilled++
				continue
			}
			for w, word := range line {
				if empty := (word - ones32) &^ word & tops32; empty != 0 {
					line[w] |= cell << (bits.TrailingZeros64(empty) - 31)
					break
				}
			}
		}
		seen[base/64] = hits
	}
	return spilled
}

func testAndSetExact16Generic(lines [][8]uint64, seen []uint64, permuted, spill []uint32) int {
	shift := exactShift(len(lines))
	mask := uint32(1)<<shift - 1
	spilled := 0
	for base := 0; base < len(permuted); base += 64 {
		var hits uint64
		for i, y := range permuted[base:min(base+64, len(permuted))] {
			line := &lines[y>>shift]
			cell := uint64(y&mask) + 1
			pattern := cell * ones16
			var match uint64
			for _, word := range line {
				v := word ^ pattern
				match |= (v - ones16) &^ v
			}
			if match&tops16 != 0 {
				hits |= 1 << i
				continue
			}
			if line[7]>>48 != 0 {
				spill[spilled] = uint32(base + i)
				spilled++
				continue
			}
			for w, word := range line {
				if empty := (word - ones16) &^ word & tops16; empty != 0 {
					line[w] |= cell << (bits.TrailingZeros64(empty) - 15)
					break
				}
			}
		}
		seen[base/64] = hits
	}
	return spilled
}

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
