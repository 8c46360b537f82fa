//go:build !amd64 || purego

package asm

func testAndSetCells(lines [][8]uint64, seen []uint64, digests []Digest, positions []uint64, r *CellRule, c *CellCounts) {
	testAndSetCellsGeneric(lines, seen, digests, positions, r, c)
}
