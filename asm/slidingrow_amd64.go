//go:build amd64 && !purego

package asm

import "math/bits"

// testAndSetSlidingBlock runs a kernel for len(before) elements, 1 to 64.
func testAndSetSlidingBlock(lines [][8]uint64, before []uint16, block, ahead *lineBlock) (full uint64) {
	n := len(before)
	var held uint64
	switch level {
	case levelAVX512:
		held = slidingRowsAVX512(&lines[0], block, ahead, n, &before[0])
	case levelAVX2:
		held = slidingRowsAVX2(&lines[0], block, ahead, n, &before[0])
	default:
		return testAndSetSlidingBlockGeneric(lines, before, block)
	}
	return ^bits.Reverse64(held) >> (64 - n)
}

// slidingRowsAVX512 returns the elements that have a cell in the end, the last one in the
// lowest bit; bits above those of the elements are 0.
//
//go:noescape
func slidingRowsAVX512(lines *[8]uint64, block, ahead *lineBlock, n int, before *uint16) (held uint64)

// slidingRowsAVX2 returns the same.
//
//go:noescape
func slidingRowsAVX2(lines *[8]uint64, block, ahead *lineBlock, n int, before *uint16) (held uint64)
