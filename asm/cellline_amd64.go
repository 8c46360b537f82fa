//go:build amd64 && !purego

package asm

// testAndSetCells runs a kernel; see testAndSetCellsGeneric.
func testAndSetCells(lines [][8]uint64, block, ahead *lineBlock, n int, r *CellRule) (found, filled uint64) {
	switch {
	case level == levelGeneric:
		return testAndSetCellsGeneric(lines, block, ahead, n, r)
	case level == levelAVX512 && r.bits == 2:
		return cells2AVX512(&lines[0], block, ahead, n, r)
	case level == levelAVX512:
		return cells4AVX512(&lines[0], block, ahead, n, r)
	case r.bits == 2:
		return cells2AVX2(&lines[0], block, ahead, n, r)
	default:
		return cells4AVX2(&lines[0], block, ahead, n, r)
	}
}

//go:noescape
func cells2AVX512(lines *[8]uint64, block, ahead *lineBlock, n int, r *CellRule) (found, filled uint64)

//go:noescape
func cells4AVX512(lines *[8]uint64, block, ahead *lineBlock, n int, r *CellRule) (found, filled uint64)

//go:noescape
func cells2AVX2(lines *[8]uint64, block, ahead *lineBlock, n int, r *CellRule) (found, filled uint64)

//go:noescape
func cells4AVX2(lines *[8]uint64, block, ahead *lineBlock, n int, r *CellRule) (found, filled uint64)
