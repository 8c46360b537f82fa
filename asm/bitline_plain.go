//go:build !amd64 || purego

package asm

func testAndSetBitLines(lines [][8]uint64, seen []uint64, digests []Digest, positions []uint64, p BitLineParams, c *BitLineCounts) {
	testAndSetBitLinesGeneric(lines, seen, digests, positions, p, c)
}
