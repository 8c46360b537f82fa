//go:build amd64 && !purego

package asm

func testBits(lines [][8]uint64, block, ahead *lineBlock, n, rounds int) (missed uint64) {
	switch level {
	case levelGeneric:
		return testBitsGeneric(lines, block, ahead, n, rounds)
	case levelAVX2:
		return testBitsAVX2(&lines[0], block, ahead, n, &bitSalts, rounds)
	}
	return testBitsAVX512(&lines[0], block, ahead, n, &bitSalts, rounds)
}

func testAndSetBits(lines [][8]uint64, block, ahead *lineBlock, n, rounds int) (missed, added uint64) {
	switch level {
	case levelGeneric:
		return testAndSetBitsGeneric(lines, block, ahead, n, rounds)
	case levelAVX2:
		return testAndSetBitsAVX2(&lines[0], block, ahead, n, &bitSalts, rounds)
	}
	return testAndSetBitsAVX512(&lines[0], block, ahead, n, &bitSalts, rounds)
}

func spreadBits(x, room uint64) (moved uint64) {
	if level == levelGeneric {
		return spreadBitsGeneric(x, room)
	}
	return spreadBitsBMI(x, room)
}

//go:noescape
func testBitsAVX512(lines *[8]uint64, block, ahead *lineBlock, n int, salts *saltTable, rounds int) (missed uint64)

//go:noescape
func testAndSetBitsAVX512(lines *[8]uint64, block, ahead *lineBlock, n int, salts *saltTable, rounds int) (missed, added uint64)

//go:noescape
func testBitsAVX2(lines *[8]uint64, block, ahead *lineBlock, n int, salts *saltTable, rounds int) (missed uint64)

//go:noescape
func testAndSetBitsAVX2(lines *[8]uint64, block, ahead *lineBlock, n int, salts *saltTable, rounds int) (missed, added uint64)

func spreadBitsBMI(x, room uint64) (moved uint64)
