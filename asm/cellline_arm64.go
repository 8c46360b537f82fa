//go:build arm64 && !purego

package asm

// testAndSetCells runs a kernel; see testAndSetCellsGeneric.
func testAndSetCells(lines [][8]uint64, block, next *lineBlock, n int, r *CellRule) (found, filled uint64) {
	switch {
	case level == levelGeneric:
		return testAndSetCellsGeneric(lines, block, next, n, r)
	case r.bits == 2:
		return cells2NEON(&lines[0], block, next, n, r)
	default:
		return cells4NEON(&lines[0], block, next, n, r)
	}
}

//go:noescape
func cells2NEON(lines *[8]uint64, block, next *lineBlock, n int, r *CellRule) (found, filled uint64)

//go:noescape
func cells4NEON(lines *[8]uint64, block, next *lineBlock, n int, r *CellRule) (found, filled uint64)
