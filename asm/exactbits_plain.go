//go:build (!amd64 && !arm64) || purego

package asm

func testAndSetExactBits(lines [][8]uint64, seen []uint64, permuted []uint32) {
	testAndSetExactBitsGeneric(lines, seen, permuted)
}
