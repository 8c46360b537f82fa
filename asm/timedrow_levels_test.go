package asm

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTimedLevels compares verdicts, counts and memory for every batch length from
// 0 to 300, with guard pages around all buffers.
func TestTimedLevels(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(21, 22))
		for _, p := range timedShapes {
			for mode := range 4 {
				p.Refresh, p.Across = mode&1 != 0, mode&2 != 0
				compareTimed(t, rng, &p, mode%2 == 0)
			}
		}
	})
}

func compareTimed(t *testing.T, rng *rand.Rand, p *TimedParams, front bool) {
	t.Helper()
	const lines, most = 13, 300
	filter, plain := guardedOf[[8]uint64](t, lines, front), make([][8]uint64, lines)
	memory, times := guardedOf[Digest](t, most, front), guardedOf[int64](t, most, front)
	places, words := guardedOf[uint32](t, most, front), guardedOf[uint64](t, (most+63)/64, front)
	var counts, want TimedCounts
	for n := range most + 1 {
		from, used := most-n, len(words)-(n+63)/64
		if front {
			from, used = 0, 0
		}
		s := randomTimedStream(rng, n, p)
		copy(memory[from:], s.digests)
		copy(times[from:], s.ticks)
		copy(places[from:], s.points)
		seen, wanted := words[used:used+(n+63)/64], make([]uint64, (n+63)/64)
		TestAndSetTimed(filter, seen, memory[from:from+n], times[from:from+n], places[from:from+n], p, &counts)
		atLevel(levelGeneric, func() { TestAndSetTimed(plain, wanted, s.digests, s.ticks, s.points, p, &want) })
		if !slices.Equal(seen, wanted) || counts != want {
			t.Fatalf("%+v: %d elements: verdicts or counts %+v and %+v differ", *p, n, counts, want)
		}
		if !slices.Equal(filter, plain) {
			t.Fatalf("%+v: %d elements: memory differs", *p, n)
		}
	}
}
