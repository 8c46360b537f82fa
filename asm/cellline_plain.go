//go:build (!amd64 && !arm64) || purego

package asm

func testAndSetCells(lines [][8]uint64, block, next *lineBlock, n int, r *CellRule) (found, filled uint64) {
	return testAndSetCellsGeneric(lines, block, next, n, r)
}
