//go:build (!amd64 && !arm64) || purego

package asm

func testAndSetCells(lines [][8]uint64, block, ahead *lineBlock, n int, r *CellRule) (found, filled uint64) {
	return testAndSetCellsGeneric(lines, block, ahead, n, r)
}
