// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/window"
)

// TestTrackerSamples compares a tracker of a hundredth of the elements with a tracker of
// all.
func TestTrackerSamples(t *testing.T) {
	const n, ids, limit = 300_000, 20_000, 1000
	for _, window := range []window.Window{{None: true}, {Packets: 15_000}, {Duration: 15 * time.Millisecond}} {
		random := rand.New(rand.NewPCG(4, 2))
		digests := make([]digest.Digest, ids)
		for i := range digests {
			digests[i] = digest.Digest{random.Uint64(), random.Uint64()}
		}
		all, some := NewTracker(window, false, math.MaxInt), NewTracker(window, false, limit)
		for i := range n {
			d := digests[int(math.Sqrt(random.Float64())*ids)]
			for _, tracker := range []*Tracker{all, some} {
				tracker.Add(d, int64(i)*1000)
				if len(tracker.seen) > tracker.limit {
					t.Fatalf("%d elements followed", len(tracker.seen))
				}
			}
		}
		if all.shift != 0 || some.shift == 0 {
			t.Fatalf("shares of 2^-%d and 2^-%d followed", all.shift, some.shift)
		}
		want, got := all.DistinctShare(), some.DistinctShare()
		// Some hundreds of elements are followed, so the share has an error of about 5 %.
		if math.Abs(got/want-1) > 0.25 {
			t.Errorf("%v: share of new elements %.4g, by a sample %.4g", window, want, got)
		}
		for _, q := range []float64{0.25, 0.5, 0.75} {
			want, got := all.Gaps().Quantile(q), some.Gaps().Quantile(q)
			if math.Abs(math.Log2(got/want)) > 0.5 { // two bins
				t.Errorf("%v: %g of the gaps within %g, by a sample within %g", window, q, want, got)
			}
		}
	}
}

// TestTrackerWindows compares repeats with the definition of each window.
func TestTrackerWindows(t *testing.T) {
	a, b := digest.Digest{8}, digest.Digest{16}
	type event struct {
		d  digest.Digest
		at int64
	}
	ms := int64(time.Millisecond)
	stream := []event{{a, 0}, {b, ms}, {a, 9 * ms}, {b, 12 * ms}, {a, 21 * ms}, {a, calendar.NoTime}}
	for _, c := range []struct {
		window   window.Window
		landmark bool
		repeats  float64
		elements uint64
	}{
		{window.Window{None: true}, false, 4, 6},
		{window.Window{Duration: 10 * time.Millisecond}, false, 1, 5},
		{window.Window{Duration: 12 * time.Millisecond}, false, 3, 5},
		{window.Window{Duration: 10 * time.Millisecond}, true, 1, 5},
		{window.Window{Duration: 30 * time.Millisecond}, true, 3, 5},
		{window.Window{Packets: 1}, false, 1, 6},
		{window.Window{Packets: 2}, false, 4, 6},
		{window.Window{Packets: 3}, true, 2, 6},
	} {
		tracker := NewTracker(c.window, c.landmark, 100)
		for _, e := range stream {
			tracker.Add(e.d, e.at)
		}
		if tracker.repeats != c.repeats || tracker.position != c.elements {
			t.Errorf("%v, landmark %v: %g repeats of %d elements, want %g of %d",
				c.window, c.landmark, tracker.repeats, tracker.position, c.repeats, c.elements)
		}
	}
}

// TestPeak counts the elements of windows of 8 units.
func TestPeak(t *testing.T) {
	for _, c := range []struct {
		name     string
		landmark bool
		times    []int64
		want     uint64
	}{
		{"nothing", false, nil, 0},
		{"a window", false, []int64{0, 1, 7}, 3},
		{"moves on", false, []int64{0, 1, 7, 8, 9, 10}, 4},
		{"far apart", false, []int64{0, 0, 100, 200}, 2},
		{"before 1970", false, []int64{-9, -8, -2, -1, 0}, 3},
		{"late", false, []int64{5, 3, 4}, 3},
		{"a wild clock", false, []int64{0, math.MaxInt64, 1, math.MinInt64 + 1, 2, 3}, 4},
		{"a clock that was set", false, slices.Concat([]int64{0, 1, 2}, repeat(-1e15, calendar.Quorum+2)), calendar.Quorum + 2},
		{"set at the end", false, slices.Concat([]int64{0, 1, 2}, repeat(1e15, 5)), 5},
		{"aligned", true, []int64{6, 7, 8, 9, 10}, 3},
	} {
		p := newPeak(window.Window{Duration: 8}, c.landmark)
		for _, at := range c.times {
			p.add(at)
		}
		p.finish()
		if p.highest != c.want {
			t.Errorf("%s: %d elements, want %d", c.name, p.highest, c.want)
		}
	}
	p := newPeak(window.Window{None: true}, false)
	p.add(calendar.NoTime)
	p.add(5)
	if p.highest != 2 {
		t.Errorf("without a window: %d elements", p.highest)
	}
}

// repeat returns n times the same instant.
func repeat(at int64, n int) []int64 { return slices.Repeat([]int64{at}, n) }

// TestSpan measures streams with false times, which must not count.
func TestSpan(t *testing.T) {
	const s, year = int64(time.Second), int64(8766 * time.Hour)
	steady := func(from int64, n int) (times []int64) {
		for i := range int64(n) {
			times = append(times, from+i*s)
		}
		return times
	}
	for _, c := range []struct {
		name  string
		times []int64
		want  float64
	}{
		{"nothing", nil, 0},
		{"no time", []int64{calendar.NoTime, 0, calendar.NoTime, 9 * s}, 9},
		{"in order", steady(50*year, 100), 99},
		{"a false time among others", slices.Concat(steady(50*year, 50), []int64{0}, steady(50*year+50*s, 50)), 99},
		{"a false time first", slices.Concat([]int64{0}, steady(50*year, 100)), 99},
		{"a false time last", slices.Concat(steady(50*year, 100), []int64{math.MaxInt64 - 1}), 99},
		{"a false time first of few", slices.Concat([]int64{0}, steady(50*year, 10)), 9},
		{"a false time last of few", slices.Concat(steady(50*year, 10), []int64{0}), 9},
		{"two packets", []int64{0, year}, float64(year / s)},
		{"a pause", slices.Concat(steady(0, 100), steady(year, 100)), float64(year/s) + 99},
		{"a clock that was set back", slices.Concat(steady(year, 100), steady(0, 100)), float64(year/s) + 99},
	} {
		m := NewTimeSpan()
		for _, at := range c.times {
			m.Add(at)
		}
		m.Finish()
		if got := m.Seconds(); math.Abs(got-c.want) > 1e-3 {
			t.Errorf("%s: %g s, want %g", c.name, got, c.want)
		}
	}
}
