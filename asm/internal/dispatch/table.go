// SPDX-License-Identifier: Apache-2.0

package main

// function is a function of package line that runs the kernel of the CPU's level.
type function struct {
	// signature is the text after the word func.
	signature string
	// comment stands above it.
	comment string
	// generic calls the plain twin. It is empty for functions that fill with vectors:
	// there the caller handles the remaining elements.
	generic string
	// elements is the number of elements, for functions that fill with vectors. They take
	// whole groups of eight.
	elements string
	// unless is a condition for the plain twin to run at any level.
	unless string
	// level is the level of the kernels on amd64, if it is not cpu.Best.
	level string
	// before is a statement for the kernels.
	before  string
	kernels []kernel
}

// kernel is a kernel in assembly at one or more levels.
type kernel struct {
	// levels are some of AVX2, AVX512 and NEON. Without AVX512, AVX2 runs in its place.
	levels []string
	// call calls it: $ stands for the level, and groups for the number of groups.
	call string
	// when is a condition for it to run, or empty.
	when string
}

var (
	amd64 = []string{"AVX512", "AVX2"}
	all   = []string{"AVX512", "AVX2", "NEON"}
	neon  = []string{"NEON"}
	// Where vectors of 512 bits take less than a twentieth off the time of a whole command.
	avx2   = []string{"AVX2"}
	shared = []string{"AVX2", "NEON"}
)

// functions are those with equal bodies. The others are in the files dispatch_*.go of
// package line.
var functions = []function{
	{
		signature: "(b *batch) fillVectors(digests []digest.Digest, lines int, within, position uint64, random bool) (done int)",
		comment:   "fillVectors does the work of fill for the first digests that fill whole vectors, and returns their number. So do other functions of this name.",
		elements:  "len(digests)", unless: "uint64(lines) > math.MaxUint32",
		kernels: []kernel{{levels: all, call: "fillBatch$(b, &digests[0], groups, lines, within, position, random)"}},
	},
	{
		signature: "(b *batch) fillExact32Vectors(words []uint32, shift uint, g *rowGeometry) (done int)",
		elements:  "len(words)",
		kernels:   []kernel{{levels: amd64, call: "fillExact$(b, &words[0], groups, shift, g)"}},
	},
	{
		signature: "(b *batch) fillExact64Vectors(digests []digest.Digest, shift uint) (done int)",
		elements:  "len(digests)",
		kernels:   []kernel{{levels: amd64, call: "fillExact64$(b, &digests[0], groups, shift)"}},
	},
	{
		signature: "(b *batch) fillSlidingVectors(words []uint64, dates []uint16, shift uint) (done int)",
		elements:  "len(words)",
		kernels:   []kernel{{levels: amd64, call: "fillSliding$(b, &words[0], &dates[0], groups, shift)"}},
	},
	{
		signature: "(b *timedBatch) fillVectors(low *[64]uint64, ticks []int64, points []uint32, r *timedRule) (done int)",
		elements:  "len(ticks)",
		kernels:   []kernel{{levels: all, call: "fillTimed$(b, low, &ticks[0], unsafe.SliceData(points), groups, r)"}},
	},
	{
		signature: "(b *batch) coarseVectors(ticks []int64, fine bool) (done int, noTime uint64)",
		elements:  "len(ticks)",
		kernels: []kernel{
			{levels: []string{"AVX2"}, when: "fine", call: "noTime = fillFine$(&b.low, &ticks[0], groups)"},
			{levels: []string{"AVX2"}, call: "noTime = fillCoarse$(&b.low, &ticks[0], groups)"},
		},
	},
	{
		signature: "(s *timerStamps) fillVectors(ticks []uint64, r *TimerRule) (done int)",
		elements:  "len(ticks)",
		kernels: []kernel{
			{levels: amd64, when: "r.bits == 8", call: "stamps8$(s, &ticks[0], groups, r.window)"},
			{levels: amd64, call: "stamps16$(s, &ticks[0], groups, r.window)"},
		},
	},
	{
		signature: "decreasingVectors(ticks []uint64) (done int, fell bool)",
		comment:   "decreasingVectors compares the first ticks, each with the one after it, and returns their number.",
		elements:  "len(ticks)-1",
		kernels:   []kernel{{levels: amd64, call: "fell = decreasing$(&ticks[0], groups)"}},
	},
	{
		signature: "insertedVectors(b *batch, n int, position, all uint64) (done int, inserted uint64)",
		comment:   "insertedVectors does the work of inserted for the first elements that fill whole vectors, and returns their number.",
		elements:  "n",
		kernels:   []kernel{{levels: amd64, call: "inserted = inserted$(b, groups, position, all)"}},
	},
	{
		signature: "testAndSetRowBatch(lines []layout.Line, current, ahead *batch, n int, g *rowGeometry, p RowParams) (missed, filled uint64)",
		comment:   "testAndSetRowBatch leaves rows that are words to the plain kernel at level NEON: a word fits a general register.",
		generic:   "testAndSetRowBatchGeneric(lines, current, ahead, n, g, p)",
		kernels: []kernel{
			{levels: all, when: "p.Shape == layout.Lines32x16", call: "lines32x16$(&lines[0], current, ahead, n, p.Eviction)"},
			{levels: all, when: "p.Shape == layout.Lines16x32", call: "lines16x32$(&lines[0], current, ahead, n, p.Eviction)"},
			{levels: all, when: "p.Shape == layout.Lines8x64", call: "lines8x64$(&lines[0], current, ahead, n, p.Eviction)"},
			{levels: amd64, when: "p.Shape == layout.Rows4x16", call: "words4x16$(&lines[0], current, ahead, n, p.Eviction)"},
			{levels: amd64, when: "p.Shape == layout.Rows8x8", call: "words8x8$(&lines[0], current, ahead, n, p.Eviction)"},
		},
	},
	{
		signature: "(p *cellPick) cells(b *batch, n int)",
		comment:   "cells replaces the low halves of a batch by the cells of its elements. It may change places after the last element.",
		generic:   "p.cellsGeneric(b, n)",
		kernels:   []kernel{{levels: avx2, call: "pickCells$(b, p)"}},
	},
	{
		signature: "purgeSliding(lines []layout.Line, e *SlidingExpiry) (removed int)",
		generic:   "purgeSlidingGeneric(lines, e)", unless: "len(lines) == 0",
		kernels: []kernel{{levels: avx2, call: "purgeSliding$(&lines[0], len(lines), e)"}},
	},
	{
		signature: "sameLine(offsets *[64]uint64, offset uint64) (same uint64)",
		generic:   "sameLineGeneric(offsets, offset)",
		kernels:   []kernel{{levels: amd64, call: "sameLine$(offsets, offset)"}},
	},
	{
		signature: "testAndSetCoarseBatch(lines []layout.Line, current, ahead *batch, log *coarseLog, n int, r *coarseRule) (hits, found uint64)",
		generic:   "testAndSetCoarseBatchGeneric(lines, current, log, n, r)",
		kernels: []kernel{
			{levels: all, when: "r.fine", call: "fineRows$(&lines[0], current, ahead, n, log, r)"},
			{levels: all, call: "coarseRows$(&lines[0], current, ahead, n, log, r)"},
		},
	},
	{
		signature: "testAndSetSlidingBatch(lines []layout.Line, current, ahead *batch, before []uint16) (held uint64)",
		generic:   "testAndSetSlidingBatchGeneric(lines, current, before)",
		kernels:   []kernel{{levels: shared, call: "slidingRows$(&lines[0], current, ahead, len(before), &before[0])"}},
	},
	{
		signature: "testBloomBatch(lines []layout.Line, current, ahead *batch, n, rounds int) (missed uint64)",
		generic:   "testBloomGeneric(lines, current, ahead, n, rounds)",
		kernels:   []kernel{{levels: all, call: "testBloom$(&lines[0], current, ahead, n, &salts, rounds)"}},
	},
	{
		signature: "testAndSetBloomBatch(lines []layout.Line, current, ahead *batch, n, rounds int) (missed, added uint64)",
		generic:   "testAndSetBloomGeneric(lines, current, ahead, n, rounds)", level: "countingLevel()",
		kernels: []kernel{{levels: all, call: "testAndSetBloom$(&lines[0], current, ahead, n, &salts, rounds)"}},
	},
	{
		signature: "testAndSetCellBatch(lines []layout.Line, current, ahead *batch, n int, r *CellRule) (found, filled uint64)",
		generic:   "testAndSetCellBatchGeneric(lines, current, ahead, n, r)",
		kernels: []kernel{
			{levels: shared, when: "r.bits == 2", call: "cells2$(&lines[0], current, ahead, n, r)"},
			{levels: shared, call: "cells4$(&lines[0], current, ahead, n, r)"},
		},
	},
	{
		signature: "testAndSetTimerBatch(lines []layout.Line, current, ahead *batch, n int, s *timerStamps, r *TimerRule) (found, filled uint64)",
		comment:   "testAndSetTimerBatch leaves groups of equal timers to the plain kernel at level NEON, since a kernel would look for them one timer after the other, too.",
		generic:   "testAndSetTimerBatchGeneric(lines, current, ahead, n, s, r)",
		kernels: []kernel{
			{levels: amd64, when: "r.bits == 8", call: "timers8$(&lines[0], current, ahead, n, s, r)"},
			{levels: amd64, call: "timers16$(&lines[0], current, ahead, n, s, r)"},
			{levels: neon, when: "r.bits == 8 && r.equal <= 1", call: "timers8$(&lines[0], current, ahead, n, s, r)"},
			{levels: neon, when: "r.equal <= 1", call: "timers16$(&lines[0], current, ahead, n, s, r)"},
		},
	},
	{
		signature: "sweepTimers(lines []layout.Line, tick uint64, r *TimerRule) (cleared uint64)",
		generic:   "sweepTimersGeneric(lines, tick, r)", unless: "len(lines) == 0",
		before: "now, oldest := r.sweepWords(tick)",
		kernels: []kernel{
			{levels: all, when: "r.bits == 8", call: "sweepTimers8$(&lines[0], len(lines), now, oldest)"},
			{levels: all, call: "sweepTimers16$(&lines[0], len(lines), now, oldest)"},
		},
	},
}
