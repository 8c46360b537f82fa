// SPDX-License-Identifier: Apache-2.0

package window

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // zones are needed on machines without them, too

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/internal/check"
)

// parted is a filter behind Landmarks.
type parted struct {
	engine.PacketFilter
	landmarks *Landmarks
}

func (p *parted) TestAndSet(seen []uint64, d []digest.Digest, times []int64, points []uint32) {
	d = slices.Clone(d)
	p.landmarks.Part(d, times, nil)
	p.PacketFilter.TestAndSet(seen, d, times, points)
}

// inLandmarks makes filters of all kinds find copies in landmark windows.
func inLandmarks(t *testing.T, w Window, zone *time.Location) map[string]*parted {
	t.Helper()
	all := map[string]*parted{}
	add := func(name string, of func(Window) (engine.PacketFilter, error)) {
		l, err := NewLandmarks(w, zone)
		if err != nil {
			t.Fatal(err)
		}
		f, err := of(l.Span())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		all[name] = &parted{f, l}
	}
	add("exact", func(w Window) (engine.PacketFilter, error) { return NewExact(ExactConfig{Window: w}) })
	add("timed", func(w Window) (engine.PacketFilter, error) {
		return NewTimed(TimedConfig{Window: w, Memory: 1 << 20, Limit: 64 << 20})
	})
	for _, fine := range []bool{true, false} {
		add(fmt.Sprintf("coarse, fine %v", fine), func(w Window) (engine.PacketFilter, error) {
			return NewCoarse(CoarseConfig{Window: w, Fine: fine, Memory: 1 << 20, Limit: 64 << 20})
		})
	}
	return all
}

// landmarkVerdicts are the copies, by a plain map of the windows' contents.
func landmarkVerdicts(s *check.Packets, w Window, zone *time.Location) (copies []bool) {
	type key struct {
		window int64
		digest digest.Digest
	}
	seen := map[key]bool{}
	windows := calendar.Calendar{Every: w.Duration, Location: zone}
	for i, at := range s.Times {
		k := key{int64(i) / max(1, w.Packets), s.Digests[i]}
		if w.Packets == 0 {
			k.window, _ = windows.Window(at)
		}
		judged := w.Packets > 0 || at != calendar.NoTime
		copies = append(copies, judged && seen[k])
		seen[k] = seen[k] || judged
	}
	return copies
}

// TestLandmarks compares filters of all kinds with a plain map: elements out of order by up
// to a tenth of a window, so that many come late for theirs, elements right at boundaries,
// where clocks change, elements without a time, and clocks that are wrong by any amount.
func TestLandmarks(t *testing.T) {
	for _, c := range []struct {
		window, zone, begin string
		step                time.Duration // from one element to the next
		wild                bool
	}{
		{"landmark:1ms", "UTC", "2024-05-06T07:08:09.9983Z", 300 * time.Nanosecond, false},
		{"landmark:1h", "UTC", "2024-05-06T07:08:09Z", time.Second, true},
		{"landmark:7s", "America/New_York", "1969-12-31T23:59:00Z", 3 * time.Millisecond, true},
		{"landmark:1h", "Europe/Berlin", "2024-10-26T23:10:00Z", time.Second, false},
		{"landmark:24h", "Europe/Berlin", "2024-10-25T12:00:00Z", 20 * time.Second, true},
		{"landmark:24h", "Europe/Berlin", "2024-03-29T12:00:00Z", 20 * time.Second, true},
		{"landmark:168h", "Australia/Lord_Howe", "2024-03-29T12:00:00Z", 3 * time.Minute, true},
		{"landmark:n:1000", "UTC", "2024-05-06T07:08:09Z", time.Second, true},
		{"landmark:n:1", "UTC", "2024-05-06T07:08:09Z", time.Second, false},
		{"landmark:n:7777", "UTC", "2024-05-06T07:08:09Z", time.Second, false},
	} {
		t.Run(c.window+" "+c.zone, func(t *testing.T) {
			w := mustWindow(t, c.window)
			zone, err := time.LoadLocation(c.zone)
			if err != nil {
				t.Fatal(err)
			}
			begin, err := time.Parse(time.RFC3339Nano, c.begin)
			if err != nil {
				t.Fatal(err)
			}
			s := landmarkStream(w, zone, begin.UnixNano(), c.step, c.wild)
			want := landmarkVerdicts(s, w, zone)
			for name, f := range inLandmarks(t, w, zone) {
				missed := 0
				for i, got := range s.Verdicts(f, 777) {
					if want[i] && !got && c.wild && strings.HasPrefix(name, "coarse") {
						missed++ // their times wrap around, so that wrong ones cost others some copies
					} else if got != want[i] {
						t.Fatalf("%s: element %d at %s: copy %v, want %v", name, i, time.Unix(0, s.Times[i]).In(zone), got, want[i])
					}
				}
				if n := f.Stats(); n.EvictedLive > 0 || missed > len(want)/100 {
					t.Errorf("%s: %d evicted, %d copies missed", name, n.EvictedLive, missed)
				}
			}
		})
	}
}

// landmarkStream returns elements of which most have come before, within a window or two.
func landmarkStream(w Window, zone *time.Location, begin int64, step time.Duration, wild bool) *check.Packets {
	const n, back = 20_000, 6000
	rng := rand.New(rand.NewPCG(40, uint64(begin)))
	windows := calendar.Calendar{Every: w.Duration, Location: zone}
	s := &check.Packets{}
	for i := range n {
		d := digest.Digest{rng.Uint64(), rng.Uint64()}
		if i > back && rng.IntN(10) != 0 {
			d = s.Digests[i-1-rng.IntN(back)]
		}
		at := begin + int64(i)*int64(step)
		at -= rng.Int64N(int64(w.Duration)/10 + 1)
		if start, end := windows.Window(at); w.Duration > 0 && rng.IntN(20) == 0 && end-at < int64(w.Duration)/50 {
			at = []int64{end - 1, end}[rng.IntN(2)]
		} else if w.Duration > 0 && rng.IntN(20) == 0 && at-start < int64(w.Duration)/50 {
			at = []int64{start, start - 1}[rng.IntN(2)]
		}
		switch {
		case !wild:
		case rng.IntN(50) == 0:
			at = calendar.NoTime
		case rng.IntN(50) == 0:
			at = []int64{math.MaxInt64, math.MaxInt64 - 1, math.MinInt64 + 1, 0, int64(rng.Uint64())}[rng.IntN(5)]
		}
		s.Add(d, at, 0)
	}
	return s
}

// TestLandmarksLate has elements that come so late that a filter of bounded memory may have
// forgotten their window. The ones that stay are counted.
func TestLandmarksLate(t *testing.T) {
	f := inLandmarks(t, Window{Duration: time.Hour, Landmark: true}, nil)["timed"]
	s := &check.Packets{}
	const elements, hour = 400_000, 133_334 // the number of the first one of each hour is a multiple of that
	for i := range uint64(elements) {
		s.Add(digest.Digest{i * 0x9e3779b97f4a7c15, i * 0xd6e8feb86659fd93}, int64(i)*int64(time.Hour)/hour, 0)
	}
	var want []bool
	late := func(original, at int, isCopy bool) {
		s.Add(s.Digests[original], s.Times[at], 0)
		want = append(want, isCopy)
	}
	late(7, 7, false)                  // three hours late
	late(elements-9, elements-9, true) // just in time
	late(2*hour+9, 2*hour+9, true)     // an hour late, and its window is kept
	late(2*hour-9, 2*hour+9, false)    // an hour late, and equal to one of another window
	late(2*hour-9, elements-9, true)   // in time, and equal to the one before
	got := s.Verdicts(f, 1000)[elements:]
	if n := f.Stats().Late; !slices.Equal(got, want) || n.Elements != 2 || n.First != elements+1 {
		t.Errorf("copies %v, want %v; late: %+v", got, want, n)
	}
}

// TestLandmarksResume cuts a stream of which some elements do not count.
func TestLandmarksResume(t *testing.T) {
	w := Window{Packets: 100, Landmark: true}
	whole, first := newLandmarks(t, w), newLandmarks(t, w)
	d, times, counted := make([]digest.Digest, 1000), make([]int64, 1000), make([]uint64, 16)
	for i := range counted {
		counted[i] = 0x5555555555555555
	}
	want := slices.Clone(d)
	whole.Part(want, times, counted)
	first.Part(d[:320], times, counted)
	second := newLandmarks(t, w)
	if err := second.Resume(first.Position()); err != nil {
		t.Fatal(err)
	}
	second.Part(d[320:], times, counted[5:])
	if !slices.Equal(d, want) || whole.Position() != 500 || second.Position() != 500 {
		t.Errorf("positions %d, %d; equal %v", whole.Position(), second.Position(), slices.Equal(d, want))
	}
	if distinct := slices.Compact(d); len(distinct) != 6 { // the last element does not count
		t.Errorf("%d windows, want 6", len(distinct))
	}
	if err := second.Resume(1 << 63); !errors.Is(err, engine.ErrWindow) {
		t.Error(err)
	}
}

func newLandmarks(t *testing.T, w Window) *Landmarks {
	t.Helper()
	l, err := NewLandmarks(w, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLandmarksRefused(t *testing.T) {
	for _, w := range []Window{{}, {Landmark: true}, {None: true, Landmark: true}, {Duration: time.Hour}, {Duration: -1, Landmark: true}, {Packets: 1, Duration: 1, Landmark: true}} {
		if _, err := NewLandmarks(w, nil); !errors.Is(err, engine.ErrWindow) {
			t.Errorf("%+v: %v", w, err)
		}
	}
}
