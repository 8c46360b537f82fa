//go:build (!amd64 && !arm64) || purego

package asm

func testAndSetSlidingBlock(lines [][8]uint64, before []uint16, block, _ *lineBlock) (full uint64) {
	return testAndSetSlidingBlockGeneric(lines, before, block)
}
