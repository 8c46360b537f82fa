package asm

// CountBits returns how many bits of lines are set.
func CountBits(lines [][8]uint64) uint64 { return countCells(lines, 1) }

// CountCells returns how many cells of lines are not zero. A cell has width bits, 1,
// 2, 4, 8 or 16. Cells of 2 and 4 bits lie in planes as TestAndSetCells describes
// them, others begin in their word at a multiple of width. It panics for any other
// width.
func CountCells(lines [][8]uint64, width int) uint64 {
	switch width {
	case 1, 2, 4, 8, 16:
		return countCells(lines, width)
	}
	panic("asm: CountCells: width is not 1, 2, 4, 8 or 16")
}
