//go:build arm64 && !purego

package asm

func testBits(lines [][8]uint64, block, ahead *lineBlock, n, rounds int) (missed uint64) {
	if level == levelGeneric {
		return testBitsGeneric(lines, block, ahead, n, rounds)
	}
	return testBitsNEON(&lines[0], block, ahead, n, &bitSalts, rounds)
}

func testAndSetBits(lines [][8]uint64, block, ahead *lineBlock, n, rounds int) (missed, added uint64) {
	if level == levelGeneric {
		return testAndSetBitsGeneric(lines, block, ahead, n, rounds)
	}
	return testAndSetBitsNEON(&lines[0], block, ahead, n, &bitSalts, rounds)
}

func spreadBits(x, room uint64) (moved uint64) { return spreadBitsGeneric(x, room) }

//go:noescape
func testBitsNEON(lines *[8]uint64, block, ahead *lineBlock, n int, salts *saltTable, rounds int) (missed uint64)

//go:noescape
func testAndSetBitsNEON(lines *[8]uint64, block, ahead *lineBlock, n int, salts *saltTable, rounds int) (missed, added uint64)
