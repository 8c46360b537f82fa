// SPDX-License-Identifier: Apache-2.0

package line

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

// TestTimedAround splits a stream among four times as many lines each time, and compares
// the verdicts with the verdicts of lines that hold all of it. The second time lines are
// so few that many cells go to spare lines.
func TestTimedAround(t *testing.T) {
	timedAroundAndGrown(t, 1024, 0)
	if c := timedAroundAndGrown(t, 48, 48); c.Spilled == 0 || c.Asked == 0 {
		t.Errorf("counts %+v: too few for this test", c)
	}
}

// timedAroundAndGrown begins with the given numbers of lines and spare lines.
func timedAroundAndGrown(t *testing.T, first, spare int) (c TimedCounts) {
	t.Helper()
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
		var all TimedCounts
		c = TimedCounts{}
		TestAndSetTimed(TimedRows{Lines: whole}, want, s.digests, s.ticks, s.points, &p, &all)
		older := []TimedRows(nil)
		for i, to := range []int{640, 1280, 1920, 3000} {
			from := []int{0, 640, 1280, 1920}[i]
			rows := TimedRows{make([]layout.Line, first<<(2*i)), make([]layout.Line, spare<<(2*i))}
			p.Now = layout.NoTick
			for ; from < to; from += 64 {
				end := min(to, from+64)
				TestAndSetTimedAround(rows, older, got[from/64:], s.digests[from:end], s.ticks[from:end], s.points[from:end], &p, &c)
				p.Now, p.Slack = int64(from)*10, 250
			}
			older = slices.Insert(older, 0, rows)
		}
		if !slices.Equal(got, want) {
			t.Errorf("mode %d: other verdicts than those of lines that hold all", mode)
		}
		if c.EvictedLive != 0 || c.Inserted < all.Inserted {
			t.Errorf("mode %d: counts %+v, without growth %+v", mode, c, all)
		}
	}
	return c
}

// Far from borders and without older lines both do the same, bit for bit.
func TestTimedAroundAlike(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 32))
	p := TimedParams{FPBits: 36, PointBits: 7, TickBits: 42, Window: 1000, Origin: 1 << 39, Across: true, Refresh: true}
	s := randomTimedStream(rng, 5000, &p)
	for _, spare := range []int{0, 3} {
		one, two := make([]layout.Line, 20+spare), make([]layout.Line, 20+spare)
		want, got := make([]uint64, 79), make([]uint64, 79)
		var a, b TimedCounts
		TestAndSetTimed(TimedRows{one[spare:], one[:spare]}, want, s.digests, s.ticks, s.points, &p, &a)
		TestAndSetTimedAround(TimedRows{two[spare:], two[:spare]}, nil, got, s.digests, s.ticks, s.points, &p, &b)
		if !slices.Equal(got, want) || !slices.Equal(one, two) || a != b || a.Spilled > 0 != (spare > 0) {
			t.Errorf("%d spare lines: verdicts, lines or counts differ: %+v, want %+v", spare, b, a)
		}
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
