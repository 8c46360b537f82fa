package window

import (
	"fmt"
	"math/bits"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/internal/check"
)

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

func newExact(t testing.TB, cfg TimedConfig) *Exact {
	t.Helper()
	f, err := NewExact(ExactConfig{Window: cfg.Window, Refresh: cfg.Refresh, Across: cfg.Across, Memory: cfg.Memory})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// window reads a window that is known to be right.
func mustWindow(t testing.TB, text string) Window {
	t.Helper()
	w, err := Parse(text)
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
func checkTwins(t *testing.T, s *check.Packets, removed []bool, w Window, across bool, c ticking) {
	t.Helper()
	type place struct {
		position int
		point    uint32
	}
	kept := map[digest.Digest][]place{}
	for i, d := range s.Digests {
		if !removed[i] {
			kept[d] = append(kept[d], place{i, s.Points[i]})
			continue
		}
		found := false
		for _, k := range kept[d] {
			a, b := s.Times[k.position], s.Times[i]
			near := a != calendar.NoTime && b != calendar.NoTime && c.distance(a, b) <= uint64(w.Duration)+c.slack
			if w.Packets > 0 {
				near = uint64(i-k.position) <= uint64(w.Packets)+c.slack
			}
			if (near || w.None) && !(across && k.point == s.Points[i]) {
				found = true
			}
		}
		if !found {
			t.Fatalf("packet %d was removed without a kept twin", i)
		}
	}
}
