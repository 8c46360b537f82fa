package engine

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// packetStream is input for packet filters.
type packetStream struct {
	digests []asm.Digest
	times   []int64
	points  []uint32
}

func (s *packetStream) add(d asm.Digest, t int64, point uint32) {
	s.digests = append(s.digests, d)
	s.times = append(s.times, t)
	s.points = append(s.points, point)
}

// round makes times multiples of unit, as times of files with a coarser clock
// are: then ticks of that length lose nothing.
func (s *packetStream) round(unit int64) {
	for i, t := range s.times {
		if t != calendar.NoTime {
			s.times[i] = t - t%unit
		}
	}
}

// verdicts runs the stream through f in batches of the given size.
func (s *packetStream) verdicts(f PacketFilter, batch int) []bool {
	out := make([]bool, 0, len(s.digests))
	seen := make([]uint64, (batch+63)/64)
	for from := 0; from < len(s.digests); from += batch {
		to := min(from+batch, len(s.digests))
		for i := range seen {
			seen[i] = 0x5555555555555555
		}
		f.TestAndSet(seen, s.digests[from:to], s.times[from:to], s.points[from:to])
		for i := range to - from {
			out = append(out, seen[i/64]>>(i%64)&1 == 1)
		}
	}
	return out
}

// clock makes the times of a random stream.
type clock func(rng *rand.Rand, now int64) int64

// clocks are the ways of time, for a window of the given size. None steps
// back by more than the window while it runs out of order.
func clocks(window int64) map[string]clock {
	return map[string]clock{
		"in order": func(rng *rand.Rand, now int64) int64 { return now + rng.Int64N(window/20+2) },
		"out of order": func(rng *rand.Rand, now int64) int64 {
			return now + rng.Int64N(window/5+2) - window/12
		},
		"jumps": func(rng *rand.Rand, now int64) int64 {
			if rng.IntN(300) == 0 { // to stay, as when a clock is set
				return now + rng.Int64N(int64(1e12)) - 5e11
			}
			return now + rng.Int64N(window/20+2)
		},
		"slow": func(rng *rand.Rand, now int64) int64 { return now + rng.Int64N(10*window) },
	}
}

// randomPackets makes a stream in which a third of the packets repeat one of
// the last 40, every hundredth has no time, and one beacon is constant.
func randomPackets(seed uint64, n int, next clock) *packetStream {
	rng := rand.New(rand.NewPCG(seed, 1))
	s := &packetStream{}
	now := int64(1_700_000_000_000_000_000)
	for i := range n {
		now = next(rng, now)
		d := asm.Digest{rng.Uint64(), rng.Uint64()}
		switch {
		case i > 40 && rng.IntN(3) == 0:
			d = s.digests[i-1-rng.IntN(40)]
		case i%50 == 0:
			d = asm.Digest{1, 1}
		}
		t := now
		if rng.IntN(100) == 0 {
			t = calendar.NoTime
		}
		s.add(d, t, uint32(rng.IntN(3)))
	}
	return s
}

func newTimed(t testing.TB, cfg TimedConfig) *Timed {
	t.Helper()
	f, err := NewTimed(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func newExact(t testing.TB, cfg TimedConfig) *ExactWindow {
	t.Helper()
	f, err := NewExactWindow(ExactWindowConfig{Window: cfg.Window, Refresh: cfg.Refresh, Across: cfg.Across, Memory: cfg.Memory})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// window reads a window that is known to be right.
func window(t testing.TB, text string) Window {
	t.Helper()
	w, err := ParseWindow(text)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// eachMode runs f with and without Refresh and Across.
func eachMode(t *testing.T, f func(t *testing.T, refresh, across bool)) {
	for mode := range 4 {
		refresh, across := mode&1 != 0, mode&2 != 0
		t.Run(fmt.Sprintf("refresh=%v/across=%v", refresh, across), func(t *testing.T) {
			f(t, refresh, across)
		})
	}
}

// ticking is what checkTwins must know of a filter's: how much later than the
// window's edge a copy may be, and after how long times repeat (0: never).
type ticking struct{ slack, period uint64 }

// tickingOf returns that of a filter of timed rows.
func tickingOf(f *Timed) ticking {
	c := ticking{slack: 2 * f.tick.by}
	if f.tick.by == 1 {
		c.slack = 0
	}
	if over, period := bits.Mul64(f.tick.by, 1<<f.params.TickBits); over == 0 {
		c.period = period
	}
	return c
}

// distance returns how far apart times are, the shortest way round.
func (c ticking) distance(a, b int64) uint64 {
	d := uint64(max(a, b)) - uint64(min(a, b))
	if c.period == 0 {
		return d
	}
	return min(d%c.period, c.period-d%c.period)
}

// checkTwins fails unless every removed packet has a kept one of the same
// digest, and of another point if across, within the window by the clock.
func checkTwins(t *testing.T, s *packetStream, removed []bool, w Window, across bool, c ticking) {
	t.Helper()
	type place struct {
		position int
		point    uint32
	}
	kept := map[asm.Digest][]place{}
	for i, d := range s.digests {
		if !removed[i] {
			kept[d] = append(kept[d], place{i, s.points[i]})
			continue
		}
		found := false
		for _, k := range kept[d] {
			a, b := s.times[k.position], s.times[i]
			near := a != calendar.NoTime && b != calendar.NoTime && c.distance(a, b) <= uint64(w.Duration)+c.slack
			if w.Packets > 0 {
				near = uint64(i-k.position) <= uint64(w.Packets)+c.slack
			}
			if (near || w.None) && !(across && k.point == s.points[i]) {
				found = true
			}
		}
		if !found {
			t.Fatalf("packet %d was removed without a kept twin", i)
		}
	}
}
