// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

package line

import "github.com/flowdedup/flowdedup/asm/digest"

// The kernels in assembly; dispatch_amd64.go says when they run. Their plain twins
// document what they do, and common_amd64.h what they share.

// fillBatchAVX512 takes groups of eight digests, for up to 2^32 - 1 lines.
//
//go:noescape
func fillBatchAVX512(b *batch, digests *digest.Digest, groups, lines int, within, position uint64, random bool)

// fillBatchAVX2 takes groups of four digests.
//
//go:noescape
func fillBatchAVX2(b *batch, digests *digest.Digest, groups, lines int, within, position uint64, random bool)

// atHomeAVX2 takes 1 to 64 packets.
//
//go:noescape
func atHomeAVX2(lines *[8]uint64, mask uint64, s *Sightings, n int, r *HomeRule) (home uint64, done int)

//go:noescape
func words8x8AVX2(lines *[8]uint64, current, ahead *batch, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func words4x16AVX2(lines *[8]uint64, current, ahead *batch, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func lines32x16AVX2(lines *[8]uint64, current, ahead *batch, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func lines16x32AVX2(lines *[8]uint64, current, ahead *batch, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func lines8x64AVX2(lines *[8]uint64, current, ahead *batch, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func words4x16AVX512(lines *[8]uint64, current, ahead *batch, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func words8x8AVX512(lines *[8]uint64, current, ahead *batch, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func lines32x16AVX512(lines *[8]uint64, current, ahead *batch, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func lines16x32AVX512(lines *[8]uint64, current, ahead *batch, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func lines8x64AVX512(lines *[8]uint64, current, ahead *batch, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func fingerprintAVX2(b *batch, groups int, geometry *rowGeometry, victims bool)

//go:noescape
func fingerprintAVX512(b *batch, groups int, geometry *rowGeometry, victims bool)

// fillExactAVX512 takes groups of eight words.
//
//go:noescape
func fillExactAVX512(b *batch, words *uint32, groups int, shift uint, geometry *rowGeometry)

// fillExactAVX2 takes groups of four words.
//
//go:noescape
func fillExactAVX2(b *batch, words *uint32, groups int, shift uint, geometry *rowGeometry)

// fillExact64AVX512 takes groups of eight digests.
//
//go:noescape
func fillExact64AVX512(b *batch, digests *digest.Digest, groups int, shift uint)

// fillExact64AVX2 takes groups of four digests.
//
//go:noescape
func fillExact64AVX2(b *batch, digests *digest.Digest, groups int, shift uint)

// fillSlidingAVX512 takes groups of eight words.
//
//go:noescape
func fillSlidingAVX512(b *batch, words *uint64, dates *uint16, groups int, shift uint)

// fillSlidingAVX2 takes groups of four words.
//
//go:noescape
func fillSlidingAVX2(b *batch, words *uint64, dates *uint16, groups int, shift uint)

//go:noescape
func purgeSlidingAVX2(lines *[8]uint64, count int, e *SlidingExpiry) (removed int)

// splitCellsAVX512 takes the bit that gives the side of a cell.
//
//go:noescape
func splitCellsAVX512(dst, src *[8]uint64, lines int, side uint64)

//go:noescape
func testAndSetBitmapAMD64(lines *[8]uint64, seen *uint64, permuted *uint32, n int)

//go:noescape
func prefetchAMD64(lines *[8]uint64, mask uint64, hashes *uint64, n int)

//go:noescape
func splitExact16AVX512(dst, src *[8]uint64, lines int, rest uint)

//go:noescape
func splitExact32AVX512(dst, src *[8]uint64, lines int, rest uint)

// fillTimedAVX512 takes groups of eight elements.
//
//go:noescape
func fillTimedAVX512(b *timedBatch, low *[64]uint64, ticks *int64, points *uint32, groups int, r *timedRule)

// fillTimedAVX2 takes groups of four elements.
//
//go:noescape
func fillTimedAVX2(b *timedBatch, low *[64]uint64, ticks *int64, points *uint32, groups int, r *timedRule)

//go:noescape
func timedRowsAVX512(lines *[8]uint64, current, ahead *batch, n int, b *timedBatch, r *timedRule) (copies, new, spare uint64)

// timedRowsAVX2 returns its bits with the last element in the lowest bit; found are the
// elements that are not new.
//
//go:noescape
func timedRowsAVX2(lines *[8]uint64, current, ahead *batch, n int, b *timedBatch, r *timedRule) (copies, found, spare uint64)

//go:noescape
func surveyAVX512(spare *[8]uint64, cell, last, mark uint64, r *timedRule) (found, same, live, oldest uint64)

//go:noescape
func sameLineAVX512(offsets *[64]uint64, offset uint64) (same uint64)

//go:noescape
func sameLineAVX2(offsets *[64]uint64, offset uint64) (same uint64)

// coarseRowsAVX512 returns its bits with the last element in the lowest bit. The bits of
// found above the elements are set. The other kernels of coarse rows do so, too.
//
//go:noescape
func coarseRowsAVX512(lines *[8]uint64, current, ahead *batch, n int, log *coarseLog, r *coarseRule) (hits, found uint64)

//go:noescape
func fineRowsAVX512(lines *[8]uint64, current, ahead *batch, n int, log *coarseLog, r *coarseRule) (hits, found uint64)

//go:noescape
func coarseRowsAVX2(lines *[8]uint64, current, ahead *batch, n int, log *coarseLog, r *coarseRule) (hits, found uint64)

//go:noescape
func fineRowsAVX2(lines *[8]uint64, current, ahead *batch, n int, log *coarseLog, r *coarseRule) (hits, found uint64)

// fillCoarseAVX2 takes groups of four elements.
//
//go:noescape
func fillCoarseAVX2(low *[64]uint64, ticks *int64, groups int) (noTime uint64)

//go:noescape
func fillFineAVX2(low *[64]uint64, ticks *int64, groups int) (noTime uint64)

// slidingRowsAVX2 returns the elements that have a cell in the end, the last in the
// lowest bit; bits above the last element's are 0.
//
//go:noescape
func slidingRowsAVX2(lines *[8]uint64, current, ahead *batch, n int, before *uint16) (held uint64)

//go:noescape
func testBloomAVX512(lines *[8]uint64, current, ahead *batch, n int, salts *bloomSalts, rounds int) (missed uint64)

//go:noescape
func testAndSetBloomAVX512(lines *[8]uint64, current, ahead *batch, n int, salts *bloomSalts, rounds int) (missed, added uint64)

//go:noescape
func testBloomAVX2(lines *[8]uint64, current, ahead *batch, n int, salts *bloomSalts, rounds int) (missed uint64)

//go:noescape
func testAndSetBloomAVX2(lines *[8]uint64, current, ahead *batch, n int, salts *bloomSalts, rounds int) (missed, added uint64)

func spreadAMD64(x, mask uint64) (moved uint64)

// chooseBitsAVX512 makes the bytes of stableLanes from the batch's digests and random
// words, and puts them in the place of the digests.
//
//go:noescape
func chooseBitsAVX512(b *batch, lanes *stableLanes)

// chooseGatesAVX512 also does this, and replaces a random word by the places of the bits
// that the second random word chooses: for each part the number in its lane, and its lane.
//
//go:noescape
func chooseGatesAVX512(b *batch, lanes *stableLanes)

// chooseRunsAVX512 does the work of chooseBitsAVX512, and replaces a random word by the
// place in stableRuns of the run that begins at one of span bits.
//
//go:noescape
func chooseRunsAVX512(b *batch, lanes *stableLanes, span uint64)

// insertedAVX512 takes groups of eight elements.
//
//go:noescape
func insertedAVX512(b *batch, groups int, position, all uint64) (inserted uint64)

//go:noescape
func clearBitsAVX512(lines *[8]uint64, current, ahead *batch, n int, lanes *stableLanes) (missed, added uint64)

//go:noescape
func clearInsertedAVX512(lines *[8]uint64, current, ahead *batch, n int, lanes *stableLanes, inserted uint64) (missed, added uint64)

//go:noescape
func clearRunsAVX512(lines *[8]uint64, current, ahead *batch, n int, lanes *stableLanes, runs *stableRuns) (missed, added uint64)

//go:noescape
func clearGatedAVX512(lines *[8]uint64, current, ahead *batch, n int, lanes *stableLanes) (missed, added uint64)

//go:noescape
func chooseBitsAVX2(b *batch, lanes *stableLanes)

//go:noescape
func chooseGatesAVX2(b *batch, lanes *stableLanes)

//go:noescape
func chooseRunsAVX2(b *batch, lanes *stableLanes, span uint64)

// insertedAVX2 takes groups of four elements.
//
//go:noescape
func insertedAVX2(b *batch, groups int, position, all uint64) (inserted uint64)

//go:noescape
func clearBitsAVX2(lines *[8]uint64, current, ahead *batch, n int, lanes *stableLanes) (missed, added uint64)

//go:noescape
func clearInsertedAVX2(lines *[8]uint64, current, ahead *batch, n int, lanes *stableLanes, inserted uint64) (missed, added uint64)

//go:noescape
func clearRunsAVX2(lines *[8]uint64, current, ahead *batch, n int, lanes *stableLanes, runs *stableRuns) (missed, added uint64)

//go:noescape
func clearGatedAVX2(lines *[8]uint64, current, ahead *batch, n int, lanes *stableLanes) (missed, added uint64)

//go:noescape
func pickCellsAVX2(b *batch, p *cellPick)

//go:noescape
func cells2AVX2(lines *[8]uint64, current, ahead *batch, n int, r *CellRule) (found, filled uint64)

//go:noescape
func cells4AVX2(lines *[8]uint64, current, ahead *batch, n int, r *CellRule) (found, filled uint64)

// stamps8AVX512 takes groups of eight ticks, stamps8AVX2 of four.
//
//go:noescape
func stamps8AVX512(s *timerStamps, ticks *uint64, groups int, window uint64)

//go:noescape
func stamps16AVX512(s *timerStamps, ticks *uint64, groups int, window uint64)

//go:noescape
func stamps8AVX2(s *timerStamps, ticks *uint64, groups int, window uint64)

//go:noescape
func stamps16AVX2(s *timerStamps, ticks *uint64, groups int, window uint64)

// decreasingAVX512 reports whether a tick of groups of eight is greater than the tick
// after it, decreasingAVX2 of groups of four.
//
//go:noescape
func decreasingAVX512(ticks *uint64, groups int) (fell bool)

//go:noescape
func decreasingAVX2(ticks *uint64, groups int) (fell bool)

//go:noescape
func timers8AVX512(lines *[8]uint64, current, ahead *batch, n int, s *timerStamps, r *TimerRule) (found, filled uint64)

//go:noescape
func timers16AVX512(lines *[8]uint64, current, ahead *batch, n int, s *timerStamps, r *TimerRule) (found, filled uint64)

//go:noescape
func timers8AVX2(lines *[8]uint64, current, ahead *batch, n int, s *timerStamps, r *TimerRule) (found, filled uint64)

//go:noescape
func timers16AVX2(lines *[8]uint64, current, ahead *batch, n int, s *timerStamps, r *TimerRule) (found, filled uint64)

// sweepTimers8AVX512 takes the present stamp and the largest difference of a live stamp
// from it, both in all timers of a word.
//
//go:noescape
func sweepTimers8AVX512(lines *[8]uint64, count int, now, oldest uint64) (cleared uint64)

//go:noescape
func sweepTimers16AVX512(lines *[8]uint64, count int, now, oldest uint64) (cleared uint64)

//go:noescape
func sweepTimers8AVX2(lines *[8]uint64, count int, now, oldest uint64) (cleared uint64)

//go:noescape
func sweepTimers16AVX2(lines *[8]uint64, count int, now, oldest uint64) (cleared uint64)

// lineBaselineAVX512 adds 1 to each word of the lines that the digests choose, as
// TestAndSetRows chooses them: the minimum work of a kernel over lines, which is the
// benchmarks' baseline. count is the number of lines; n is at least 1. Programs do not
// use it, so the linker leaves it out of them.
//
//go:noescape
func lineBaselineAVX512(lines *[8]uint64, count uint64, digests *digest.Digest, n int)
