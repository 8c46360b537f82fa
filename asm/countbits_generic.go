package asm

import "math/bits"

func countCellsGeneric(lines [][8]uint64, width int) (count uint64) {
	if width == 2 || width == 4 {
		return countPlanes(lines, width)
	}
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

// countPlanes counts cells of 2 or 4 planes.
func countPlanes(lines [][8]uint64, planes int) (count uint64) {
	for i := range lines {
		l := &lines[i]
		for w := range 8 / planes {
			word := l[w] | l[w+4]
			if planes == 4 {
				word |= l[w+2] | l[w+6]
			}
			count += uint64(bits.OnesCount64(word))
		}
	}
	return count
}
