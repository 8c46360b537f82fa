//go:build (!amd64 && !arm64) || purego

package asm

// locateRows leaves all elements to its caller.
func locateRows(*rowBlock, []Digest, *rowGeometry) (done int) { return 0 }

// locateVictims leaves all elements to its caller.
func locateVictims(*rowBlock, []Digest, uint64, []uint32, int) (done int) { return 0 }

func testAndSetBlock(lines [][8]uint64, block, next *rowBlock, n int, g *rowGeometry, p RowParams) (missed, filled uint64) {
	return testAndSetBlockGeneric(lines, block, next, n, g, p)
}
