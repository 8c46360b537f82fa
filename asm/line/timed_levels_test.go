// SPDX-License-Identifier: Apache-2.0

package line

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/layout"
)

// timedLevels is a test of batches that stream draws, of up to most elements. Now is the time of
// the last element of the batch before.
func timedLevels(t *testing.T, rng *rand.Rand, p TimedParams, most int, stream func(n int) *timedStream) *levelTest {
	var s *timedStream
	front := rng.IntN(2) == 0
	times, places := guardedPart[int64](t, most, front), guardedPart[uint32](t, most, front)
	return &levelTest{
		front: front, rng: rng,
		draw: func(digests []digest.Digest) {
			s = stream(len(digests))
			copy(digests, s.digests)
		},
		call: func(n int) levelCall {
			ticks, points, now := times(n), places(n), p
			copy(ticks, s.ticks)
			copy(points, s.points)
			if n > 0 {
				p.Now = ticks[n-1]
			}
			return func(lines, spare []layout.Line, seen []uint64, digests []digest.Digest) any {
				var c TimedCounts
				TestAndSetTimed(TimedRows{lines, spare}, seen, digests, ticks, points, &now, &c)
				return c
			}
		},
	}
}

func TestTimedLevels(t *testing.T) {
	kerneltest.ForLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(21, 22))
		for _, p := range timedShapes {
			for mode := range 4 {
				p.Refresh, p.Across = mode&1 != 0, mode&2 != 0
				for kind := range len(digestBatches) + 1 {
					p.Now, p.Slack = layout.NoTick, p.Window/4
					test := timedLevels(t, rng, p, mostElements, func(n int) *timedStream {
						s := randomTimedStream(rng, n, &p)
						if kind < len(digestBatches) {
							fillDigests(rng, s.digests, digestBatches[kind].digest)
						}
						return s
					})
					test.lines, test.spare = 13, kind%4
					test.run(t)
				}
			}
		}
	})
}

// TestTimedLevelsAnyMemory starts from lines that no call has made: in the last two words
// only the required top bits are 0, and each fingerprint has one cell.
func TestTimedLevelsAnyMemory(t *testing.T) {
	kerneltest.ForLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(23, 24))
		for _, p := range timedShapes {
			for mode := range 4 {
				p.Refresh, p.Across, p.Now, p.Slack = mode&1 != 0, mode&2 != 0, rng.Int64(), p.Window/4
				var rows TimedRows
				test := timedLevels(t, rng, p, 2000, func(n int) *timedStream {
					s := randomTimedStream(rng, n, &p)
					for i := range s.digests {
						d := rng.Uint64()
						at, _ := bits.Mul64(d, uint64(len(rows.Lines)))
						home := &rows.Lines[at]
						if len(rows.Spare) > 0 && rng.IntN(2) == 0 {
							home = rows.spareOf(at, rows.share())
						}
						s.digests[i] = digest.Digest{home[rng.IntN(layout.TimedCells)], d}
						s.ticks[i] = p.Origin + rng.Int64N(1<<(p.TickBits-1)) // era 0 leaves fingerprints as they are
					}
					return s
				})
				test.lines, test.lengths = 180, []int{2000}
				if mode != 0 {
					test.spare = 20
				}
				test.start = func(lines, spare []layout.Line) {
					rows = TimedRows{lines, spare}
					anyTimed(rng, lines, mode == 0)
					anyTimed(rng, spare, true)
				}
				test.run(t)
			}
		}
	})
}

// anyTimed fills lines with cells. A line of which no cell may be in a spare line has no such mark.
func anyTimed(rng *rand.Rand, lines []layout.Line, unspilled bool) {
	for i := range lines {
		for w := range layout.TimedCells {
			if rng.IntN(16) != 0 {
				lines[i][w] = rng.Uint64()>>3 | uint64(w)<<61
			}
		}
		lines[i][6], lines[i][7] = rng.Uint64()>>1, rng.Uint64()
		if unspilled {
			lines[i][7] &^= 1 << 63
		}
	}
}

// goldenTimes are the same ticks and points on every CPU: time walks, now and then steps
// back or is missing, and goes on in another era after half of the elements.
func goldenTimes(n int, p *TimedParams) (ticks []int64, points []uint32) {
	state, now := uint64(1), p.Origin
	for i := range n {
		step := int64(layout.SplitMix(&state) % uint64(2+p.Window/4))
		if layout.SplitMix(&state)%16 == 0 {
			step = -step
		}
		if now += step; i == n/2 {
			now += 1 << (p.TickBits - 1)
		}
		tick := now
		if layout.SplitMix(&state)%64 == 0 {
			tick = layout.NoTick
		}
		ticks, points = append(ticks, tick), append(points, uint32(layout.SplitMix(&state)%200))
	}
	return ticks, points
}

// TestTimedGolden has every shape in all four modes: verdicts, memory and counts of
// earlier versions and of all CPUs are the same, as filters are kept in files and moved.
func TestTimedGolden(t *testing.T) {
	want := []string{
		"81334005bccd45e3", "61c0dcc528c2d761", "477cb59268ed6154", "0acea7b50585f2a9",
		"b523a1e779a5e509", "0667d0971c94a2c4", "6394db8d51839889",
	}
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		digests := goldenStream()
		for i, p := range timedShapes {
			ticks, points := goldenTimes(len(digests), &p)
			var words []any
			for mode := range 4 {
				lines, seen, c := make([]layout.Line, 80), make([]uint64, (len(digests)+63)/64), TimedCounts{}
				p.Refresh, p.Across = mode&1 != 0, mode&2 != 0
				TestAndSetTimed(TimedRows{Lines: lines}, seen, digests, ticks, points, &p, &c)
				words = append(words, seen, lines, c.Inserted, c.EvictedLive)
			}
			if got := goldenSum(t, words...); got != want[i] {
				t.Errorf("%+v: %q, want %q", p, got, want[i])
			}
		}
	})
}

// TestTimedSurvey compares the kernels' views of spare lines.
func TestTimedSurvey(t *testing.T) {
	kerneltest.ForLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(25, 26))
		for _, p := range timedShapes {
			for i := range 2000 {
				var lines [2]layout.Line
				fillLines(lines[:], 8)
				for w := range layout.TimedCells {
					lines[0][w] ^= rng.Uint64()
					lines[1][w] = []uint64{0, lines[0][layout.TimedCells-1], rng.Uint64(), rng.Uint64()}[rng.IntN(4)]
				}
				lines[1][6], lines[1][7] = rng.Uint64()>>1, rng.Uint64()>>1
				p.Now, p.Slack = rng.Int64(), p.Window/4
				if i%3 == 0 {
					p.Now = layout.NoTick
				}
				r := newTimedRule(&p, 1)
				r.lanes.set(&r)
				mark := rng.Uint64() & (r.tickMask | r.points)
				cell := lines[1][rng.IntN(layout.TimedCells)]
				got, want := r.survey(&lines[0], &lines[1], cell, mark), r.surveyGeneric(&lines[0], &lines[1], cell, mark)
				if got != want {
					t.Fatalf("%+v: %x, mark %x: %b, want %b", p, lines[1], mark, got, want)
				}
			}
		}
	})
}
