// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/distinct"
	"github.com/flowdedup/flowdedup/engine/distinct/top"
)

// reported is a Counter's output for one family of a window, and its saved contents.
type reported struct {
	start    int64
	count    Count
	words    []uint64
	sketched bool
	total    bool
}

// reportsOf counts packets in batches of random sizes, and returns all output of the family
// "ipv4".
func reportsOf(t *testing.T, cfg Config, packets []packet, seed uint64) (all []reported) {
	t.Helper()
	cfg.Keys, cfg.FPR = hostAndFlow, 1e-9
	note := func(total bool) func(start, end int64, counts []Count) error {
		return func(start, _ int64, counts []Count) error {
			for _, n := range counts {
				if n.Family == "ipv4" || n.Top != nil {
					all = append(all, reported{start: start, count: n, total: total})
				}
			}
			return nil
		}
	}
	cfg.Emit = note(false)
	if cfg.Total != nil {
		cfg.Total = note(true)
	}
	type saved struct {
		start int64
		reported
	}
	var kept []saved
	if cfg.Save != nil {
		cfg.Save = func(start, _ int64, series []SavedSeries) error {
			for _, s := range series {
				one := saved{start, reported{sketched: s.Sketch != nil, count: Count{Key: s.Key}}}
				if s.Sketch == nil {
					one.words = slices.Collect(s.Words)
				} else {
					one.count.Distinct = s.Sketch.Estimate().Distinct
				}
				if s.Family == "ipv4" {
					kept = append(kept, one)
				}
			}
			return nil
		}
	}
	c := New(&cfg)
	b, rng := c.NewBatch(), rand.New(rand.NewPCG(seed, 8))
	for len(packets) > 0 {
		n := min(1+rng.IntN(3000), len(packets))
		fill(b, packets[:n])
		if err := c.Count(b, nil); err != nil {
			t.Fatal(err)
		}
		packets = packets[n:]
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for _, one := range kept {
		at := slices.IndexFunc(all, func(o reported) bool { return o.start == one.start && o.count.Key == one.count.Key && !o.total })
		all[at].words, all[at].sketched = one.words, one.sketched
		if one.sketched && all[at].count.Distinct != one.count.Distinct {
			t.Errorf("saved a sketch of %d, counted %d", one.count.Distinct, all[at].count.Distinct)
		}
	}
	return all
}

// TestCompare compares totals, changes and saved contents with sets, for exact counters,
// counters that fall back to sketches, samples, and sketches.
func TestCompare(t *testing.T) {
	n := 120_000
	if testing.Short() {
		n = 60_000
	}
	packets := newPackets(n, 1e18, 200*time.Millisecond)
	hour := calendar.Calendar{Every: time.Hour}
	for name, c := range map[string]struct {
		cfg          Config
		exact, saves bool
	}{
		"rows":   {Config{Method: methodAuto}, true, true},
		"exact":  {Config{Method: methodExact}, true, false},
		"sketch": {Config{Method: methodSketch}, false, true},
		"limit":  {Config{Method: methodAuto, SetLimit: 1500}, false, true},
		"budget": {Config{Method: methodAuto, Budget: 6 << 20}, false, true},
		"lru":    {Config{Method: methodLRU, Memory: 1 << 22}, false, false},
		"sample": {Config{Method: methodAuto, Budget: 6 << 20}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := c.cfg
			cfg.Calendar, cfg.Changes = hour, cfg.Method != methodLRU
			cfg.Total = func(int64, int64, []Count) error { return nil }
			if c.saves {
				cfg.Save = func(int64, int64, []SavedSeries) error { return nil }
			}
			got := reportsOf(t, cfg, packets, 1)
			if again := reportsOf(t, cfg, packets, 2); fmt.Sprint(flat(got)) != fmt.Sprint(flat(again)) {
				t.Error("what is said depends on batches")
			}
			checkReports(t, got, packets, hour, c.exact, c.saves, cfg.Changes)
		})
	}
}

// flat replaces pointers.
func flat(all []reported) (out []any) {
	for _, one := range all {
		changes := Changes{}
		if one.count.Changes != nil {
			changes = *one.count.Changes
		}
		var ranked []top.Entry
		for _, e := range one.count.Top {
			ranked = append(ranked, *e)
		}
		one.count.Changes, one.count.Top = nil, nil
		out = append(out, one, changes, ranked)
	}
	return out
}

// checkReports compares the output with sets.
func checkReports(t *testing.T, all []reported, packets []packet, windows calendar.Calendar, exact, saves, changes bool) {
	t.Helper()
	type set map[uint32]bool
	truth, total := map[int64][2]set{}, [2]set{{}, {}}
	for _, p := range packets {
		start := int64(noTime)
		if p.time != noTime {
			start, _ = windows.Window(p.time)
		}
		if truth[start][0] == nil {
			truth[start] = [2]set{{}, {}}
		}
		truth[start][0][p.host()], truth[start][1][p.flow] = true, true
		total[0][p.host()], total[1][p.flow] = true, true
	}
	before := map[string]set{}
	var missed []string
	bounds := 0
	for _, one := range all {
		key := slices.IndexFunc(hostAndFlow, func(k Key) bool { return k.Name == one.count.Key })
		want := truth[one.start][key]
		if one.total {
			want = total[key]
		}
		n := one.count
		check := func(what string, e distinct.Estimate, want int) {
			bounds++
			if e.Low > uint64(want) || uint64(want) > e.High || exact && e != distinct.Exactly(uint64(want)) {
				missed = append(missed, fmt.Sprintf("window %d: %s %s %v, want %d", one.start, n.Key, what, e, want))
			}
		}
		check("distinct", distinct.Estimate{Distinct: n.Distinct, Low: n.Low, High: n.High}, len(want))
		if one.total || one.start == noTime {
			continue
		}
		if saves && !one.sketched && len(one.words) != len(want) {
			t.Errorf("window %d: saved %d of %d words", one.start, len(one.words), len(want))
		}
		last := before[n.Key]
		before[n.Key] = want
		if (n.Changes == nil) != (last == nil || !changes) {
			t.Errorf("window %d: changes %v", one.start, n.Changes)
		}
		if n.Changes == nil {
			continue
		}
		returning := 0
		for e := range want {
			if last[e] {
				returning++
			}
		}
		check("new", n.Changes.New, len(want)-returning)
		check("returning", n.Changes.Returning, returning)
		check("gone", n.Changes.Gone, len(last)-returning)
	}
	// Bounds of 95 % confidence miss some, and the bounds of one stream depend on each
	// other.
	if exact && len(missed) > 0 || len(missed) > bounds/12 {
		t.Errorf("%d of %d bounds miss the truth:\n%s", len(missed), bounds, strings.Join(missed, "\n"))
	}
}

// TestChangesOfAnyOrder compares changes with sets where windows close in the order of
// time, and where they do not: with stragglers, wrong stamps, and two clocks. Whatever is
// said is right. At least the given number of windows have changes.
func TestChangesOfAnyOrder(t *testing.T) {
	const n = 300
	for name, c := range map[string]struct {
		times func(second int64) []int64 // of more packets
		least int
	}{
		"in order":    {func(int64) []int64 { return nil }, n - n/17 - 1},
		"a straggler": {func(s int64) []int64 { return []int64{max(0, s-s%10/9)} }, n / 2},
		"wrong":       {func(s int64) []int64 { return []int64{s, s * 7919 % n * 1000} }, 10},
		"two clocks":  {func(s int64) []int64 { return []int64{s + 9999} }, 60},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(9, 10))
			var packets []packet
			for second := range int64(n) {
				if second%17 == 16 {
					continue // no packets
				}
				packets = append(packets, packet{second * 1e9, rng.Uint32N(8)})
				for range rng.IntN(20) {
					packets = append(packets, packet{second * 1e9, rng.Uint32N(40)})
				}
				for _, s := range c.times(second) {
					packets = append(packets, packet{s * 1e9, rng.Uint32N(40)})
				}
			}
			checkChanges(t, packets, c.least)
		})
	}
}

// checkChanges compares the changes of flows in windows of a second with sets.
func checkChanges(t *testing.T, packets []packet, least int) {
	t.Helper()
	flows := map[int64]map[uint32]bool{}
	for _, p := range packets {
		if flows[p.time] == nil {
			flows[p.time] = map[uint32]bool{}
		}
		flows[p.time][p.flow] = true
	}
	cfg := Config{Calendar: calendar.Calendar{Every: time.Second}, Changes: true}
	known := 0
	for _, r := range reportsOf(t, cfg, packets, 3) {
		if r.count.Key != "flow" || r.count.Changes == nil {
			continue
		}
		known++
		now, before := flows[r.start], flows[r.start-1e9]
		both := uint64(0)
		for f := range now {
			if before[f] {
				both++
			}
		}
		c := r.count.Changes
		if c.Returning.Distinct != both || c.New.Distinct != uint64(len(now))-both || c.Gone.Distinct != uint64(len(before))-both {
			t.Errorf("second %d: %+v, want %d new, %d returning, %d gone", r.start/1e9, c, len(now)-int(both), both, len(before)-int(both))
		}
	}
	if known < least {
		t.Errorf("%d windows have changes, want at least %d", known, least)
	}
}

// TestSlides counts a window of four seconds at each second: also where packets are late, where a packet
// comes a window later, where a clock is set forward or back, and where outliers are outvoted.
func TestSlides(t *testing.T) {
	quorum := func(second int64) []int64 { return slices.Repeat([]int64{second}, calendar.Quorum) }
	for name, c := range map[string]struct {
		seconds []int64 // of packets
		want    string  // end of a window, its packets and distinct seconds
		late    uint64
	}{
		"late":       {[]int64{0, 1, 0, 3, 0}, "1:1/1 2:3/2 3:3/2 4:5/3 ", 2},
		"a window":   {[]int64{0, 4, 5}, "1:1/1 2:1/1 3:1/1 4:1/1 5:1/1 6:2/2 ", 0},
		"forward":    {slices.Concat([]int64{0, 1}, quorum(100), []int64{101}), "1:1/1 2:2/2 3:2/2 4:2/2 5:1/1 101:16/1 102:17/2 ", 0},
		"back":       {slices.Concat([]int64{100, 101}, quorum(3), []int64{4}), "101:1/1 102:2/2 103:2/2 104:2/2 105:1/1 4:16/1 5:17/2 ", 0},
		"outvoted":   {[]int64{0, 100, 100, 1, 1, 2}, "1:1/1 2:3/2 3:4/3 ", 2},
		"at the end": {[]int64{0, 100}, "1:1/1 2:1/1 3:1/1 4:1/1 101:1/1 ", 0},
	} {
		got := ""
		counter := New(&Config{
			Keys: hostAndFlow[1:], Window: 4 * time.Second, Slide: time.Second, Method: methodExact,
			Emit: func(start, end int64, counts []Count) error {
				if end-start != 4e9 {
					t.Errorf("%s: a window from %d to %d", name, start, end)
				}
				got += fmt.Sprintf("%d:%d/%d ", end/1e9, counts[0].Packets, counts[0].Distinct)
				return nil
			},
		})
		b, packets := counter.NewBatch(), []packet(nil)
		for _, s := range c.seconds {
			packets = append(packets, packet{s * 1e9, uint32(s)})
		}
		fill(b, packets)
		if err := cmp.Or(counter.Count(b, nil), counter.Close()); err != nil || got != c.want || counter.Late() != c.late {
			t.Errorf("%s: %s, %d late, %v; want %s, %d late", name, got, counter.Late(), err, c.want, c.late)
		}
	}
}

// TestSlidingSketch compares windows that slide, estimated with sketches, with exact ones.
func TestSlidingSketch(t *testing.T) {
	packets := newPackets(40_000, 1e18, 100*time.Millisecond)
	cfg := Config{Method: methodSketch, Slide: time.Minute, Window: 20 * time.Minute}
	got := reportsOf(t, cfg, packets, 1)
	cfg.Method = methodExact
	want := reportsOf(t, cfg, packets, 2)
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	missed := 0
	for i := range got {
		g, w := got[i].count, want[i].count
		if g.Packets != w.Packets || g.Method != methodSketch {
			t.Fatalf("row %d: %+v, want %+v", i, g, w)
		}
		if g.Low > w.Distinct || w.Distinct > g.High {
			missed++
		}
	}
	if missed > len(got)/10 { // windows overlap, so misses come together
		t.Errorf("%d of %d bounds miss the truth", missed, len(got))
	}
}

// TestResumeSketches saves counters that have become sketches, and goes on with another
// Counter, as live runs do with their state.
func TestResumeSketches(t *testing.T) {
	packets := newPackets(30_000, 1e18, 50*time.Millisecond)
	whole := func(resume bool) (out string) {
		cfg := Config{
			Keys: hostAndFlow, Method: methodAuto, FPR: 1e-9, SetLimit: 300, Calendar: calendar.Calendar{Every: time.Hour},
			Emit: func(start, _ int64, counts []Count) error {
				if start != noTime { // packets without a time are not saved
					out += fmt.Sprintln(start, counts)
				}
				return nil
			},
		}
		c := New(&cfg)
		for i := 0; i < len(packets); i += 1000 {
			if resume && i == 15_000 {
				var b bytes.Buffer
				saved, err := c.Save(&b)
				if err != nil || !slices.ContainsFunc(saved.Windows[0].Counters, func(s SavedCounter) bool { return s.Sketch }) {
					t.Fatal("no sketch is saved", err)
				}
				if err := c.Abandon(); err != nil {
					t.Fatal(err)
				}
				c = New(&cfg)
				if err := c.Resume(&b, &saved, 0); err != nil {
					t.Fatal(err)
				}
			}
			batch := c.NewBatch()
			fill(batch, packets[i:][:1000])
			if err := c.Count(batch, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		return out
	}
	if got, want := whole(true), whole(false); got != want || !strings.Contains(got, methodSketch) {
		t.Errorf("resumed:\n%swant\n%s", got, want)
	}
}
