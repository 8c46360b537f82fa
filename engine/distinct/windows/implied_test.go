// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"bytes"
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/snapshot"
)

func flowImplies(i, j int) bool { return i == 1 || i == j }

// TestImpliedAlike emits the same counts of windows and of the past whether keys imply
// each other or not, whichever comes first, and whether a Counter went on from another one.
func TestImpliedAlike(t *testing.T) {
	for n, each := range []time.Duration{time.Second, time.Millisecond, 20 * time.Second} {
		packets, keys, flow := newPackets(3000, int64(100*time.Hour), each), append(slices.Clip(hostAndFlow), Key{Name: "pair", PerPacket: 1}), 1
		if n > 0 {
			keys[0], keys[1], flow = keys[1], keys[0], 0
		}
		cfg := Config{
			Keys: keys, Calendar: calendar.Calendar{Every: time.Hour, Location: time.UTC}, Past: time.Hour,
			Method: methodAuto, FPR: 1e-6,
		}
		want, wantPast := run(t, cfg, packets, false)
		cfg.Implies = func(i, j int) bool { return i == flow || i == j }
		// The window of packets without a time is not saved: these are left out.
		timed := slices.DeleteFunc(slices.Clone(packets), func(p packet) bool { return p.time == noTime })
		if got, past := run(t, cfg, packets, false); !slices.Equal(got, want) || !samePast(past, wantPast) {
			t.Errorf("%v: emitted %q, want %q; past %+v, want %+v", each, got, want, past, wantPast)
		}
		want, wantPast = run(t, cfg, timed, false)
		if got, past := run(t, cfg, timed, true); !slices.Equal(got, want) || !samePast(past, wantPast) {
			t.Errorf("%v: saved, then emitted %q, want %q; past %+v, want %+v", each, got, want, past, wantPast)
		}
	}
}

// TestResumePast forgets what has left the past by the time of Resume, and refuses a past of other steps.
func TestResumePast(t *testing.T) {
	const last = int64(100 * time.Hour)
	cfg := Config{Keys: hostAndFlow, Past: time.Hour, Method: methodAuto, FPR: 1e-6}
	c := New(&cfg)
	defer c.Abandon()
	b := c.NewBatch()
	fill(b, []packet{{last, 8}, {last, 16}, {last, 17}})
	err := c.Count(b, nil)
	for _, r := range []struct {
		past, later time.Duration
		hosts       uint64
		err         error
	}{{time.Hour, 0, 2, nil}, {time.Hour, 2 * time.Hour, 0, nil}, {2 * time.Hour, 0, 0, snapshot.ErrInvalid}} {
		var file bytes.Buffer
		saved, failed := c.Save(&file)
		cfg.Past = r.past
		next := New(&cfg)
		err := cmp.Or(err, failed, next.Resume(&file, &saved, last+int64(r.later)))
		if hosts := next.Past(last)[0].Distinct; !errors.Is(err, r.err) || err == nil && hosts != r.hosts {
			t.Errorf("%+v: %d hosts, %v", r, hosts, err)
		}
		next.Abandon()
	}
}

// TestImpliedByWindow emits the same counts of windows whether keys imply each other or
// not, and the same counts of samples however batches are cut.
func TestImpliedByWindow(t *testing.T) {
	packets := newPackets(8000, int64(100*time.Hour), time.Millisecond)
	for _, cfg := range []Config{
		{Method: methodAuto}, {Method: methodExact}, {Method: methodBloom}, {Method: methodSketch}, {Method: methodLRU},
		{Method: methodExact, Total: emitNothing}, {Method: methodExact, Slide: time.Second, Window: time.Minute},
	} {
		cfg.Keys, cfg.FPR = hostAndFlow, 1e-6
		if cfg.Slide == 0 {
			cfg.Calendar = calendar.Calendar{Every: 30 * time.Second, Location: time.UTC}
		}
		want, _ := run(t, cfg, packets, false)
		cfg.Implies = flowImplies
		got, _ := run(t, cfg, packets, false)
		if !slices.EqualFunc(got, want, func(a, b string) bool { return withoutMemory(a) == withoutMemory(b) }) {
			t.Errorf("%+v: emitted %q, want %q", cfg, got, want)
		}
	}
	cfg := Config{
		Keys: hostAndFlow, Calendar: calendar.Calendar{Every: time.Hour, Location: time.UTC},
		Method: methodAuto, FPR: 1e-6, Budget: 256 << 10, Implies: flowImplies,
	}
	packets = newPackets(60_000, int64(100*time.Hour), time.Millisecond)
	want, _ := runCut(t, cfg, packets, false, 1)
	if !strings.Contains(strings.Join(want, ""), "sampled-rows") {
		t.Error("no sample")
	}
	for _, longest := range []int{10, 700, 5000} {
		if got, _ := runCut(t, cfg, packets, false, longest); !slices.Equal(got, want) {
			t.Errorf("batches of up to %d: %q, want %q", longest, got, want)
		}
	}
}

// withoutMemory cuts the memory out of a count. Lines grow a little later where elements
// were left out.
func withoutMemory(count string) string {
	return regexp.MustCompile(`MemoryBytes:\d+`).ReplaceAllString(count, "")
}

// samePast compares all but rates and memory.
func samePast(a, b []Count) bool {
	return slices.EqualFunc(a, b, func(a, b Count) bool {
		return a.Key == b.Key && a.Family == b.Family && a.Distinct == b.Distinct && a.Low == b.Low && a.High == b.High
	})
}

// TestImpliedBy chooses for each key the one that implies most, and none that has several
// elements a packet.
func TestImpliedBy(t *testing.T) {
	for _, c := range []struct {
		name    string
		implies [][]int // the keys that each one implies, itself among them
		double  []int   // keys of two elements a packet
		want    impliedBy
		direct  []int
	}{
		{"one implies all", [][]int{{0}, {1}, {0, 1, 2}}, nil, impliedBy{2, 2, 2}, []int{2}},
		{"each implies itself", [][]int{{0}, {1}}, nil, impliedBy{0, 1}, []int{0, 1}},
		{"two elements", [][]int{{0}, {1}}, []int{0, 1}, impliedBy{-1, -1}, []int{0, 1}},
		{"some imply some", [][]int{{0}, {0, 1}, {2}}, []int{0}, impliedBy{1, 1, 2}, []int{1, 2}},
		{"the one of most", [][]int{{0}, {0, 1, 2}, {0, 2}}, nil, impliedBy{1, 1, 1}, []int{1}},
	} {
		cfg := &Config{
			Keys:    make([]Key, len(c.implies)),
			Implies: func(i, j int) bool { return slices.Contains(c.implies[i], j) },
		}
		for i := range cfg.Keys {
			cfg.Keys[i].PerPacket = 1
			if slices.Contains(c.double, i) {
				cfg.Keys[i].PerPacket = 2
			}
		}
		if got := newImpliedBy(cfg); !slices.Equal(got, c.want) || !slices.Equal(got.direct(), c.direct) {
			t.Errorf("%s: %v, direct %v, want %v, direct %v", c.name, got, got.direct(), c.want, c.direct)
		}
	}
}
