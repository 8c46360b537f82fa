// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

package line

import (
	"math"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/cpu"
	"github.com/flowdedup/flowdedup/layout"
)

// The kernels at level NEON are declared at the end of this file. Where there is none,
// the plain twin runs. dispatch_amd64.go has the same as a table. levels_arm64.go has
// the functions that all look alike, levels_plain.go the ones without a kernel.

// vectorGroups returns the number of groups of eight elements that kernels take.
func vectorGroups(elements int) int {
	if cpu.Best == cpu.Generic {
		return 0
	}
	return elements / 8
}

func testAndSetBitmap(lines []layout.Line, seen []uint64, permuted []uint32) {
	if cpu.Best == cpu.Generic || len(permuted) == 0 {
		testAndSetBitmapGeneric(lines, seen, permuted)
		return
	}
	testAndSetBitmapARM64(&lines[0], &seen[0], &permuted[0], len(permuted))
}

func prefetch(lines []layout.Line, hashes []uint64) {
	if len(hashes) > 0 {
		prefetchARM64(&lines[0], uint64(len(lines)-1), &hashes[0], len(hashes))
	}
}

// testAndSetTimedBatch returns its bits in stream order.
func testAndSetTimedBatch(lines []layout.Line, current, ahead *batch, n int, b *timedBatch, r *timedRule) (found timedFound) {
	if cpu.Best == cpu.Generic {
		return testAndSetTimedBatchGeneric(lines, current, n, b, r)
	}
	copies, first, second := timedRowsNEON(&lines[0], current, ahead, n, b, r, timedTables)
	rest := max(0, n-32)
	return timedFound{
		inOrder(copies, n),
		inOrder(first>>32<<rest|second>>32, n),
		inOrder(first&math.MaxUint32<<rest|second&math.MaxUint32, n),
	}
}

// testAndSet first replaces the words of the batch by the patterns that the kernels look
// for in a line.
func (k *stableKernel) testAndSet(current, ahead *batch, n int, inserted uint64) (missed, added uint64) {
	if cpu.Best == cpu.Generic {
		return k.rule.testAndSetGeneric(k.lines, current, ahead, n, inserted)
	}
	first, lanes := &k.lines[0], &stableLanesOf[k.rule.k]
	chooseBitsNEON(current, lanes)
	switch k.rule.method {
	case StableSBF, StableBSBFSD:
		return clearRunsNEON(first, current, ahead, n, lanes, &k.runs, k.rule.span)
	case StableRSBF:
		return clearInsertedNEON(first, current, ahead, n, lanes, inserted)
	case StableBSBF:
		return clearBitsNEON(first, current, ahead, n, lanes)
	}
	for i, r1 := range current.random[:n] {
		current.random[i] = prngNext(r1)
	}
	chooseGatesNEON(current, lanes)
	return clearGatedNEON(first, current, ahead, n, lanes)
}

// choiceOf returns the choice of one byte for all bytes of a lane. A shift reads the
// lowest byte.
func choiceOf(lane, at int) uint64 { return uint64(lane%2*8+at) * 0x0101010101010101 }

//go:noescape
func lines32x16NEON(lines *[8]uint64, current, ahead *batch, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func lines16x32NEON(lines *[8]uint64, current, ahead *batch, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func lines8x64NEON(lines *[8]uint64, current, ahead *batch, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func testAndSetBitmapARM64(lines *[8]uint64, seen *uint64, permuted *uint32, n int)

//go:noescape
func prefetchARM64(lines *[8]uint64, mask uint64, hashes *uint64, n int)

// coarseRowsNEON returns its bits with the last element in the lowest bit.
//
//go:noescape
func coarseRowsNEON(lines *[8]uint64, current, ahead *batch, n int, log *coarseLog, r *coarseRule) (hits, found uint64)

//go:noescape
func fineRowsNEON(lines *[8]uint64, current, ahead *batch, n int, log *coarseLog, r *coarseRule) (hits, found uint64)

// timedRowsNEON returns its bits with the last element in the lowest bit. second is for
// the last half of the elements, and first for 32 before them, if there are more than 32:
// the upper half has the new elements, the lower half the elements that may concern a spare
// line.
//
//go:noescape
func timedRowsNEON(lines *[8]uint64, current, ahead *batch, n int, b *timedBatch, r *timedRule, t *timedTable) (copies, first, second uint64)

// fillBatchNEON takes groups of eight digests.
//
//go:noescape
func fillBatchNEON(b *batch, digests *digest.Digest, groups, lines int, within, position uint64, random bool)

// fillTimedNEON takes groups of eight elements.
//
//go:noescape
func fillTimedNEON(b *timedBatch, low *[64]uint64, ticks *int64, points *uint32, groups int, r *timedRule)

// slidingRowsNEON returns the elements that have a cell in the end, the last in the
// lowest bit; bits above the last element's are 0.
//
//go:noescape
func slidingRowsNEON(lines *[8]uint64, current, ahead *batch, n int, before *uint16) (held uint64)

//go:noescape
func testBloomNEON(lines *[8]uint64, current, ahead *batch, n int, salts *bloomSalts, rounds int) (missed uint64)

//go:noescape
func testAndSetBloomNEON(lines *[8]uint64, current, ahead *batch, n int, salts *bloomSalts, rounds int) (missed, added uint64)

// chooseBitsNEON makes the bytes of stableLanes from the batch's digests and random
// words, and puts them in the place of the digests.
//
//go:noescape
func chooseBitsNEON(b *batch, lanes *stableLanes)

// chooseGatesNEON replaces a second random word by the places of the bits that it
// chooses: for each part a byte of the line and the bit in that byte.
//
//go:noescape
func chooseGatesNEON(b *batch, lanes *stableLanes)

//go:noescape
func clearBitsNEON(lines *[8]uint64, current, ahead *batch, n int, lanes *stableLanes) (missed, added uint64)

//go:noescape
func clearInsertedNEON(lines *[8]uint64, current, ahead *batch, n int, lanes *stableLanes, inserted uint64) (missed, added uint64)

// clearRunsNEON clears the run that begins at one of span bits.
//
//go:noescape
func clearRunsNEON(lines *[8]uint64, current, ahead *batch, n int, lanes *stableLanes, runs *stableRuns, span uint64) (missed, added uint64)

//go:noescape
func clearGatedNEON(lines *[8]uint64, current, ahead *batch, n int, lanes *stableLanes) (missed, added uint64)

//go:noescape
func cells2NEON(lines *[8]uint64, current, ahead *batch, n int, r *CellRule) (found, filled uint64)

//go:noescape
func cells4NEON(lines *[8]uint64, current, ahead *batch, n int, r *CellRule) (found, filled uint64)

//go:noescape
func timers8NEON(lines *[8]uint64, current, ahead *batch, n int, s *timerStamps, r *TimerRule) (found, filled uint64)

//go:noescape
func timers16NEON(lines *[8]uint64, current, ahead *batch, n int, s *timerStamps, r *TimerRule) (found, filled uint64)

// sweepTimers8NEON takes the present stamp and the largest difference of a live stamp
// from it, both in all timers of a word.
//
//go:noescape
func sweepTimers8NEON(lines *[8]uint64, count int, now, oldest uint64) (cleared uint64)

//go:noescape
func sweepTimers16NEON(lines *[8]uint64, count int, now, oldest uint64) (cleared uint64)
