// SPDX-License-Identifier: Apache-2.0

package line

import (
	"fmt"
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/layout"
)

// BenchmarkTestAndSetTimed finds all cells taken, most of them out of the window, which
// holds all repeated elements: 8192, 4 for each line of the smallest size.
func BenchmarkTestAndSetTimed(b *testing.B) {
	benchSizes(b, func(b *testing.B, lines []layout.Line) {
		fillLines(lines, 8)
		for i := range lines {
			lines[i][6] &^= 1 << 63
			lines[i][7] &^= 1 << 63
		}
		for _, p := range timedBenches {
			b.Run(p.name, func(b *testing.B) {
				kerneltest.BenchLevels(b, func(b *testing.B) { measureTimed(b, lines, &p.TimedParams) })
			})
		}
	})
}

// timedBenches are the kinds of elements that kernels have separate loops for. With
// window=none all times are the same, as in window.Timed.
var timedBenches = []struct {
	name string
	TimedParams
}{
	{"window=some", TimedParams{FPBits: 40, TickBits: 45, Window: 1_000_000}},
	{"window=none", TimedParams{FPBits: 40, TickBits: 45, Window: 0, Refresh: true}},
	{"refresh", TimedParams{FPBits: 40, TickBits: 45, Window: 1_000_000, Refresh: true}},
	{"across", TimedParams{FPBits: 36, PointBits: 7, TickBits: 42, Window: 1_000_000, Across: true}},
	{"across/refresh", TimedParams{FPBits: 36, PointBits: 7, TickBits: 42, Window: 1_000_000, Across: true, Refresh: true}},
}

func measureTimed(b *testing.B, lines []layout.Line, p *TimedParams) {
	s, position := newDigestBatch(), int64(0)
	ticks, points, seen := make([]int64, benchBatch), make([]uint32, benchBatch), make([]uint64, benchBatch/64)
	var c TimedCounts
	kerneltest.Measure(b, benchBatch, func() {
		s.next()
		for i := range ticks {
			ticks[i] = (position + int64(i)) * p.Window / 8192
			points[i] = uint32(s.digests[i][1]>>7^uint64(ticks[i])) & 1 // repeats are seen at both
		}
		position += benchBatch
	}, func() { TestAndSetTimed(TimedRows{Lines: lines}, seen, s.digests, ticks, points, p, &c) })
}

// BenchmarkTestAndSetTimedSpare has a quarter of an element a line live in a window, and 2.4,
// with spare lines and without.
func BenchmarkTestAndSetTimedSpare(b *testing.B) {
	benchSizes(b, func(b *testing.B, lines []layout.Line) {
		for _, load := range []float64{0.25, 2.4} {
			for _, spare := range []int{0, len(lines) / 13} {
				name := fmt.Sprintf("load=%v/spare=%v", load, spare > 0)
				b.Run(name, func(b *testing.B) {
					kerneltest.BenchLevels(b, func(b *testing.B) {
						clear(lines)
						measureTimedSpare(b, TimedRows{lines[spare:], lines[:spare]}, load)
					})
				})
			}
		}
	})
}

// measureTimedSpare measures with the given number of live elements a line. Before the
// clock starts, all cells are taken.
func measureTimedSpare(b *testing.B, rows TimedRows, load float64) {
	live := load * float64(len(rows.Lines)+len(rows.Spare))
	p := &TimedParams{FPBits: 40, TickBits: 45, Window: int64(2 * live), Now: layout.NoTick}
	p.Slack = p.Window / 8
	s, position := newDigestBatch(), int64(0)
	ticks, seen := make([]int64, benchBatch), make([]uint64, benchBatch/64)
	var c TimedCounts
	next := func() {
		s.next()
		for i := range ticks {
			ticks[i] = position + int64(i)
		}
		p.Now = position
		position += benchBatch
	}
	for position < 16*int64(len(rows.Lines)) {
		next()
		TestAndSetTimed(rows, seen, s.digests, ticks, nil, p, &c)
	}
	kerneltest.Measure(b, benchBatch, next, func() { TestAndSetTimed(rows, seen, s.digests, ticks, nil, p, &c) })
}

// BenchmarkTestAndSetCoarse finds the elements of BenchmarkTestAndSetTimed.
func BenchmarkTestAndSetCoarse(b *testing.B) {
	benchSizes(b, func(b *testing.B, lines []layout.Line) {
		fillLines(lines, 8)
		for name, p := range map[string]CoarseParams{
			"coarse": {Window: 125}, "coarse/refresh": {Window: 125, Refresh: true},
			"fine": {Window: 31, Fine: true}, "fine/refresh": {Window: 31, Fine: true, Refresh: true},
		} {
			b.Run(name, func(b *testing.B) {
				kerneltest.BenchLevels(b, func(b *testing.B) { measureCoarse(b, lines, p) })
			})
		}
	})
}

func measureCoarse(b *testing.B, lines []layout.Line, p CoarseParams) {
	s, position := newDigestBatch(), int64(0)
	ticks, seen := make([]int64, benchBatch), make([]uint64, benchBatch/64)
	var c CoarseCounts
	kerneltest.Measure(b, benchBatch, func() {
		s.next()
		for i := range ticks {
			ticks[i] = (position + int64(i)) * int64(p.Window) / 8192
		}
		position += benchBatch
	}, func() { TestAndSetCoarse(CoarseRows{Lines: lines}, seen, s.digests, ticks, p, &c) })
}

// BenchmarkSlidingRows takes rows from two of their eight cells taken to four. Half of
// the elements are there already.
func BenchmarkSlidingRows(b *testing.B) {
	benchSizes(b, func(b *testing.B, lines []layout.Line) {
		kerneltest.BenchLevels(b, func(b *testing.B) { measureSliding(b, lines) })
	})
}

func measureSliding(b *testing.B, lines []layout.Line) {
	s := newDigestBatch()
	dates, before, overflow := make([]uint16, benchBatch), make([]uint16, benchBatch), make([]uint32, benchBatch)
	words := make([]uint64, benchBatch)
	room, date := 0, uint16(0)
	kerneltest.Measure(b, benchBatch, func() {
		if room -= benchBatch / 2; room < 0 {
			untimed(b, func() { fillLines(lines, 2) })
			room = 2 * len(lines)
		}
		date = (date + 1) % layout.SlidingPresent
		for i := range dates {
			dates[i] = date
		}
		s.next()
		for i := range words {
			words[i] = s.digests[i][0]
		}
	}, func() { TestAndSetSliding(lines, before, words, dates, overflow) })
}

func BenchmarkTimers(b *testing.B) {
	benchSizes(b, func(b *testing.B, lines []layout.Line) {
		seen, ticks := make([]uint64, benchBatch/64), make([]uint64, benchBatch)
		for _, p := range []TimerParams{timerShapes[0], timerShapes[3], {Bits: 16, K: 3, Window: 60000}} {
			// A window has the elements that make half of the timers live.
			perTick := uint64(max(1, len(lines)*512/p.Bits/p.K/p.Window))
			b.Run(fmt.Sprintf("bits=%d/equal=%d", p.Bits, p.Equal), func(b *testing.B) {
				kerneltest.BenchLevels(b, func(b *testing.B) {
					rule, element, c := timerRule(b, p), uint64(0), TimerCounts{}
					clear(lines)
					s := newDigestBatch()
					prepare := func() {
						s.next()
						for i := range ticks {
							ticks[i] = element / perTick
							element++
						}
					}
					kerneltest.Measure(b, benchBatch, prepare, func() { TestAndSetTimers(lines, seen, s.digests, ticks, rule, &c) })
				})
			})
		}
	})
}

// BenchmarkSweepTimers has no live timers.
func BenchmarkSweepTimers(b *testing.B) {
	benchSizes(b, func(b *testing.B, lines []layout.Line) {
		rule := timerRule(b, timerShapes[0])
		kerneltest.BenchLevels(b, func(b *testing.B) {
			b.SetBytes(int64(len(lines)) * layout.LineSize)
			for b.Loop() {
				SweepTimers(lines, 0, rule, &TimerCounts{})
			}
		})
	})
}
