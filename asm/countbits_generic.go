package asm

import "math/bits"

func countCellsGeneric(lines [][8]uint64, width int) (count uint64) {
	low := ^uint64(0) / (1<<width - 1)
	for i := range lines {
		for _, word := range lines[i] {
			for shift := 1; shift < width; shift *= 2 {
				word |= word >> (shift & 63)
			}
			count += uint64(bits.OnesCount64(word & low))
		}
	}
	return count
}
