//go:build (!amd64 && !arm64) || purego

package asm

func testBits(lines [][8]uint64, block, ahead *lineBlock, n, rounds int) (missed uint64) {
	return testBitsGeneric(lines, block, ahead, n, rounds)
}

func testAndSetBits(lines [][8]uint64, block, ahead *lineBlock, n, rounds int) (missed, added uint64) {
	return testAndSetBitsGeneric(lines, block, ahead, n, rounds)
}

func spreadBits(x, room uint64) (moved uint64) { return spreadBitsGeneric(x, room) }
