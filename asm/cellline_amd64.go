//go:build amd64 && !purego

package asm

func testAndSetCells(lines [][8]uint64, seen []uint64, digests []Digest, positions []uint64, r *CellRule, c *CellCounts) {
	switch n := len(digests); {
	case level < levelAVX512 || n == 0:
		testAndSetCellsGeneric(lines, seen, digests, positions, r, c)
	case r.bits == 2:
		testAndSetCells2AVX512(&lines[0], len(lines), &seen[0], &digests[0], &positions[0], n, &bitSalts[0], r, c)
	default:
		testAndSetCells4AVX512(&lines[0], len(lines), &seen[0], &digests[0], &positions[0], n, &bitSalts[0], r, c)
	}
}

//go:noescape
func testAndSetCells2AVX512(lines *[8]uint64, count int, seen *uint64, digests *Digest, positions *uint64, n int, salts *uint64, r *CellRule, c *CellCounts)

//go:noescape
func testAndSetCells4AVX512(lines *[8]uint64, count int, seen *uint64, digests *Digest, positions *uint64, n int, salts *uint64, r *CellRule, c *CellCounts)
