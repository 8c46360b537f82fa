//go:build amd64 && !purego

package asm

import (
	"math/bits"
	"unsafe"
)

// fillVectors does what fill does for as many elements as fit whole vectors, and returns
// how many, counted from the first.
func (b *timedBlock) fillVectors(low *[64]uint64, ticks []int64, points []uint32, r *timedRow) (done int) {
	groups := len(ticks) / 8
	switch {
	case level == levelGeneric || groups == 0:
		return 0
	case level == levelAVX512:
		fillTimedAVX512(b, low, &ticks[0], unsafe.SliceData(points), groups, r)
	default:
		fillTimedAVX2(b, low, &ticks[0], unsafe.SliceData(points), 2*groups, r)
	}
	return 8 * groups
}

// testAndSetTimedBlock runs a kernel for n elements, 1 to 64.
func testAndSetTimedBlock(lines [][8]uint64, block, ahead *lineBlock, n int, b *timedBlock, r *timedRow) (copies, inserted, evicted uint64) {
	switch level {
	case levelAVX512:
		return timedRowsAVX512(&lines[0], block, ahead, n, b, r)
	case levelAVX2:
		copies, found, evicted := timedRowsAVX2(&lines[0], block, ahead, n, b, r)
		return bits.Reverse64(copies) >> (64 - n), uint64(n) - found, evicted
	default:
		return testAndSetTimedBlockGeneric(lines, block, n, b, r)
	}
}

// fillTimedAVX512 takes groups of eight elements.
//
//go:noescape
func fillTimedAVX512(b *timedBlock, low *[64]uint64, ticks *int64, points *uint32, groups int, r *timedRow)

// fillTimedAVX2 takes groups of four elements.
//
//go:noescape
func fillTimedAVX2(b *timedBlock, low *[64]uint64, ticks *int64, points *uint32, groups int, r *timedRow)

//go:noescape
func timedRowsAVX512(lines *[8]uint64, block, ahead *lineBlock, n int, b *timedBlock, r *timedRow) (copies, inserted, evicted uint64)

// timedRowsAVX2 returns copies with the last element in the lowest bit.
//
//go:noescape
func timedRowsAVX2(lines *[8]uint64, block, ahead *lineBlock, n int, b *timedBlock, r *timedRow) (copies, found, evicted uint64)
