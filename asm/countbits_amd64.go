//go:build amd64 && !purego

package asm

func countCells(lines [][8]uint64, width int) uint64 {
	if level < levelAVX512 || len(lines) == 0 {
		return countCellsGeneric(lines, width)
	}
	return countCellsAVX512(&lines[0], len(lines), width, ^uint64(0)/(1<<width-1))
}

// countCellsAVX512 counts cells by their lowest bits, low.
//
//go:noescape
func countCellsAVX512(lines *[8]uint64, count, width int, low uint64) (cells uint64)
