//go:build arm64 && !purego

package asm

import "math/bits"

// fillVectors leaves all elements to its caller: a register has two of them, and
// there is no product of 64 bits, so vectors would gain nothing.
func (b *timedBlock) fillVectors(*[64]uint64, []int64, []uint32, *timedRow) (done int) { return 0 }

// testAndSetTimedBlock runs a kernel for n elements, 1 to 64.
func testAndSetTimedBlock(lines [][8]uint64, block, ahead *lineBlock, n int, b *timedBlock, r *timedRow) (copies, inserted, evicted uint64) {
	if level == levelGeneric {
		return testAndSetTimedBlockGeneric(lines, block, n, b, r)
	}
	copies, counts := timedRowsNEON(&lines[0], block, ahead, n, b, r, timedTables)
	return bits.Reverse64(copies) >> (64 - n), counts >> 32, counts & (1<<32 - 1)
}

// timedRowsNEON returns copies with the last element in the lowest bit, and both counts,
// that of inserted elements in the upper half.
//
//go:noescape
func timedRowsNEON(lines *[8]uint64, block, ahead *lineBlock, n int, b *timedBlock, r *timedRow, t *timedTable) (copies, counts uint64)
