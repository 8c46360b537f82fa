//go:build (!amd64 && !arm64) || purego

package asm

// fillVectors leaves all elements to its caller.
func (b *timedBlock) fillVectors(*[64]uint64, []int64, []uint32, *timedRow) (done int) { return 0 }

func testAndSetTimedBlock(lines [][8]uint64, block, _ *lineBlock, n int, b *timedBlock, r *timedRow) (copies, inserted, evicted uint64) {
	return testAndSetTimedBlockGeneric(lines, block, n, b, r)
}
