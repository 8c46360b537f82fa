//go:build amd64 && !purego

package asm

func countCells(lines [][8]uint64, width int) uint64 {
	if level == levelGeneric || len(lines) == 0 {
		return countCellsGeneric(lines, width)
	}
	low := ^uint64(0) / (1<<width - 1)
	if level == levelAVX512 {
		return countCellsAVX512(&lines[0], len(lines), width, low)
	}
	return countCellsAVX2(&lines[0], len(lines), width, low)
}

// countCellsAVX2 counts cells by their lowest bits, low.
//
//go:noescape
func countCellsAVX2(lines *[8]uint64, count, width int, low uint64) (cells uint64)

// countCellsAVX512 does so, too.
//
//go:noescape
func countCellsAVX512(lines *[8]uint64, count, width int, low uint64) (cells uint64)
