// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

package line

import (
	"github.com/flowdedup/flowdedup/asm/internal/cpu"
	"github.com/flowdedup/flowdedup/layout"
)

// The kernels at each level. Where there is none, the kernel to its left runs. The suffix of
// a function and of its file is the level. Most functions that run them look alike:
// levels_amd64.go has them. This file has the others.
//
//	kind                Generic                         AVX2                     AVX512
//	batches             fill in batch.go, ...           fillBatchAVX2, ...       fillBatchAVX512, ...
//	fingerprint, exact  testAndSetRowBatchGeneric       words..., lines...AVX2   words..., lines...AVX512
//	exact rows to more  splitExact                      -                        splitExact...AVX512
//	bitmap              testAndSetBitmapGeneric         testAndSetBitmapAMD64    -
//	prefetch            prefetchAMD64                   -                        -
//	timed               testAndSetTimedBatchGeneric     timedRowsAVX2            timedRowsAVX512
//	timed, spare lines  sameLineGeneric                 sameLineAVX2             sameLineAVX512
//	                    surveyGeneric                   -                        surveyAVX512
//	coarse              testAndSetCoarseBatchGeneric    coarse, fineRowsAVX2     coarse, fineRowsAVX512
//	sliding             testAndSetSlidingBatchGeneric   slidingRowsAVX2          -
//	sliding, purged     purgeSlidingGeneric             purgeSlidingAVX2         -
//	cells to more rows  splitCells64                    -                        splitCellsAVX512
//	bloom               test[AndSet]BloomGeneric        test[AndSet]BloomAVX2    test[AndSet]BloomAVX512
//	stable              stableRule.testAndSetGeneric    clear...AVX2             clear...AVX512
//	cells               testAndSetCellBatchGeneric      cells...AVX2             -
//	timers              testAndSetTimerBatchGeneric     timers...AVX2            timers...AVX512
//	homes               atHomeGeneric                   atHomeAVX2               -

func prefetch(lines []layout.Line, hashes []uint64) {
	if len(hashes) > 0 {
		prefetchAMD64(&lines[0], uint64(len(lines)-1), &hashes[0], len(hashes))
	}
}

func atHome(lines []layout.Line, s *Sightings, r *HomeRule) (home uint64, done int) {
	if cpu.Best == cpu.Generic {
		return atHomeGeneric(lines, s, r)
	}
	return atHomeAVX2(&lines[0], uint64(len(lines)-1), s, len(s.Conversation), r)
}

// vectorGroups returns how many groups of eight elements vectors take.
func vectorGroups(elements int) int {
	if cpu.Best == cpu.Generic {
		return 0
	}
	return elements / 8
}

// topVictims reports whether kernels for rows in words expect the top bit of the cell
// that a random eviction takes. Others expect a bit for each cell.
func topVictims() bool { return cpu.Best != cpu.AVX512 }

// fingerprintVectors does the work of fingerprint, if the CPU can, for eight or four
// elements at a time. It may change places after the last element. The kernel for AVX-512
// makes no top bits (see topVictims), so the kernel for AVX2 makes them at that level, too.
func (b *batch) fingerprintVectors(n int, g *rowGeometry, victims bool) bool {
	tops := victims && g.spacing != 0
	switch {
	case cpu.Best == cpu.Generic:
		return false
	case cpu.Best == cpu.AVX512 && !tops:
		fingerprintAVX512(b, (n+7)/8, g, victims)
	default:
		fingerprintAVX2(b, (n+3)/4, g, victims)
	}
	return true
}

func testAndSetBitmap(lines []layout.Line, seen []uint64, permuted []uint32) {
	if cpu.Best == cpu.Generic || len(permuted) == 0 {
		testAndSetBitmapGeneric(lines, seen, permuted)
		return
	}
	testAndSetBitmapAMD64(&lines[0], &seen[0], &permuted[0], len(permuted))
}

// splitExactVectors does the work of splitExact for cells that keep their width. It
// reports false if there is no kernel.
func splitExactVectors(dst, src []layout.Line, width, rest uint) bool {
	switch {
	case cpu.Best != cpu.AVX512:
		return false
	case len(src) == 0:
	case width == 16:
		splitExact16AVX512(&dst[0], &src[0], len(src), rest)
	default:
		splitExact32AVX512(&dst[0], &src[0], len(src), rest)
	}
	return true
}

// splitCellsVectors does the work of splitCells64. It reports false if there is no
// kernel.
func splitCellsVectors(dst, src []layout.Line, half uint) bool {
	if cpu.Best != cpu.AVX512 {
		return false
	}
	if len(src) > 0 {
		splitCellsAVX512(&dst[0], &src[0], len(src), 1<<half)
	}
	return true
}

// testAndSetTimedBatch returns its bits in stream order.
func testAndSetTimedBatch(lines []layout.Line, current, ahead *batch, n int, b *timedBatch, r *timedRule) (found timedFound) {
	switch cpu.Best {
	case cpu.AVX512:
		found.copies, found.new, found.spare = timedRowsAVX512(&lines[0], current, ahead, n, b, r)
		return found
	case cpu.AVX2:
		copies, present, spare := timedRowsAVX2(&lines[0], current, ahead, n, b, r)
		return timedFound{inOrder(copies, n), inOrder(^present, n), inOrder(spare, n)}
	}
	return testAndSetTimedBatchGeneric(lines, current, n, b, r)
}

// survey examines the spare line of an element's line. Rules for single elements have no
// lanes for vectors.
func (r *timedRule) survey(line, spare *[8]uint64, cell, mark uint64) (v spareView) {
	if cpu.Best != cpu.AVX512 || !r.lanes.ready {
		return r.surveyGeneric(line, spare, cell, mark)
	}
	v.found, v.same, v.live, v.oldest = surveyAVX512(spare, cell, line[layout.TimedCells-1], mark, r)
	return v
}

// countingLevel is the level of kernels that count bits. With AVX-512 they need VPOPCNTDQ,
// which CPUs got years after the rest.
func countingLevel() cpu.Level {
	if cpu.Best == cpu.AVX512 && !cpu.CountsBits {
		return cpu.AVX2
	}
	return cpu.Best
}

func spreadBits(x, mask uint64) (moved uint64) {
	if cpu.Best == cpu.Generic {
		return spreadGeneric(x, mask)
	}
	return spreadAMD64(x, mask)
}

// testAndSet first replaces the words of the batch by the patterns that the kernels look
// for in a line.
func (k *stableKernel) testAndSet(current, ahead *batch, n int, inserted uint64) (missed, added uint64) {
	first, lanes, span := &k.lines[0], &stableLanesOf[k.rule.k], k.rule.span
	method := k.rule.method
	if method == StableBSBFSD {
		method = StableSBF // both clear a run
	}
	switch level := countingLevel(); {
	case level == cpu.Generic:
		return k.rule.testAndSetGeneric(k.lines, current, ahead, n, inserted)
	case level == cpu.AVX512 && method == StableSBF:
		chooseRunsAVX512(current, lanes, span)
		return clearRunsAVX512(first, current, ahead, n, lanes, &k.runs)
	case level == cpu.AVX512 && method == StableRSBF:
		chooseBitsAVX512(current, lanes)
		return clearInsertedAVX512(first, current, ahead, n, lanes, inserted)
	case level == cpu.AVX512 && method == StableBSBF:
		chooseBitsAVX512(current, lanes)
		return clearBitsAVX512(first, current, ahead, n, lanes)
	case level == cpu.AVX512:
		chooseGatesAVX512(current, lanes)
		return clearGatedAVX512(first, current, ahead, n, lanes)
	case method == StableSBF:
		chooseRunsAVX2(current, lanes, span)
		return clearRunsAVX2(first, current, ahead, n, lanes, &k.runs)
	case method == StableRSBF:
		chooseBitsAVX2(current, lanes)
		return clearInsertedAVX2(first, current, ahead, n, lanes, inserted)
	case method == StableBSBF:
		chooseBitsAVX2(current, lanes)
		return clearBitsAVX2(first, current, ahead, n, lanes)
	}
	chooseGatesAVX2(current, lanes)
	return clearGatedAVX2(first, current, ahead, n, lanes)
}

// choiceOf returns the choice of bytes that extends one byte of a lane to the whole lane.
func choiceOf(lane, at int) uint64 {
	const zeros = 0x8080808080808000
	return zeros | uint64(lane%2*8+at)
}
