// SPDX-License-Identifier: Apache-2.0

package line

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/cpu"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/asm/internal/splitmix"
	"github.com/flowdedup/flowdedup/layout"
)

// timedDigests are the streams of digestBatches, and the stream of few elements of
// randomTimedStream.
func timedDigests(rng *rand.Rand, n int, p *TimedParams, kind int) *timedStream {
	s := randomTimedStream(rng, n, p)
	if kind < len(digestBatches) {
		fillDigests(rng, s.digests, digestBatches[kind].digest)
	}
	return s
}

// TestTimedLevels compares verdicts, counts and memory for every batch length from
// 0 to 300, one after the other on the same lines, with guard pages around all buffers.
func TestTimedLevels(t *testing.T) {
	kerneltest.ForLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(21, 22))
		for _, p := range timedShapes {
			for mode := range 4 {
				p.Refresh, p.Across = mode&1 != 0, mode&2 != 0
				for kind := range len(digestBatches) + 1 {
					p.Now, p.Slack = layout.NoTick, p.Window/4
					compareTimed(t, rng, &p, (mode+kind)%2 == 0, kind, kind%4)
				}
			}
		}
	})
}

func compareTimed(t *testing.T, rng *rand.Rand, p *TimedParams, front bool, kind, spare int) {
	t.Helper()
	const lines, most = 13, 300
	filter := TimedRows{kerneltest.Guarded[[8]uint64](t, lines, front), kerneltest.Guarded[[8]uint64](t, spare, front)}
	plain := TimedRows{make([]layout.Line, lines), make([]layout.Line, spare)}
	memory, times := kerneltest.Guarded[digest.Digest](t, most, front), kerneltest.Guarded[int64](t, most, front)
	places, words := kerneltest.Guarded[uint32](t, most, front), kerneltest.Guarded[uint64](t, (most+63)/64, front)
	var counts, want TimedCounts
	for n := range most + 1 {
		s := timedDigests(rng, n, p, kind)
		copy(kerneltest.Part(memory, n, front), s.digests)
		copy(kerneltest.Part(times, n, front), s.ticks)
		copy(kerneltest.Part(places, n, front), s.points)
		seen, wanted := kerneltest.Part(words, bitWords(n), front), make([]uint64, (n+63)/64)
		TestAndSetTimed(filter, seen, kerneltest.Part(memory, n, front), kerneltest.Part(times, n, front), kerneltest.Part(places, n, front), p, &counts)
		kerneltest.AtLevel(cpu.Generic, func() { TestAndSetTimed(plain, wanted, s.digests, s.ticks, s.points, p, &want) })
		if !slices.Equal(seen, wanted) || counts != want {
			t.Fatalf("%+v: %d elements: verdicts or counts %+v and %+v differ", *p, n, counts, want)
		}
		if !slices.Equal(filter.Lines, plain.Lines) || !slices.Equal(filter.Spare, plain.Spare) {
			t.Fatalf("%+v: %d elements: memory differs", *p, n)
		}
		if n > 0 {
			p.Now = s.ticks[n-1]
		}
	}
}

// TestTimedLevelsAnyMemory starts from lines that no call has made: in the last two words
// only the required top bits are 0, and each fingerprint has one cell.
func TestTimedLevelsAnyMemory(t *testing.T) {
	kerneltest.ForLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(23, 24))
		for _, p := range timedShapes {
			for mode := range 4 {
				p.Refresh, p.Across = mode&1 != 0, mode&2 != 0
				lines := make([]layout.Line, 200)
				fillLines(lines, 8)
				for i := range lines {
					for w := range layout.TimedCells {
						lines[i][w] = lines[i][w]&^(7<<61) | uint64(w)<<61
						if rng.IntN(16) == 0 {
							lines[i][w] = 0
						}
					}
					lines[i][6] &^= 1 << 63
					if mode == 0 || i < 20 {
						lines[i][7] &^= 1 << 63
					}
				}
				rows := TimedRows{lines[20:], lines[:20]}
				if mode == 0 {
					rows.Spare = nil
				}
				plain := slices.Clone(lines)
				same := TimedRows{plain[20:], plain[:len(rows.Spare)]}
				s := randomTimedStream(rng, 2000, &p)
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
				var counts, want TimedCounts
				seen, wanted := make([]uint64, 32), make([]uint64, 32)
				p.Now, p.Slack = s.ticks[0], p.Window/4
				TestAndSetTimed(rows, seen, s.digests, s.ticks, s.points, &p, &counts)
				kerneltest.AtLevel(cpu.Generic, func() { TestAndSetTimed(same, wanted, s.digests, s.ticks, s.points, &p, &want) })
				if !slices.Equal(seen, wanted) || counts != want || !slices.Equal(lines, plain) {
					t.Fatalf("%+v: verdicts, memory or counts %+v and %+v differ", p, counts, want)
				}
			}
		}
	})
}

// goldenTimes are the same ticks and points on every CPU: time walks, now and then steps
// back or is missing, and goes on in another era after half of the elements.
func goldenTimes(n int, p *TimedParams) (ticks []int64, points []uint32) {
	state, now := uint64(1), p.Origin
	for i := range n {
		step := int64(splitmix.Next(&state) % uint64(2+p.Window/4))
		if splitmix.Next(&state)%16 == 0 {
			step = -step
		}
		if now += step; i == n/2 {
			now += 1 << (p.TickBits - 1)
		}
		tick := now
		if splitmix.Next(&state)%64 == 0 {
			tick = layout.NoTick
		}
		ticks, points = append(ticks, tick), append(points, uint32(splitmix.Next(&state)%200))
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
