//go:build arm64 && !purego

package asm

func countCells(lines [][8]uint64, width int) uint64 {
	if level == levelGeneric || len(lines) == 0 {
		return countCellsGeneric(lines, width)
	}
	return countCellsNEON(&lines[0], len(lines), width, ^uint64(0)/(1<<width-1))
}

// countCellsNEON counts cells by their lowest bits, low.
//
//go:noescape
func countCellsNEON(lines *[8]uint64, count, width int, low uint64) (cells uint64)
