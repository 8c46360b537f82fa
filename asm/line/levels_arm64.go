// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

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
	if groups == 0 || uint64(lines) > math.MaxUint32 {
		return 0
	}
	fillBatchNEON(b, &digests[0], groups, lines, within, position, random)
	return 8 * groups
}

func (b *timedBatch) fillVectors(low *[64]uint64, ticks []int64, points []uint32, r *timedRule) (done int) {
	groups := vectorGroups(len(ticks))
	if groups == 0 {
		return 0
	}
	fillTimedNEON(b, low, &ticks[0], unsafe.SliceData(points), groups, r)
	return 8 * groups
}

// testAndSetRowBatch leaves rows that are words to the plain kernel at level NEON: a word
// fits a general register.
func testAndSetRowBatch(lines []layout.Line, current, ahead *batch, n int, g *rowGeometry, p RowParams) (missed, filled uint64) {
	if cpu.Best == cpu.NEON {
		switch p.Shape {
		case layout.Lines32x16:
			return lines32x16NEON(&lines[0], current, ahead, n, p.Eviction)
		case layout.Lines16x32:
			return lines16x32NEON(&lines[0], current, ahead, n, p.Eviction)
		case layout.Lines8x64:
			return lines8x64NEON(&lines[0], current, ahead, n, p.Eviction)
		}
	}
	return testAndSetRowBatchGeneric(lines, current, ahead, n, g, p)
}

func testAndSetCoarseBatch(lines []layout.Line, current, ahead *batch, log *coarseLog, n int, r *coarseRule) (hits, found uint64) {
	if cpu.Best == cpu.NEON {
		if r.fine {
			return fineRowsNEON(&lines[0], current, ahead, n, log, r)
		}
		return coarseRowsNEON(&lines[0], current, ahead, n, log, r)
	}
	return testAndSetCoarseBatchGeneric(lines, current, log, n, r)
}

func testAndSetSlidingBatch(lines []layout.Line, current, ahead *batch, before []uint16) (held uint64) {
	if cpu.Best == cpu.NEON {
		return slidingRowsNEON(&lines[0], current, ahead, len(before), &before[0])
	}
	return testAndSetSlidingBatchGeneric(lines, current, before)
}

func testBloomBatch(lines []layout.Line, current, ahead *batch, n, rounds int) (missed uint64) {
	if cpu.Best == cpu.NEON {
		return testBloomNEON(&lines[0], current, ahead, n, &salts, rounds)
	}
	return testBloomGeneric(lines, current, ahead, n, rounds)
}

func testAndSetBloomBatch(lines []layout.Line, current, ahead *batch, n, rounds int) (missed, added uint64) {
	if cpu.Best == cpu.NEON {
		return testAndSetBloomNEON(&lines[0], current, ahead, n, &salts, rounds)
	}
	return testAndSetBloomGeneric(lines, current, ahead, n, rounds)
}

func testAndSetCellBatch(lines []layout.Line, current, ahead *batch, n int, r *CellRule) (found, filled uint64) {
	if cpu.Best == cpu.NEON {
		if r.bits == 2 {
			return cells2NEON(&lines[0], current, ahead, n, r)
		}
		return cells4NEON(&lines[0], current, ahead, n, r)
	}
	return testAndSetCellBatchGeneric(lines, current, ahead, n, r)
}

// testAndSetTimerBatch leaves groups of equal timers to the plain kernel at level NEON,
// since a kernel would look for them timer by timer, too.
func testAndSetTimerBatch(lines []layout.Line, current, ahead *batch, n int, s *timerStamps, r *TimerRule) (found, filled uint64) {
	if cpu.Best == cpu.NEON {
		if r.bits == 8 && r.equal <= 1 {
			return timers8NEON(&lines[0], current, ahead, n, s, r)
		}
		if r.equal <= 1 {
			return timers16NEON(&lines[0], current, ahead, n, s, r)
		}
	}
	return testAndSetTimerBatchGeneric(lines, current, ahead, n, s, r)
}

func sweepTimers(lines []layout.Line, tick uint64, r *TimerRule) (cleared uint64) {
	if len(lines) == 0 || cpu.Best == cpu.Generic {
		return sweepTimersGeneric(lines, tick, r)
	}
	now, oldest := r.sweepWords(tick)
	if cpu.Best == cpu.NEON {
		if r.bits == 8 {
			return sweepTimers8NEON(&lines[0], len(lines), now, oldest)
		}
		return sweepTimers16NEON(&lines[0], len(lines), now, oldest)
	}
	return sweepTimersGeneric(lines, tick, r)
}
