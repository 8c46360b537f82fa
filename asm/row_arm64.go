//go:build arm64 && !purego

package asm

// topVictims tells that the kernels of rows that are words want the top bit of the cell
// that a random eviction takes.
func topVictims() bool { return true }

// fingerprintVectors leaves all elements to its caller: a register has two of them, and
// there is no product of 64 bits, so vectors would gain nothing.
func (b *lineBlock) fingerprintVectors(int, *rowGeometry, bool) bool { return false }

// testAndSetBlock runs a kernel. Rows that are words have the plain ones, which are
// a word in a register already.
func testAndSetBlock(lines [][8]uint64, block, ahead *lineBlock, n int, g *rowGeometry, p RowParams) (missed, filled uint64) {
	if level == levelGeneric || rowWords[p.Shape] == 1 {
		return testAndSetBlockGeneric(lines, block, ahead, n, g, p)
	}
	switch p.Shape {
	case Lines32x16:
		return lines32x16NEON(&lines[0], block, ahead, n, p.Eviction)
	case Lines16x32:
		return lines16x32NEON(&lines[0], block, ahead, n, p.Eviction)
	default:
		return lines8x64NEON(&lines[0], block, ahead, n, p.Eviction)
	}
}

//go:noescape
func lines32x16NEON(lines *[8]uint64, block, ahead *lineBlock, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func lines16x32NEON(lines *[8]uint64, block, ahead *lineBlock, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func lines8x64NEON(lines *[8]uint64, block, ahead *lineBlock, n int, eviction Eviction) (missed, filled uint64)
