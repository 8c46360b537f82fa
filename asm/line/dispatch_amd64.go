// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

package line

import (
	"math"
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/cpu"
	"github.com/flowdedup/flowdedup/layout"
)

// The kernels at each level. Where there is none, the one to its left runs. The suffix of
// a function and of its file is the level.
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
//	sliding             testAndSetSlidingBatchGeneric   slidingRowsAVX2          slidingRowsAVX512
//	sliding, purged     purgeSlidingGeneric             purgeSlidingAVX2         purgeSlidingAVX512
//	cells to more rows  splitCells64                    -                        splitCellsAVX512
//	bloom               test[AndSet]BloomGeneric        test[AndSet]BloomAVX2    test[AndSet]BloomAVX512
//	stable              stableRule.testAndSetGeneric    clear...AVX2             clear...AVX512
//	cells               testAndSetCellBatchGeneric      cells...AVX2             cells...AVX512
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

// fillVectors does what fill does, for as many of the first digests as fit whole vectors,
// and returns how many. So do other functions of this name.
func (b *batch) fillVectors(digests []digest.Digest, lines int, within, position uint64, random bool) (done int) {
	groups := vectorGroups(len(digests))
	switch {
	case groups == 0 || uint64(lines) > math.MaxUint32:
		return 0
	case cpu.Best == cpu.AVX512:
		fillBatchAVX512(b, &digests[0], groups, lines, within, position, random)
	default:
		fillBatchAVX2(b, &digests[0], 2*groups, lines, within, position, random)
	}
	return 8 * groups
}

func (b *batch) fillExact32Vectors(words []uint32, shift uint, g *rowGeometry) (done int) {
	groups := vectorGroups(len(words))
	switch {
	case groups == 0:
	case cpu.Best == cpu.AVX512:
		fillExactAVX512(b, &words[0], groups, shift, g)
	default:
		fillExactAVX2(b, &words[0], 2*groups, shift, g)
	}
	return 8 * groups
}

func (b *batch) fillExact64Vectors(digests []digest.Digest, shift uint) (done int) {
	groups := vectorGroups(len(digests))
	switch {
	case groups == 0:
	case cpu.Best == cpu.AVX512:
		fillExact64AVX512(b, &digests[0], groups, shift)
	default:
		fillExact64AVX2(b, &digests[0], 2*groups, shift)
	}
	return 8 * groups
}

func (b *batch) fillSlidingVectors(words []uint64, dates []uint16, shift uint) (done int) {
	groups := vectorGroups(len(words))
	switch {
	case groups == 0:
	case cpu.Best == cpu.AVX512:
		fillSlidingAVX512(b, &words[0], &dates[0], groups, shift)
	default:
		fillSlidingAVX2(b, &words[0], &dates[0], 2*groups, shift)
	}
	return 8 * groups
}

func (b *timedBatch) fillVectors(low *[64]uint64, ticks []int64, points []uint32, r *timedRule) (done int) {
	groups := vectorGroups(len(ticks))
	switch {
	case groups == 0:
	case cpu.Best == cpu.AVX512:
		fillTimedAVX512(b, low, &ticks[0], unsafe.SliceData(points), groups, r)
	default:
		fillTimedAVX2(b, low, &ticks[0], unsafe.SliceData(points), 2*groups, r)
	}
	return 8 * groups
}

func (s *timerStamps) fillVectors(ticks []uint64, r *TimerRule) (done int) {
	groups := vectorGroups(len(ticks))
	switch {
	case groups == 0:
	case cpu.Best == cpu.AVX512 && r.bits == 8:
		stamps8AVX512(s, &ticks[0], groups, r.window)
	case cpu.Best == cpu.AVX512:
		stamps16AVX512(s, &ticks[0], groups, r.window)
	case r.bits == 8:
		stamps8AVX2(s, &ticks[0], 2*groups, r.window)
	default:
		stamps16AVX2(s, &ticks[0], 2*groups, r.window)
	}
	return 8 * groups
}

// decreasingVectors compares the first ticks, each with the one after it, and returns how
// many.
func decreasingVectors(ticks []uint64) (done int, fell bool) {
	groups := vectorGroups(len(ticks) - 1)
	switch {
	case groups < 1:
		return 0, false
	case cpu.Best == cpu.AVX512:
		fell = decreasingAVX512(&ticks[0], groups)
	default:
		fell = decreasingAVX2(&ticks[0], 2*groups)
	}
	return 8 * groups, fell
}

// insertedVectors does what inserted does, for as many of the first elements as fit whole
// vectors, and returns how many.
func insertedVectors(b *batch, n int, position, all uint64) (done int, inserted uint64) {
	groups := vectorGroups(n)
	switch {
	case groups == 0:
		return 0, 0
	case cpu.Best == cpu.AVX512:
		inserted = insertedAVX512(b, groups, position, all)
	default:
		inserted = insertedAVX2(b, 2*groups, position, all)
	}
	return 8 * groups, inserted
}

// topVictims reports whether kernels for rows in words expect the top bit of the cell
// that a random eviction takes. Others expect a bit for each cell.
func topVictims() bool { return cpu.Best != cpu.AVX512 }

// fingerprintVectors does what fingerprint does, if the CPU can, for eight or four
// elements at a time. It may change places after the last element.
func (b *batch) fingerprintVectors(n int, g *rowGeometry, victims bool) bool {
	switch cpu.Best {
	case cpu.Generic:
		return false
	case cpu.AVX512:
		fingerprintAVX512(b, (n+7)/8, g, victims)
	default:
		fingerprintAVX2(b, (n+3)/4, g, victims)
	}
	return true
}

// cells replaces the low halves of a batch by the cells of its elements. It may change
// places after the last element.
func (p *cellPick) cells(b *batch, n int) {
	switch cpu.Best {
	case cpu.Generic:
		p.cellsGeneric(b, n)
	case cpu.AVX512:
		pickCellsAVX512(b, p)
	default:
		pickCellsAVX2(b, p)
	}
}

func testAndSetRowBatch(lines []layout.Line, current, ahead *batch, n int, g *rowGeometry, p RowParams) (missed, filled uint64) {
	first, e := &lines[0], p.Eviction
	switch cpu.Best {
	case cpu.Generic:
		return testAndSetRowBatchGeneric(lines, current, ahead, n, g, p)
	case cpu.AVX512:
		switch p.Shape {
		case layout.Rows8x8:
			return words8x8AVX512(first, current, ahead, n, e)
		case layout.Rows4x16:
			return words4x16AVX512(first, current, ahead, n, e)
		case layout.Lines32x16:
			return lines32x16AVX512(first, current, ahead, n, e)
		case layout.Lines16x32:
			return lines16x32AVX512(first, current, ahead, n, e)
		}
		return lines8x64AVX512(first, current, ahead, n, e)
	}
	switch p.Shape {
	case layout.Rows8x8:
		return words8x8AVX2(first, current, ahead, n, e)
	case layout.Rows4x16:
		return words4x16AVX2(first, current, ahead, n, e)
	case layout.Lines32x16:
		return lines32x16AVX2(first, current, ahead, n, e)
	case layout.Lines16x32:
		return lines16x32AVX2(first, current, ahead, n, e)
	}
	return lines8x64AVX2(first, current, ahead, n, e)
}

func testAndSetBitmap(lines []layout.Line, seen []uint64, permuted []uint32) {
	if cpu.Best == cpu.Generic || len(permuted) == 0 {
		testAndSetBitmapGeneric(lines, seen, permuted)
		return
	}
	testAndSetBitmapAMD64(&lines[0], &seen[0], &permuted[0], len(permuted))
}

// splitExactVectors does what splitExact does for cells that keep their width. It reports
// false if there is no kernel.
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

// splitCellsVectors does what splitCells64 does. It reports false if there is no kernel.
func splitCellsVectors(dst, src []layout.Line, half uint) bool {
	if cpu.Best != cpu.AVX512 {
		return false
	}
	if len(src) > 0 {
		splitCellsAVX512(&dst[0], &src[0], len(src), 1<<half)
	}
	return true
}

func purgeSliding(lines []layout.Line, e *SlidingExpiry) (removed int) {
	switch {
	case cpu.Best == cpu.Generic || len(lines) == 0:
		return purgeSlidingGeneric(lines, e)
	case cpu.Best == cpu.AVX512:
		return purgeSlidingAVX512(&lines[0], len(lines), e)
	}
	return purgeSlidingAVX2(&lines[0], len(lines), e)
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

// survey looks at the spare line of an element's line. Rules for single elements have no
// lanes for vectors.
func (r *timedRule) survey(line, spare *[8]uint64, cell, mark uint64) (v spareView) {
	if cpu.Best != cpu.AVX512 || !r.lanes.ready {
		return r.surveyGeneric(line, spare, cell, mark)
	}
	v.found, v.same, v.live, v.oldest = surveyAVX512(spare, cell, line[layout.TimedCells-1], mark, r)
	return v
}

func sameLine(offsets *[64]uint64, offset uint64) (same uint64) {
	switch cpu.Best {
	case cpu.AVX512:
		return sameLineAVX512(offsets, offset)
	case cpu.AVX2:
		return sameLineAVX2(offsets, offset)
	}
	return sameLineGeneric(offsets, offset)
}

func (b *batch) coarseVectors(ticks []int64, fine bool) (done int, noTime uint64) {
	groups := vectorGroups(len(ticks))
	switch {
	case groups == 0:
		return 0, 0
	case fine:
		return 8 * groups, fillFineAVX2(&b.low, &ticks[0], 2*groups)
	}
	return 8 * groups, fillCoarseAVX2(&b.low, &ticks[0], 2*groups)
}

func testAndSetCoarseBatch(lines []layout.Line, current, ahead *batch, log *coarseLog, n int, r *coarseRule) (hits, found uint64) {
	switch {
	case cpu.Best == cpu.Generic:
		return testAndSetCoarseBatchGeneric(lines, current, log, n, r)
	case cpu.Best == cpu.AVX2 && r.fine:
		return fineRowsAVX2(&lines[0], current, ahead, n, log, r)
	case cpu.Best == cpu.AVX2:
		return coarseRowsAVX2(&lines[0], current, ahead, n, log, r)
	case r.fine:
		return fineRowsAVX512(&lines[0], current, ahead, n, log, r)
	}
	return coarseRowsAVX512(&lines[0], current, ahead, n, log, r)
}

func testAndSetSlidingBatch(lines []layout.Line, current, ahead *batch, before []uint16) (held uint64) {
	switch cpu.Best {
	case cpu.AVX512:
		return slidingRowsAVX512(&lines[0], current, ahead, len(before), &before[0])
	case cpu.AVX2:
		return slidingRowsAVX2(&lines[0], current, ahead, len(before), &before[0])
	}
	return testAndSetSlidingBatchGeneric(lines, current, before)
}

// countingLevel is the level of kernels that count bits. With AVX-512 they need VPOPCNTDQ,
// which CPUs got years after the rest.
func countingLevel() cpu.Level {
	if cpu.Best == cpu.AVX512 && !cpu.CountsBits {
		return cpu.AVX2
	}
	return cpu.Best
}

func testBloomBatch(lines []layout.Line, current, ahead *batch, n, rounds int) (missed uint64) {
	switch cpu.Best {
	case cpu.AVX512:
		return testBloomAVX512(&lines[0], current, ahead, n, &salts, rounds)
	case cpu.AVX2:
		return testBloomAVX2(&lines[0], current, ahead, n, &salts, rounds)
	}
	return testBloomGeneric(lines, current, ahead, n, rounds)
}

func testAndSetBloomBatch(lines []layout.Line, current, ahead *batch, n, rounds int) (missed, added uint64) {
	switch countingLevel() {
	case cpu.AVX512:
		return testAndSetBloomAVX512(&lines[0], current, ahead, n, &salts, rounds)
	case cpu.AVX2:
		return testAndSetBloomAVX2(&lines[0], current, ahead, n, &salts, rounds)
	}
	return testAndSetBloomGeneric(lines, current, ahead, n, rounds)
}

func spreadBits(x, mask uint64) (moved uint64) {
	if cpu.Best == cpu.Generic {
		return spreadGeneric(x, mask)
	}
	return spreadAMD64(x, mask)
}

// testAndSet first replaces the words of the batch by what the kernels look for in a
// line.
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

func testAndSetCellBatch(lines []layout.Line, current, ahead *batch, n int, r *CellRule) (found, filled uint64) {
	switch level := countingLevel(); {
	case level == cpu.Generic:
		return testAndSetCellBatchGeneric(lines, current, ahead, n, r)
	case level == cpu.AVX512 && r.bits == 2:
		return cells2AVX512(&lines[0], current, ahead, n, r)
	case level == cpu.AVX512:
		return cells4AVX512(&lines[0], current, ahead, n, r)
	case r.bits == 2:
		return cells2AVX2(&lines[0], current, ahead, n, r)
	}
	return cells4AVX2(&lines[0], current, ahead, n, r)
}

func testAndSetTimerBatch(lines []layout.Line, current, ahead *batch, n int, s *timerStamps, r *TimerRule) (found, filled uint64) {
	switch {
	case cpu.Best == cpu.Generic:
		return testAndSetTimerBatchGeneric(lines, current, ahead, n, s, r)
	case cpu.Best == cpu.AVX512 && r.bits == 8:
		return timers8AVX512(&lines[0], current, ahead, n, s, r)
	case cpu.Best == cpu.AVX512:
		return timers16AVX512(&lines[0], current, ahead, n, s, r)
	case r.bits == 8:
		return timers8AVX2(&lines[0], current, ahead, n, s, r)
	}
	return timers16AVX2(&lines[0], current, ahead, n, s, r)
}

func sweepTimers(lines []layout.Line, tick uint64, r *TimerRule) (cleared uint64) {
	if cpu.Best == cpu.Generic || len(lines) == 0 {
		return sweepTimersGeneric(lines, tick, r)
	}
	now, oldest := r.sweepWords(tick)
	switch {
	case cpu.Best == cpu.AVX512 && r.bits == 8:
		return sweepTimers8AVX512(&lines[0], len(lines), now, oldest)
	case cpu.Best == cpu.AVX512:
		return sweepTimers16AVX512(&lines[0], len(lines), now, oldest)
	case r.bits == 8:
		return sweepTimers8AVX2(&lines[0], len(lines), now, oldest)
	}
	return sweepTimers16AVX2(&lines[0], len(lines), now, oldest)
}
