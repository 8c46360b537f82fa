// SPDX-License-Identifier: Apache-2.0

//go:build (!amd64 && !arm64) || purego

package line

// Without kernels in assembly, the plain twins do everything. levels_other.go, which
// asm/internal/dispatch makes, has more of these functions.

func testAndSetBitmap(lines [][8]uint64, seen []uint64, permuted []uint32) {
	testAndSetBitmapGeneric(lines, seen, permuted)
}

// prefetch leaves the lines to their readers.
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

// stableKernel is the state of a call of TestAndSetStable.
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

// These functions leave all elements to their callers, since there are no vectors.

func (b *batch) fingerprintVectors(int, *rowGeometry, bool) bool { return false }

func splitExactVectors(_, _ [][8]uint64, _, _ uint) bool { return false }

func splitCellsVectors(_, _ [][8]uint64, _ uint) bool { return false }

func spreadBits(x, mask uint64) (moved uint64) { return spreadGeneric(x, mask) }

// topVictims reports that kernels for rows in words expect the top bit of the cell that a
// random eviction takes.
func topVictims() bool { return true }
