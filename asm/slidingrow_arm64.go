//go:build arm64 && !purego

package asm

import "math/bits"

// testAndSetSlidingBlock runs a kernel for len(before) elements, 1 to 64.
func testAndSetSlidingBlock(lines [][8]uint64, before []uint16, block, ahead *lineBlock) (full uint64) {
	if level == levelGeneric {
		return testAndSetSlidingBlockGeneric(lines, before, block)
	}
	held := slidingRowsNEON(&lines[0], block, ahead, len(before), &before[0])
	return ^bits.Reverse64(held) >> (64 - len(before))
}

// slidingRowsNEON returns the elements that have a cell in the end, the last one in the
// lowest bit; bits above those of the elements are 0.
//
//go:noescape
func slidingRowsNEON(lines *[8]uint64, block, ahead *lineBlock, n int, before *uint16) (held uint64)
