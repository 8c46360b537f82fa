// SPDX-License-Identifier: Apache-2.0

//go:build (!amd64 && !arm64) || purego

package line

import "github.com/flowdedup/flowdedup/asm/digest"

// Without kernels in assembly, the plain twins do everything.

func testAndSetRowBatch(lines [][8]uint64, current, ahead *batch, n int, g *rowGeometry, p RowParams) (missed, filled uint64) {
	return testAndSetRowBatchGeneric(lines, current, ahead, n, g, p)
}

func testAndSetBitmap(lines [][8]uint64, seen []uint64, permuted []uint32) {
	testAndSetBitmapGeneric(lines, seen, permuted)
}

// prefetch leaves the lines to those who read them.
func prefetch([][8]uint64, []uint64) {}

func atHome(lines [][8]uint64, s *Sightings, r *HomeRule) (home uint64, done int) {
	return atHomeGeneric(lines, s, r)
}

func testAndSetTimedBatch(lines [][8]uint64, current, _ *batch, n int, b *timedBatch, r *timedRule) (found timedFound) {
	return testAndSetTimedBatchGeneric(lines, current, n, b, r)
}

func (r *timedRule) survey(line, spare *[8]uint64, cell, mark uint64) spareView {
	return r.surveyGeneric(line, spare, cell, mark)
}

func sameLine(offsets *[64]uint64, offset uint64) (same uint64) {
	return sameLineGeneric(offsets, offset)
}

func (b *batch) coarseVectors([]int64, bool) (done int, noTime uint64) { return 0, 0 }

func testAndSetCoarseBatch(lines [][8]uint64, current, _ *batch, log *coarseLog, n int, r *coarseRule) (hits, found uint64) {
	return testAndSetCoarseBatchGeneric(lines, current, log, n, r)
}

func testAndSetSlidingBatch(lines [][8]uint64, current, _ *batch, before []uint16) (held uint64) {
	return testAndSetSlidingBatchGeneric(lines, current, before)
}

func purgeSliding(lines [][8]uint64, e *SlidingExpiry) (removed int) {
	return purgeSlidingGeneric(lines, e)
}

func testBloomBatch(lines [][8]uint64, current, ahead *batch, n, rounds int) (missed uint64) {
	return testBloomGeneric(lines, current, ahead, n, rounds)
}

func testAndSetBloomBatch(lines [][8]uint64, current, ahead *batch, n, rounds int) (missed, added uint64) {
	return testAndSetBloomGeneric(lines, current, ahead, n, rounds)
}

// stableKernel is what a call of TestAndSetStable works with.
type stableKernel struct {
	rule  stableRule
	lines [][8]uint64
}

func newStableKernel(p StableParams, lines [][8]uint64) stableKernel {
	return stableKernel{newStableRule(p, len(lines)), lines}
}

func (k *stableKernel) testAndSet(current, ahead *batch, n int, inserted uint64) (missed, added uint64) {
	return k.rule.testAndSetGeneric(k.lines, current, ahead, n, inserted)
}

func testAndSetCellBatch(lines [][8]uint64, current, ahead *batch, n int, r *CellRule) (found, filled uint64) {
	return testAndSetCellBatchGeneric(lines, current, ahead, n, r)
}

func testAndSetTimerBatch(lines [][8]uint64, current, ahead *batch, n int, s *timerStamps, r *TimerRule) (found, filled uint64) {
	return testAndSetTimerBatchGeneric(lines, current, ahead, n, s, r)
}

func sweepTimers(lines [][8]uint64, tick uint64, r *TimerRule) (cleared uint64) {
	return sweepTimersGeneric(lines, tick, r)
}

// These functions leave all elements to their callers, since there are no vectors.

func (b *batch) fillVectors([]digest.Digest, int, uint64, uint64, bool) (done int) {
	return 0
}

func (b *batch) fillExact32Vectors([]uint32, uint, *rowGeometry) (done int) { return 0 }

func (b *batch) fillExact64Vectors([]digest.Digest, uint) (done int) { return 0 }

func (b *batch) fillSlidingVectors([]uint64, []uint16, uint) (done int) { return 0 }

func (b *timedBatch) fillVectors(*[64]uint64, []int64, []uint32, *timedRule) (done int) { return 0 }

func (s *timerStamps) fillVectors([]uint64, *TimerRule) (done int) { return 0 }

func decreasingVectors([]uint64) (done int, fell bool) { return 0, false }

func insertedVectors(*batch, int, uint64, uint64) (done int, inserted uint64) { return 0, 0 }

func (b *batch) fingerprintVectors(int, *rowGeometry, bool) bool { return false }

func splitExactVectors(_, _ [][8]uint64, _, _ uint) bool { return false }

func splitCellsVectors(_, _ [][8]uint64, _ uint) bool { return false }

func (p *cellPick) cells(b *batch, n int) { p.cellsGeneric(b, n) }

func spreadBits(x, mask uint64) (moved uint64) { return spreadGeneric(x, mask) }

// topVictims reports that kernels for rows in words expect the top bit of the cell that a
// random eviction takes.
func topVictims() bool { return true }
