// SPDX-License-Identifier: Apache-2.0

package window

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/layout"
)

func TestWindowSemantics(t *testing.T) {
	ms := func(times ...float64) (out []int64) {
		for _, at := range times {
			out = append(out, int64(at*1e6))
		}
		return out
	}
	beacon := func(every float64, n int) (times []float64) {
		for i := range n {
			times = append(times, every*float64(i))
		}
		return times
	}
	same := []uint32{0, 0, 0, 0, 0, 0, 0}
	for _, c := range []struct {
		name    string
		window  string
		times   []int64
		points  []uint32
		refresh bool
		across  bool
		want    string // c is a copy, k is kept
	}{
		{"beacon at 0.9 W keeps every second", "1ms", ms(beacon(0.9, 7)...), same, false, false, "kckckck"},
		{"beacon at 0.4 W keeps every third", "1ms", ms(beacon(0.4, 7)...), same, false, false, "kcckcck"},
		{"a sliding window silences the beacon", "1ms", ms(beacon(0.9, 7)...), same, true, false, "kcccccc"},
		{"a sliding window ends after silence", "1ms", ms(0, 0.9, 1.8, 2.9, 3.9, 5), same, true, false, "kcckck"},
		{"the edge belongs to the window", "1ms", ms(0, 1, 2, 3.001), same, false, false, "kckk"},
		{"before counts like after", "1ms", ms(5, 4, 3.999, 4.999), same, false, false, "kckc"},
		{"the latest kept counts", "1ms", ms(10, 5, 10.5), same, false, false, "kkk"},
		{"sliding keeps the later time", "1ms", ms(1, 0, 1.9, 2.95), same, true, false, "kcck"},
		{"without a time never a copy", "1ms", []int64{calendar.NoTime, calendar.NoTime, 0, calendar.NoTime, 1}, same, false, false, "kkkkc"},
		{"a count window needs no times", "n:2", []int64{calendar.NoTime, calendar.NoTime, 5, calendar.NoTime, 1}, same, false, false, "kcckc"},
		{"without a window time does not matter", "none", []int64{calendar.NoTime, 9e18, -9e18, 0}, same, false, false, "kccc"},
		{"across: repeats at one point stay", "1ms", ms(0, 0.1, 0.2, 0.3), []uint32{1, 1, 1, 1}, false, true, "kkkk"},
		{"across: another point's copy goes", "1ms", ms(0, 0.1, 0.2, 0.3), []uint32{1, 2, 2, 1}, false, true, "kcck"},
		{"across: each repeat has its copy", "1ms", ms(0, 0.1, 0.2, 0.3), []uint32{1, 2, 1, 2}, false, true, "kckc"},
		{"across: too late for the other point", "1ms", ms(0, 1.1, 1.2, 2.3), []uint32{1, 2, 1, 1}, false, true, "kkck"},
		{"across and sliding: the point stays", "1ms", ms(0, 0.9, 1.8, 2.7), []uint32{1, 2, 1, 2}, true, true, "kckc"},
		{"across: points that meet are one point", "1ms", ms(0, 0.1), []uint32{255, 255}, false, true, "kk"},
	} {
		cfg := TimedConfig{Window: mustWindow(t, c.window), Memory: 64, Refresh: c.refresh, Across: c.across}
		s := &check.Packets{}
		for i, at := range c.times {
			s.Add(digest.Digest{3, 4}, at, c.points[i])
		}
		for _, f := range []engine.PacketFilter{newTimed(t, cfg), newExact(t, cfg)} {
			got := ""
			for _, isCopy := range s.Verdicts(f, 64) {
				got += map[bool]string{true: "c", false: "k"}[isCopy]
			}
			if got != c.want {
				t.Errorf("%s, %T: %s, want %s", c.name, f, got, c.want)
			}
		}
	}
}

func TestTimedEdge(t *testing.T) {
	for _, c := range []struct {
		window time.Duration
		across bool
		beyond int64 // ns after the edge where nothing may be a copy any more
	}{
		{1, false, 1}, {time.Microsecond, false, 1}, {time.Millisecond, false, 1},
		{4194304, false, 4}, {262144, true, 1}, {time.Millisecond, true, 1},
		{5 * time.Millisecond, false, 5}, {time.Second, false, 256}, {time.Hour, false, 1e6},
		{24 * time.Hour, true, 1e9}, {999999937, false, 1000}, {999999937, true, 8000},
	} {
		f := newTimed(t, TimedConfig{Window: Window{Duration: c.window}, Memory: 1 << 20, Across: c.across})
		rng := rand.New(rand.NewPCG(4, 4))
		s := &check.Packets{}
		for i := range uint64(500) {
			at := 1_700_000_000_000_000_000 + rng.Int64N(int64(time.Minute)) // of one era
			d := digest.Digest{i * 0x9e3779b97f4a7c15, i * 0xbf58476d1ce4e5b9}
			after := int64(c.window)
			if i%2 == 1 {
				after += c.beyond
			}
			if i%4 >= 2 {
				after = -after
			}
			s.Add(d, at, 1)
			s.Add(d, at+after, 2)
		}
		for i, isCopy := range s.Verdicts(f, 1000) {
			if want := i%4 == 1; isCopy != want {
				t.Fatalf("window %v, across %v: packet %d: copy %v, want %v", c.window, c.across, i, isCopy, want)
			}
		}
	}
}

// TestWildTimes puts packets of other times into the line of a packet: they must not make
// the filter forget it.
func TestWildTimes(t *testing.T) {
	const year = 365 * 24 * int64(time.Hour)
	f := newTimed(t, TimedConfig{Window: Window{Duration: Default}, Memory: layout.LineSize})
	s := &check.Packets{}
	s.Add(digest.Digest{1 << 60, 1}, 0, 0)
	for i, wild := range []int64{year, -3 * year, 42, 200 * year} {
		s.Add(digest.Digest{uint64(i+2) << 60, 1}, wild, 0)
	}
	s.Add(digest.Digest{1 << 60, 1}, 500_000, 0)
	want := []bool{false, false, false, false, false, true}
	if got := s.Verdicts(f, 64); !slices.Equal(got, want) {
		t.Errorf("verdicts %v, want %v", got, want)
	}
	if st := f.Stats(); st.EvictedLive != 0 || st.SuggestedMemory != 0 {
		t.Errorf("forgotten: %+v", st)
	}
}

// TestEras has equal packets as far apart as times repeat, and on both sides of the
// border of two eras: the first must stay, and copies within the window go.
func TestEras(t *testing.T) {
	for _, across := range []bool{false, true} {
		for _, w := range []time.Duration{time.Microsecond, time.Millisecond, time.Second, 24 * time.Hour} {
			f := newTimed(t, TimedConfig{Window: Window{Duration: w}, Memory: 1 << 16, Across: across})
			repeat := int64(f.tick.by) << f.params.TickBits
			half := int64(f.tick.by) << (f.params.TickBits - 2) // an era, from its middle
			s := &check.Packets{}
			d := digest.Digest{1 << 60, 1}
			first := 1_700_000_000_000_000_000 / int64(f.tick.by) * int64(f.tick.by)
			for i, after := range []int64{0, repeat, 2 * repeat, half - 1, half - int64(w), half + 1, half + int64(w)} {
				s.Add(d, first+after, uint32(i))
			}
			want := []bool{false, false, false, false, true, true, false}
			if got := s.Verdicts(f, 64); !slices.Equal(got, want) {
				t.Errorf("window %v, across %v: verdicts %v, want %v", w, across, got, want)
			}
		}
	}
}

// mustWindow parses a mustWindow that is known to be valid.
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

// ticking is the properties of a filter that checkTwins needs: by how much a copy may
// exceed the window, and the period after which times repeat (0: never).
type ticking struct{ slack, period uint64 }

// tickingOf returns the ticking of a filter of timed rows.
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

// distance returns the distance of times, the shortest way round.
func (c ticking) distance(a, b int64) uint64 {
	d := uint64(max(a, b)) - uint64(min(a, b))
	if c.period == 0 {
		return d
	}
	return min(d%c.period, c.period-d%c.period)
}

// checkTwins fails unless every removed packet has a kept one of the same digest, and of
// another point if across, within the window by the clock.
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
