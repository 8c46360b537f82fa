//go:build amd64 && !purego

package asm

import "unsafe"

// fillVectors does what fill does for as many elements as fit whole vectors, and returns
// how many, counted from the first.
func (b *timedBlock) fillVectors(low *[64]uint64, ticks []int64, points []uint32, r *timedRow) (done int) {
	groups := len(ticks) / 8
	if level < levelAVX512 || groups == 0 {
		return 0
	}
	fillTimedAVX512(b, low, &ticks[0], unsafe.SliceData(points), groups, r)
	return 8 * groups
}

// testAndSetTimedBlock runs a kernel for n elements, which may be none.
func testAndSetTimedBlock(lines [][8]uint64, block, next *lineBlock, n int, b *timedBlock, r *timedRow) (copies, inserted, evicted uint64) {
	switch {
	case n == 0:
		return 0, 0, 0
	case level == levelAVX512:
		return timedRowsAVX512(&lines[0], block, next, n, b, r)
	default:
		return testAndSetTimedBlockGeneric(lines, block, n, b, r)
	}
}

// fillTimedAVX512 takes groups of eight elements.
//
//go:noescape
func fillTimedAVX512(b *timedBlock, low *[64]uint64, ticks *int64, points *uint32, groups int, r *timedRow)

//go:noescape
func timedRowsAVX512(lines *[8]uint64, block, next *lineBlock, n int, b *timedBlock, r *timedRow) (copies, inserted, evicted uint64)
