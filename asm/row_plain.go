//go:build (!amd64 && !arm64) || purego

package asm

// topVictims tells that the kernels of rows that are words want the top bit of the cell
// that a random eviction takes.
func topVictims() bool { return true }

// fingerprintVectors leaves all elements to its caller.
func (b *lineBlock) fingerprintVectors(int, *rowGeometry, bool) bool { return false }

func testAndSetBlock(lines [][8]uint64, block, ahead *lineBlock, n int, g *rowGeometry, p RowParams) (missed, filled uint64) {
	return testAndSetBlockGeneric(lines, block, ahead, n, g, p)
}
