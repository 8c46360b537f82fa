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

// fillVectors does the work of fill for the first digests that fill whole vectors, and
// returns their number. So do other functions of this name.
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
		return 0
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
		return 0
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
		return 0
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
		return 0
	case cpu.Best == cpu.AVX512:
		fillTimedAVX512(b, low, &ticks[0], unsafe.SliceData(points), groups, r)
	default:
		fillTimedAVX2(b, low, &ticks[0], unsafe.SliceData(points), 2*groups, r)
	}
	return 8 * groups
}

func (b *batch) coarseVectors(ticks []int64, fine bool) (done int, noTime uint64) {
	groups := vectorGroups(len(ticks))
	switch {
	case groups == 0:
		return 0, 0
	case fine:
		noTime = fillFineAVX2(&b.low, &ticks[0], 2*groups)
	default:
		noTime = fillCoarseAVX2(&b.low, &ticks[0], 2*groups)
	}
	return 8 * groups, noTime
}

func (s *timerStamps) fillVectors(ticks []uint64, r *TimerRule) (done int) {
	groups := vectorGroups(len(ticks))
	switch {
	case groups == 0:
		return 0
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

// decreasingVectors compares the first ticks, each with the tick after it, and returns
// their number.
func decreasingVectors(ticks []uint64) (done int, fell bool) {
	groups := vectorGroups(len(ticks) - 1)
	switch {
	case groups == 0:
		return 0, false
	case cpu.Best == cpu.AVX512:
		fell = decreasingAVX512(&ticks[0], groups)
	default:
		fell = decreasingAVX2(&ticks[0], 2*groups)
	}
	return 8 * groups, fell
}

// insertedVectors does the work of inserted for the first elements that fill whole
// vectors, and returns their number.
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

func testAndSetRowBatch(lines []layout.Line, current, ahead *batch, n int, g *rowGeometry, p RowParams) (missed, filled uint64) {
	switch cpu.Best {
	case cpu.AVX512:
		switch p.Shape {
		case layout.Lines32x16:
			return lines32x16AVX512(&lines[0], current, ahead, n, p.Eviction)
		case layout.Lines16x32:
			return lines16x32AVX512(&lines[0], current, ahead, n, p.Eviction)
		case layout.Lines8x64:
			return lines8x64AVX512(&lines[0], current, ahead, n, p.Eviction)
		case layout.Rows4x16:
			return words4x16AVX512(&lines[0], current, ahead, n, p.Eviction)
		case layout.Rows8x8:
			return words8x8AVX512(&lines[0], current, ahead, n, p.Eviction)
		}
	case cpu.AVX2:
		switch p.Shape {
		case layout.Lines32x16:
			return lines32x16AVX2(&lines[0], current, ahead, n, p.Eviction)
		case layout.Lines16x32:
			return lines16x32AVX2(&lines[0], current, ahead, n, p.Eviction)
		case layout.Lines8x64:
			return lines8x64AVX2(&lines[0], current, ahead, n, p.Eviction)
		case layout.Rows4x16:
			return words4x16AVX2(&lines[0], current, ahead, n, p.Eviction)
		case layout.Rows8x8:
			return words8x8AVX2(&lines[0], current, ahead, n, p.Eviction)
		}
	}
	return testAndSetRowBatchGeneric(lines, current, ahead, n, g, p)
}

// cells replaces the low halves of a batch by the cells of its elements. It may change
// places after the last element.
func (p *cellPick) cells(b *batch, n int) {
	if cpu.Best == cpu.Generic {
		p.cellsGeneric(b, n)
	} else {
		pickCellsAVX2(b, p)
	}
}

func purgeSliding(lines []layout.Line, e *SlidingExpiry) (removed int) {
	if len(lines) == 0 || cpu.Best == cpu.Generic {
		return purgeSlidingGeneric(lines, e)
	}
	return purgeSlidingAVX2(&lines[0], len(lines), e)
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

func testAndSetCoarseBatch(lines []layout.Line, current, ahead *batch, log *coarseLog, n int, r *coarseRule) (hits, found uint64) {
	switch cpu.Best {
	case cpu.AVX512:
		if r.fine {
			return fineRowsAVX512(&lines[0], current, ahead, n, log, r)
		}
		return coarseRowsAVX512(&lines[0], current, ahead, n, log, r)
	case cpu.AVX2:
		if r.fine {
			return fineRowsAVX2(&lines[0], current, ahead, n, log, r)
		}
		return coarseRowsAVX2(&lines[0], current, ahead, n, log, r)
	}
	return testAndSetCoarseBatchGeneric(lines, current, log, n, r)
}

func testAndSetSlidingBatch(lines []layout.Line, current, ahead *batch, before []uint16) (held uint64) {
	if cpu.Best == cpu.Generic {
		return testAndSetSlidingBatchGeneric(lines, current, before)
	}
	return slidingRowsAVX2(&lines[0], current, ahead, len(before), &before[0])
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

func testAndSetCellBatch(lines []layout.Line, current, ahead *batch, n int, r *CellRule) (found, filled uint64) {
	switch {
	case cpu.Best == cpu.Generic:
		return testAndSetCellBatchGeneric(lines, current, ahead, n, r)
	case r.bits == 2:
		return cells2AVX2(&lines[0], current, ahead, n, r)
	default:
		return cells4AVX2(&lines[0], current, ahead, n, r)
	}
}

func testAndSetTimerBatch(lines []layout.Line, current, ahead *batch, n int, s *timerStamps, r *TimerRule) (found, filled uint64) {
	switch cpu.Best {
	case cpu.AVX512:
		if r.bits == 8 {
			return timers8AVX512(&lines[0], current, ahead, n, s, r)
		}
		return timers16AVX512(&lines[0], current, ahead, n, s, r)
	case cpu.AVX2:
		if r.bits == 8 {
			return timers8AVX2(&lines[0], current, ahead, n, s, r)
		}
		return timers16AVX2(&lines[0], current, ahead, n, s, r)
	}
	return testAndSetTimerBatchGeneric(lines, current, ahead, n, s, r)
}

func sweepTimers(lines []layout.Line, tick uint64, r *TimerRule) (cleared uint64) {
	if len(lines) == 0 || cpu.Best == cpu.Generic {
		return sweepTimersGeneric(lines, tick, r)
	}
	now, oldest := r.sweepWords(tick)
	switch cpu.Best {
	case cpu.AVX512:
		if r.bits == 8 {
			return sweepTimers8AVX512(&lines[0], len(lines), now, oldest)
		}
		return sweepTimers16AVX512(&lines[0], len(lines), now, oldest)
	case cpu.AVX2:
		if r.bits == 8 {
			return sweepTimers8AVX2(&lines[0], len(lines), now, oldest)
		}
		return sweepTimers16AVX2(&lines[0], len(lines), now, oldest)
	}
	return sweepTimersGeneric(lines, tick, r)
}
