// SPDX-License-Identifier: Apache-2.0

//go:build (!amd64 && !arm64) || purego

package line

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

// Without kernels in assembly, the plain twins do everything. levels_plain.go has more of
// these functions.

func testAndSetBitmap(lines []layout.Line, seen []uint64, permuted []uint32) {
	testAndSetBitmapGeneric(lines, seen, permuted)
}

// prefetch leaves the lines to their readers.
func prefetch([]layout.Line, []uint64) {}

func testAndSetTimedBatch(lines []layout.Line, current, _ *batch, n int, b *timedBatch, r *timedRule) (found timedFound) {
	return testAndSetTimedBatchGeneric(lines, current, n, b, r)
}

// stableKernel is the state of a call of TestAndSetStable.
type stableKernel struct {
	rule  stableRule
	lines []layout.Line
}

func newStableKernel(p StableParams, lines []layout.Line) stableKernel {
	return stableKernel{newStableRule(p, len(lines)), lines}
}

func (k *stableKernel) testAndSet(current, ahead *batch, n int, inserted uint64) (missed, added uint64) {
	return k.rule.testAndSetGeneric(k.lines, current, ahead, n, inserted)
}

func (b *batch) fillVectors([]digest.Digest, int, uint64, uint64, bool) (done int) { return 0 }

func (b *timedBatch) fillVectors(*[64]uint64, []int64, []uint32, *timedRule) (done int) { return 0 }

func testAndSetRowBatch(lines []layout.Line, current, ahead *batch, n int, g *rowGeometry, p RowParams) (missed, filled uint64) {
	return testAndSetRowBatchGeneric(lines, current, ahead, n, g, p)
}

func testAndSetCoarseBatch(lines []layout.Line, current, ahead *batch, log *coarseLog, n int, r *coarseRule) (hits, found uint64) {
	return testAndSetCoarseBatchGeneric(lines, current, log, n, r)
}

func testAndSetSlidingBatch(lines []layout.Line, current, ahead *batch, before []uint16) (held uint64) {
	return testAndSetSlidingBatchGeneric(lines, current, before)
}

func testBloomBatch(lines []layout.Line, current, ahead *batch, n, rounds int) (missed uint64) {
	return testBloomGeneric(lines, current, ahead, n, rounds)
}

func testAndSetBloomBatch(lines []layout.Line, current, ahead *batch, n, rounds int) (missed, added uint64) {
	return testAndSetBloomGeneric(lines, current, ahead, n, rounds)
}

func testAndSetCellBatch(lines []layout.Line, current, ahead *batch, n int, r *CellRule) (found, filled uint64) {
	return testAndSetCellBatchGeneric(lines, current, ahead, n, r)
}

func testAndSetTimerBatch(lines []layout.Line, current, ahead *batch, n int, s *timerStamps, r *TimerRule) (found, filled uint64) {
	return testAndSetTimerBatchGeneric(lines, current, ahead, n, s, r)
}

func sweepTimers(lines []layout.Line, tick uint64, r *TimerRule) (cleared uint64) {
	return sweepTimersGeneric(lines, tick, r)
}
