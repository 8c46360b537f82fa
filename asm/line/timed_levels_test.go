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

// timedDigests are the streams of digestBatches, and that of few elements that
// randomTimedStream has.
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
					compareTimed(t, rng, &p, (mode+kind)%2 == 0, kind)
				}
			}
		}
	})
}

func compareTimed(t *testing.T, rng *rand.Rand, p *TimedParams, front bool, kind int) {
	t.Helper()
	const lines, most = 13, 300
	filter, plain := kerneltest.Guarded[[8]uint64](t, lines, front), make([]layout.Line, lines)
	memory, times := kerneltest.Guarded[digest.Digest](t, most, front), kerneltest.Guarded[int64](t, most, front)
	places, words := kerneltest.Guarded[uint32](t, most, front), kerneltest.Guarded[uint64](t, (most+63)/64, front)
	var counts, want TimedCounts
	for n := range most + 1 {
		s := timedDigests(rng, n, p, kind)
		copy(kerneltest.Part(memory, n, front), s.digests)
		copy(kerneltest.Part(times, n, front), s.ticks)
		copy(kerneltest.Part(places, n, front), s.points)
		seen, wanted := kerneltest.Part(words, bitWords(n), front), make([]uint64, (n+63)/64)
		TestAndSetTimed(TimedRows{Lines: filter}, seen, kerneltest.Part(memory, n, front), kerneltest.Part(times, n, front), kerneltest.Part(places, n, front), p, &counts)
		kerneltest.AtLevel(cpu.Generic, func() { TestAndSetTimed(TimedRows{Lines: plain}, wanted, s.digests, s.ticks, s.points, p, &want) })
		if !slices.Equal(seen, wanted) || counts != want {
			t.Fatalf("%+v: %d elements: verdicts or counts %+v and %+v differ", *p, n, counts, want)
		}
		if !slices.Equal(filter, plain) {
			t.Fatalf("%+v: %d elements: memory differs", *p, n)
		}
	}
}

// TestTimedLevelsAnyMemory starts from lines that no call has made, of which only the top
// bits of the last two words are 0 as they have to be, and that have one cell for a
// fingerprint.
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
					lines[i][7] &^= 1 << 63
				}
				plain := slices.Clone(lines)
				s := randomTimedStream(rng, 2000, &p)
				for i := range s.digests {
					d := rng.Uint64()
					at, _ := bits.Mul64(d, uint64(len(lines)))
					s.digests[i] = digest.Digest{lines[at][rng.IntN(layout.TimedCells)], d}
					s.ticks[i] = p.Origin + rng.Int64N(1<<(p.TickBits-1)) // era 0 leaves fingerprints as they are
				}
				var counts, want TimedCounts
				seen, wanted := make([]uint64, 32), make([]uint64, 32)
				TestAndSetTimed(TimedRows{Lines: lines}, seen, s.digests, s.ticks, s.points, &p, &counts)
				kerneltest.AtLevel(cpu.Generic, func() { TestAndSetTimed(TimedRows{Lines: plain}, wanted, s.digests, s.ticks, s.points, &p, &want) })
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

// TestTimedAround splits a stream among four times as many lines each time, and compares
// the verdicts with those of lines that hold all of it.
func TestTimedAround(t *testing.T) {
	for mode := range 4 {
		p := TimedParams{FPBits: 40, TickBits: 45, Window: 1000, Refresh: mode&1 != 0}
		if p.Across = mode&2 != 0; p.Across {
			p.FPBits, p.PointBits, p.TickBits = 36, 7, 42
		}
		rng := rand.New(rand.NewPCG(31, uint64(mode)))
		s := &timedStream{}
		for i := range 3000 {
			d := digest.Digest{rng.Uint64(), rng.Uint64()}
			if i > 0 && rng.IntN(2) == 0 {
				d = s.digests[max(0, i-1-rng.IntN(300))]
			}
			at := int64(i)*10 + rng.Int64N(200)
			if rng.IntN(50) == 0 {
				at = layout.NoTick
			}
			s.add(d, at, rng.Uint32N(3))
		}
		whole := make([]layout.Line, 4096)
		want, got := make([]uint64, 47), make([]uint64, 47)
		var c, all TimedCounts
		TestAndSetTimed(TimedRows{Lines: whole}, want, s.digests, s.ticks, s.points, &p, &all)
		older := []TimedRows(nil)
		for i, to := range []int{640, 1280, 1920, 3000} {
			from := []int{0, 640, 1280, 1920}[i]
			lines := make([]layout.Line, 1024<<(2*i))
			TestAndSetTimedAround(TimedRows{Lines: lines}, older, got[from/64:], s.digests[from:to], s.ticks[from:to], s.points[from:to], &p, &c)
			older = slices.Insert(older, 0, TimedRows{Lines: lines})
		}
		if !slices.Equal(got, want) {
			t.Errorf("mode %d: other verdicts than those of lines that hold all", mode)
		}
		if c.EvictedLive != 0 || c.Inserted < all.Inserted {
			t.Errorf("mode %d: counts %+v, without growth %+v", mode, c, all)
		}
	}
}

// Far from borders and without older lines both do the same, bit for bit.
func TestTimedAroundAlike(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 32))
	p := TimedParams{FPBits: 36, PointBits: 7, TickBits: 42, Window: 1000, Origin: 1 << 39, Across: true, Refresh: true}
	s := randomTimedStream(rng, 5000, &p)
	one, two := make([]layout.Line, 20), make([]layout.Line, 20)
	want, got := make([]uint64, 79), make([]uint64, 79)
	var a, b TimedCounts
	TestAndSetTimed(TimedRows{Lines: one}, want, s.digests, s.ticks, s.points, &p, &a)
	TestAndSetTimedAround(TimedRows{Lines: two}, nil, got, s.digests, s.ticks, s.points, &p, &b)
	if !slices.Equal(got, want) || !slices.Equal(one, two) || a != b {
		t.Errorf("verdicts, lines or counts differ: %+v, want %+v", b, a)
	}
}

// A cell that is put in front pushes the last one out, which counts.
func TestTimedAroundEvicts(t *testing.T) {
	p := TimedParams{FPBits: 40, TickBits: 45, Window: 1000}
	older, lines := make([]layout.Line, 1), make([]layout.Line, 1)
	seen := make([]uint64, 1)
	var c TimedCounts
	TestAndSetTimed(TimedRows{Lines: older}, seen, []digest.Digest{{9 << 40}}, []int64{100}, nil, &p, &c)
	for i := range uint64(6) {
		TestAndSetTimed(TimedRows{Lines: lines}, seen, []digest.Digest{{(i + 1) << 50}}, []int64{int64(i) * 300}, nil, &p, &c)
	}
	TestAndSetTimedAround(TimedRows{Lines: lines}, []TimedRows{{Lines: older}}, seen, []digest.Digest{{9 << 40}}, []int64{200}, nil, &p, &c)
	if seen[0] != 1 || c != (TimedCounts{Inserted: 8, EvictedLive: 1}) {
		t.Errorf("copy %d, counts %+v", seen[0], c)
	}
}
