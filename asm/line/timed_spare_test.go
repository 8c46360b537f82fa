// SPDX-License-Identifier: Apache-2.0

package line

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/layout"
)

// loadedStream returns n elements with the given number live in a window of p: half of
// the others repeat one of the last window and some of them one of the last few elements.
// Some come late by up to a tenth of the window, some have no time, and some any time.
func loadedStream(rng *rand.Rand, n, live int, p *TimedParams) *timedStream {
	s := &timedStream{}
	now := p.Origin + 1<<(p.TickBits-2)
	for i := range n {
		d := digest.Digest{rng.Uint64(), rng.Uint64()}
		if i > 0 && rng.IntN(2) == 0 {
			back := 1 + rng.IntN(min(i, 2*live+2))
			if rng.IntN(4) == 0 {
				back = 1 + rng.IntN(min(i, 8))
			}
			d = s.digests[i-back]
		} else {
			now += p.Window/int64(live) + rng.Int64N(2)
		}
		tick := now - rng.Int64N(1+p.Window/10)*int64(rng.IntN(2))
		switch rng.IntN(100) {
		case 0:
			tick = layout.NoTick
		case 1:
			tick = int64(rng.Uint64())
		}
		s.add(d, tick, rng.Uint32N(3))
	}
	return s
}

// spareShapes have room for the time of a loadedStream within an era.
var spareShapes = []TimedParams{
	{FPBits: 40, TickBits: 45, Window: 1_000_000, Slack: 125_000},
	{FPBits: 36, PointBits: 7, TickBits: 42, Window: 1_000_000, Slack: 250_000, Origin: -1 << 41},
	{FPBits: 40, TickBits: 45, Window: 1_000_000},
}

// TestTimedSpareBatches compares batches of all sizes with calls for one element each:
// verdicts, all lines and counts, at loads from half of an element a line to eight.
func TestTimedSpareBatches(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(41, 42))
		for i, p := range spareShapes {
			for mode := range 4 {
				p.Refresh, p.Across = mode&1 != 0, mode&2 != 0 && p.PointBits > 0
				for _, halves := range []int{1, 2, 4, 5, 6, 8, 12, 16} {
					if (halves/2+mode+i)%2 != 0 && (testing.Short() || halves != 5) {
						continue
					}
					lines := []int{24, 150, 1000}[(i+mode+halves)%3]
					compareBatches(t, rng, p, lines, halves)
				}
			}
		}
	})
}

func compareBatches(t *testing.T, rng *rand.Rand, p TimedParams, lines, halves int) {
	t.Helper()
	n := 4096 + 4*lines*halves
	s := loadedStream(rng, n, max(1, lines*halves/2), &p)
	one := TimedRows{make([]layout.Line, lines), make([]layout.Line, (lines+11)/12)}
	batches := TimedRows{make([]layout.Line, lines), make([]layout.Line, (lines+11)/12)}
	var c, want TimedCounts
	p.Now = layout.NoTick
	for from := 0; from < n; {
		to := min(n, from+1+rng.IntN(300)>>rng.IntN(9))
		seen, wanted := make([]uint64, bitWords(to-from)), make([]uint64, bitWords(to-from))
		TestAndSetTimed(batches, seen, s.digests[from:to], s.ticks[from:to], s.points[from:to], &p, &c)
		for i := from; i < to; i++ {
			var word [1]uint64
			TestAndSetTimed(one, word[:], s.digests[i:i+1], s.ticks[i:i+1], s.points[i:i+1], &p, &want)
			wanted[(i-from)/64] |= word[0] << ((i - from) % 64)
		}
		if !slices.Equal(seen, wanted) || c != want {
			t.Fatalf("%+v: elements %d to %d, load %d/2: verdicts or counts differ: %+v, one by one %+v", p, from, to, halves, c, want)
		}
		if !slices.Equal(batches.Lines, one.Lines) || !slices.Equal(batches.Spare, one.Spare) {
			t.Fatalf("%+v: elements %d to %d, load %d/2: lines differ", p, from, to, halves)
		}
		if s.ticks[from] != layout.NoTick {
			p.Now = s.ticks[from]
		}
		from = to
	}
	if halves >= 4 && (c.Spilled == 0 || c.Asked == 0) || halves >= 12 && c.EvictedLive == 0 {
		t.Errorf("%+v: load %d/2: counts %+v, too few for this test", p, halves, c)
	}
}

// TestTimedSpareGolden has verdicts, memory and counts of earlier versions and of all CPUs.
func TestTimedSpareGolden(t *testing.T) {
	want := []string{
		"61a04f0959b0aadf", "b430bc323daec240", "51be2ff635062313", "8f55ad3d8f138ff6",
		"7ce78ebc4e0dcd0f", "3de8eeb1aea032c1", "b0142757536a7840",
	}
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		digests := goldenStream()
		for i, p := range timedShapes {
			ticks, points := goldenTimes(len(digests), &p)
			var words []any
			for mode := range 4 {
				rows := TimedRows{make([]layout.Line, 80), make([]layout.Line, 7)}
				seen, c := make([]uint64, bitWords(len(digests))), TimedCounts{}
				p.Refresh, p.Across, p.Now, p.Slack = mode&1 != 0, mode&2 != 0, ticks[len(ticks)/3], p.Window/8
				TestAndSetTimed(rows, seen, digests, ticks, points, &p, &c)
				words = append(words, seen, rows.Lines, rows.Spare, c)
			}
			if got := goldenSum(t, words...); got != want[i] {
				t.Errorf("%+v: %q, want %q", p, got, want[i])
			}
		}
	})
}

// A cell that its line has no room for is found in the spare line, by all elements that
// share it, and is forgotten when it is too old.
func TestTimedSpare(t *testing.T) {
	p := TimedParams{FPBits: 40, TickBits: 45, Window: 100, Slack: 10, Now: 0}
	rows := TimedRows{make([]layout.Line, 2), make([]layout.Line, 1)}
	var c TimedCounts
	test := func(number uint64, tick int64) bool {
		seen := make([]uint64, 1)
		TestAndSetTimed(rows, seen, []digest.Digest{{number << 50, 0}}, []int64{tick}, nil, &p, &c)
		return seen[0] == 1
	}
	for i := range uint64(8) {
		if test(i+1, int64(i)) {
			t.Fatalf("element %d is a copy of none", i)
		}
	}
	if want := (TimedCounts{Inserted: 8, Spilled: 2, Asked: 1}); c != want {
		t.Fatalf("counts %+v, want %+v", c, want)
	}
	for _, number := range []uint64{1, 2, 3, 8} {
		if !test(number, 100) {
			t.Errorf("element %d is no copy", number)
		}
	}
	if c.Spilled != 2 || c.EvictedLive != 0 {
		t.Errorf("counts %+v: copies change nothing", c)
	}
	if test(1, 101) || !test(1, 102) {
		t.Error("a copy after the window, or none of the element that was kept last")
	}
	p.Now = 1000
	if test(2, 1000) || rows.Lines[0][7]&layout.TimedSpilled != 0 || rows.Spare[0] != (layout.Line{}) {
		t.Errorf("a spare line without cells that may have copies is not emptied: %x", rows.Spare[0])
	}
}

// One wrong time must not make live cells forgotten: Now keeps them.
func TestTimedSpareWildTime(t *testing.T) {
	for _, now := range []int64{5, layout.NoTick} {
		t.Run(fmt.Sprint("now=", now), func(t *testing.T) {
			p := TimedParams{FPBits: 40, TickBits: 45, Window: 100, Now: now}
			rows := TimedRows{make([]layout.Line, 1), make([]layout.Line, 1)}
			var c TimedCounts
			digests, ticks := []digest.Digest(nil), []int64{0, 1, 2, 3, 4, 5, 1 << 40, 50}
			for i := range ticks {
				digests = append(digests, digest.Digest{uint64(1+i%7) << 50})
			}
			seen := make([]uint64, 1)
			TestAndSetTimed(rows, seen, digests, ticks, nil, &p, &c)
			if known := now != layout.NoTick; bits.OnesCount64(seen[0]) == 1 != known {
				t.Errorf("verdicts %b, counts %+v", seen[0], c)
			}
		})
	}
}
