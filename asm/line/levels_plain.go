// SPDX-License-Identifier: Apache-2.0

//go:build !amd64 || purego

package line

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

// Only amd64 has kernels for these functions. A vector of NEON has two elements and no product
// of 64 bits, so it would gain nothing. What fills batches leaves all elements to its caller.

func (b *batch) fillExact32Vectors([]uint32, uint, *rowGeometry) (done int) { return 0 }

func (b *batch) fillExact64Vectors([]digest.Digest, uint) (done int) { return 0 }

func (b *batch) fillSlidingVectors([]uint64, []uint16, uint) (done int) { return 0 }

func (s *timerStamps) fillVectors([]uint64, *TimerRule) (done int) { return 0 }

func (b *batch) coarseVectors([]int64, bool) (done int, noTime uint64) { return 0, 0 }

func (b *batch) fingerprintVectors(int, *rowGeometry, bool) bool { return false }

func decreasingVectors([]uint64) (done int, fell bool) { return 0, false }

func insertedVectors(*batch, int, uint64, uint64) (done int, inserted uint64) { return 0, 0 }

func splitExactVectors(_, _ []layout.Line, _, _ uint) bool { return false }

func splitCellsVectors(_, _ []layout.Line, _ uint) bool { return false }

func spreadBits(x, mask uint64) (moved uint64) { return spreadGeneric(x, mask) }

// topVictims reports that the kernels of rows in words expect the top bit of the cell
// that a random eviction takes.
func topVictims() bool { return true }

func (p *cellPick) cells(b *batch, n int) { p.cellsGeneric(b, n) }

func purgeSliding(lines []layout.Line, e *SlidingExpiry) (removed int) {
	return purgeSlidingGeneric(lines, e)
}

func sameLine(offsets *[64]uint64, offset uint64) (same uint64) {
	return sameLineGeneric(offsets, offset)
}

func atHome(lines []layout.Line, s *Sightings, r *HomeRule) (home uint64, done int) {
	return atHomeGeneric(lines, s, r)
}

func (r *timedRule) survey(line, spare *layout.Line, cell, mark uint64) spareView {
	return r.surveyGeneric(line, spare, cell, mark)
}
