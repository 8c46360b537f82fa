package asm

import "math/bits"

// testAndSetSlidingBlockGeneric takes len(before) elements. Bit i of full is set where
// element i found no cell.
func testAndSetSlidingBlockGeneric(lines [][8]uint64, before []uint16, block *lineBlock) (full uint64) {
	touchBlock(lines, block.offset[:len(before)])
	for i := range before {
		line, cell := &lines[block.offset[i&63]/64], block.low[i&63]
		at := findSliding(line, cell, SlidingKnown-1)
		if at == len(line) {
			before[i] = 0
			if at = findSliding(line, 0, 0); at == len(line) {
				full |= 1 << (i & 63)
				continue
			}
			line[at&7] = cell
			continue
		}
		known := line[at&7]
		before[i] = uint16(known)
		if (cell-known)&(SlidingKnown-1) < SlidingKnown/2 {
			line[at&7] = cell
		}
	}
	return full
}

// findSliding returns the number of the first cell that differs from the given one by at
// most differ, 8 if there is none. No part of it is to become a branch: where the cell lies
// is as good as random.
func findSliding(line *[8]uint64, cell, differ uint64) int {
	misses := above(line[0]^cell, differ) | above(line[1]^cell, differ)<<1 | above(line[2]^cell, differ)<<2 |
		above(line[3]^cell, differ)<<3 | above(line[4]^cell, differ)<<4 | above(line[5]^cell, differ)<<5 |
		above(line[6]^cell, differ)<<6 | above(line[7]^cell, differ)<<7
	return bits.TrailingZeros64(^misses)
}
