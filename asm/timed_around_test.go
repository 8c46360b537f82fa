package asm

import (
	"math/rand/v2"
	"slices"
	"testing"
)

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
			d := Digest{rng.Uint64(), rng.Uint64()}
			if i > 0 && rng.IntN(2) == 0 {
				d = s.digests[max(0, i-1-rng.IntN(300))]
			}
			at := int64(i)*10 + rng.Int64N(200)
			if rng.IntN(50) == 0 {
				at = NoTick
			}
			s.add(d, at, rng.Uint32N(3))
		}
		whole := make([][8]uint64, 4096)
		want, got := make([]uint64, 47), make([]uint64, 47)
		var c, all TimedCounts
		TestAndSetTimed(whole, want, s.digests, s.ticks, s.points, &p, &all)
		older := [][][8]uint64(nil)
		for i, to := range []int{640, 1280, 1920, 3000} {
			from := []int{0, 640, 1280, 1920}[i]
			lines := make([][8]uint64, 1024<<(2*i))
			TestAndSetTimedAround(lines, older, got[from/64:], s.digests[from:to], s.ticks[from:to], s.points[from:to], &p, &c)
			older = slices.Insert(older, 0, lines)
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
	one, two := make([][8]uint64, 20), make([][8]uint64, 20)
	want, got := make([]uint64, 79), make([]uint64, 79)
	var a, b TimedCounts
	TestAndSetTimed(one, want, s.digests, s.ticks, s.points, &p, &a)
	TestAndSetTimedAround(two, nil, got, s.digests, s.ticks, s.points, &p, &b)
	if !slices.Equal(got, want) || !slices.Equal(one, two) || a != b {
		t.Errorf("verdicts, lines or counts differ: %+v, want %+v", b, a)
	}
}

// A cell that is put in front pushes the last one out, which counts.
func TestTimedAroundEvicts(t *testing.T) {
	p := TimedParams{FPBits: 40, TickBits: 45, Window: 1000}
	older, lines := make([][8]uint64, 1), make([][8]uint64, 1)
	seen := make([]uint64, 1)
	var c TimedCounts
	TestAndSetTimed(older, seen, []Digest{{9 << 40}}, []int64{100}, nil, &p, &c)
	for i := range uint64(6) {
		TestAndSetTimed(lines, seen, []Digest{{(i + 1) << 50}}, []int64{int64(i) * 300}, nil, &p, &c)
	}
	TestAndSetTimedAround(lines, [][][8]uint64{older}, seen, []Digest{{9 << 40}}, []int64{200}, nil, &p, &c)
	if seen[0] != 1 || c != (TimedCounts{Inserted: 8, EvictedLive: 1}) {
		t.Errorf("copy %d, counts %+v", seen[0], c)
	}
}
