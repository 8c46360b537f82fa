// SPDX-License-Identifier: Apache-2.0

package window

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/engine/theory"
	"github.com/flowdedup/flowdedup/layout"
)

// uniquePackets are packets without copies, one at every interval.
func uniquePackets(n int, interval int64) *check.Packets {
	rng := rand.New(rand.NewPCG(16, 16))
	s := &check.Packets{}
	for i := range n {
		s.Add(digest.Digest{rng.Uint64(), rng.Uint64()}, int64(i)*interval, 0)
	}
	return s
}

func TestDemandPeak(t *testing.T) {
	for _, c := range []struct {
		window   string
		interval int64
		low      uint64 // elements in a window
	}{
		{"1ms", 1000, 1000}, {"1ms", 10, 20_000}, {"1s", 1_000_000, 1000}, {"1ms", 2_000_000, 1},
		{"n:500", 0, 500}, {"none", 5, 20_000}, {"3ns", 1, 3},
	} {
		f := newTimed(t, TimedConfig{Window: mustWindow(t, c.window), Memory: 1 << 12})
		s := uniquePackets(20_000, c.interval)
		s.Verdicts(f, 512)
		high := c.low + c.low/8 + windowSlices + (clockSamples/2+2)*groupElements
		if got := f.workingSet.highest(); got < c.low || got > high {
			t.Errorf("window %s, every %d ns: peak %d, want %d to %d", c.window, c.interval, got, c.low, high)
		}
	}
}

func TestDemandSurvivesJumps(t *testing.T) {
	m := newWorkingSet(800, 64)
	ticks := make([]int64, 64)
	for round := range 20 {
		for i := range ticks {
			ticks[i] = int64(round*64 + i)
		}
		if round == 10 {
			ticks[5], ticks[7], ticks[9], ticks[11] = math.MaxInt64, math.MinInt64+1, layout.NoTick, math.MaxInt64
		}
		m.observe([]uint64{1}, ticks, false)
	}
	if m.peak < 500 || m.peak > 1000 {
		t.Errorf("peak %d, want 63 of 64 ticks in about 800", m.peak)
	}
}

// TestDemandLate counts elements that are late by less than a window with the others.
func TestDemandLate(t *testing.T) {
	m := newWorkingSet(800, 64)
	ticks := make([]int64, 64)
	for round := range 20 {
		for i := range ticks {
			ticks[i] = int64(round*64+i) - int64(round%2*400)
		}
		m.observe([]uint64{0}, ticks, false)
	}
	if m.peak < 700 || m.peak > 1200 {
		t.Errorf("peak %d, want some 800 in order, and the late elements", m.peak)
	}
}

func TestSuggestedMemoryIsEnough(t *testing.T) {
	for _, c := range []struct {
		window string
		live   float64
		cells  int
	}{
		{"1ms", 3333, layout.TimedCells}, {"n:3000", 3000, layout.TimedCells}, {"none", 50_000, layout.TimedCells},
		{"1ms", 3333, layout.CoarseCells}, {"n:3000", 3000, layout.CoarseCells},
	} {
		filter := func(w Window, memory int) engine.PacketFilter {
			if c.cells == layout.TimedCells {
				return newTimed(t, TimedConfig{Window: w, Memory: memory})
			}
			return newCoarse(t, CoarseConfig{Window: w, Memory: memory})
		}
		s := uniquePackets(50_000, 300)
		w := mustWindow(t, c.window)
		small := filter(w, 10*layout.LineSize)
		s.Verdicts(small, 512)
		st := small.Stats()
		big := filter(w, st.SuggestedMemory)
		s.Verdicts(big, 512)
		if after := big.Stats(); st.EvictedLive == 0 || after.EvictedLive > 3 {
			t.Errorf("window %s, %s: %d forgotten in %d bytes, %d in the suggested %d",
				c.window, st.Method, st.EvictedLive, st.MemoryBytes, after.EvictedLive, after.MemoryBytes)
		} else if fill := c.live / float64(c.cells*after.MemoryBytes/layout.LineSize); st.Fill != 1 || math.Abs(after.Fill/fill-1) > 0.1 {
			t.Errorf("window %s, %s: %v and %v are filled, want 1 and %v", c.window, st.Method, st.Fill, after.Fill, fill)
		}
	}
}

// TestNearTick compares times that have only some bits: a window before now, and after.
func TestNearTick(t *testing.T) {
	p := line.TimedParams{Window: 100, TickBits: 10}
	for _, now := range []int64{-3, 0, 5, 500, 1023, 5000} {
		for distance, near := range map[int64]bool{-101: false, -100: true, 0: true, 100: true, 101: false} {
			if nearTick(uint64(now+distance)&(1<<p.TickBits-1), now, &p) != near {
				t.Errorf("at %d: %d is near: %v", now, now+distance, !near)
			}
		}
	}
}

func TestSpareLoad(t *testing.T) {
	for mean, want := range map[float64]float64{0.25: 2.7e-7, 0.5: 1.42e-5, 1: 5.94e-4, 1.5: 4.46e-3, 3: 8.39e-2} {
		if got := theory.PoissonTail(layout.TimedCells, mean); math.Abs(got/want-1) > 0.02 {
			t.Errorf("P(Poisson(%v) >= 6) = %.3g, documented as %v", mean, got, want)
		}
	}
	for inserted, want := range map[uint64]float64{0: 3, 100: 1.75, 10_000: 0.69, 1 << 40: 0.25} {
		if got := spareLoad(inserted, layout.TimedCells); math.Abs(got-want) > 0.1 {
			t.Errorf("spareLoad(%d) = %v, want about %v", inserted, got, want)
		}
	}
}
