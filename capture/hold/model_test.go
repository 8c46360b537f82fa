// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/window"
)

// model says which packets stay, with all packets and maps in memory, for streams that need
// no memory, and whose clocks are set by more than is believed at once: each packet waits for
// all copies within the hold.
type model struct {
	cfg    Config
	window time.Duration // as in Stream
	ranks  bool
	homes  map[uint64]*modelHome
	kept   map[digest.Digest]*modelKept
}

// unfitQuality is more than any other.
const unfitQuality = 8 * 256

type modelHome struct {
	point  uint64
	misses int
	since  int64
}

type modelKept struct {
	packet, quality int
}

// run returns the packets that stay.
func (m *model) run(all []sighted, drop []bool) (keep []bool) {
	m.homes, m.kept = map[uint64]*modelHome{}, map[digest.Digest]*modelKept{}
	for i := range all {
		p, first := &all[i], !drop[i]
		keep = append(keep, first)
		timed := p.time != calendar.NoTime
		quality := 0
		if m.ranks {
			quality = 8 * int(p.rank)
		}
		switch {
		case m.cfg.Intact && p.integrity == identity.Truncated:
			quality += unfitQuality + 4
		case m.cfg.Intact && p.integrity == identity.WrongChecksum:
			quality += unfitQuality + 2
		}
		if m.cfg.Flow && timed && p.conversation != 0 && !m.atHome(p, first) {
			quality++
		}
		c := m.kept[p.digest]
		switch {
		case first && (quality == 0 || p.fixed || !timed):
			if m.window == 0 || m.ranks || m.cfg.Intact {
				delete(m.kept, p.digest)
			}
		case first:
			m.kept[p.digest] = &modelKept{i, quality}
		case p.fixed, !timed, c == nil, quality >= c.quality:
		case max(p.time-all[c.packet].time, all[c.packet].time-p.time) <= int64(m.cfg.For):
			keep[i], keep[c.packet] = true, false
			c.packet, c.quality = i, quality
		}
	}
	return keep
}

func (m *model) atHome(p *sighted, first bool) bool {
	h := m.homes[p.conversation]
	switch {
	case h == nil:
		h = &modelHome{point: p.point}
		m.homes[p.conversation] = h
	case h.point == p.point:
		h.misses = 0
	case first:
		if h.misses == 0 || p.time < h.since {
			h.misses, h.since = 0, p.time
		}
		h.misses++
		if lasted := p.time - h.since; h.misses >= 16 && lasted > int64(m.cfg.For) || lasted >= int64(time.Minute) {
			h.point, h.misses = p.point, 0
		}
	}
	if p.fragment != 0 {
		m.homes[p.fragment] = &modelHome{point: h.point}
	}
	return h.point == p.point
}

// heldRun is a stream on its way through a Hold.
type heldRun struct {
	t    *testing.T
	hold *Hold
	all  []sighted
	drop []bool
	keep []bool
	n    int // written

	before int // n when the stream ends
	table  capture.Batch
}

// testHold makes a hold that is closed with the test.
func testHold(t *testing.T, cfg Config, s Stream) *Hold {
	h, err := New(cfg, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

// write checks that packets come whole and in order.
func (r *heldRun) write(b *capture.Batch, drop []uint64) error {
	capture.CheckDrop(b, drop)
	for i := range b.Frames {
		if !bytes.Equal(b.Data(i), r.all[r.n].data(r.n)) {
			r.t.Fatalf("packet %d has the content of another", r.n)
		}
		r.keep = append(r.keep, !capture.IsSet(drop, i))
		r.n++
	}
	return nil
}

// batch fills a batch with the packets from to to-1.
func (r *heldRun) batch(b *capture.Batch, from, to int) {
	b.Reset()
	if len(r.table.Interfaces) == 0 {
		r.table.AppendInterface(capture.Interface{LinkType: capture.LinkRaw})
	}
	b.Interfaces, b.Sections = r.table.Interfaces, r.table.Sections
	for i := from; i < to; i++ {
		b.Append(capture.Frame{Time: r.all[i].time}, r.all[i].data(i))
	}
}

// apply takes a batch of the packets from to to-1 through Judge.
func (r *heldRun) apply(x *Batch, b *capture.Batch, from, to int, ranks bool) {
	words := (to - from + 63) / 64
	v := Verdicts{Drop: make([]uint64, words), Fixed: make([]uint64, words), Unfit: make([]uint64, words)}
	v.Copies = v.Drop
	x.Reset(to - from)
	x.seen = traits.Sightings{}
	unfit := false
	for i, s := range r.all[from:to] {
		if r.hold.cfg.Intact {
			v.Integrity = append(v.Integrity, s.integrity)
			if s.integrity >= identity.WrongChecksum {
				capture.SetBit(v.Unfit, i)
				unfit = true
			}
		}
		v.Digests, v.Times = append(v.Digests, s.digest), append(v.Times, s.time)
		x.seen.Conversation = append(x.seen.Conversation, s.conversation)
		x.seen.Fragment = append(x.seen.Fragment, s.fragment)
		x.seen.Point = append(x.seen.Point, s.point)
		if ranks {
			v.Ranks = append(v.Ranks, s.rank)
		}
		if s.fixed {
			capture.SetBit(v.Fixed, i)
		}
		if r.drop[from+i] {
			capture.SetBit(v.Drop, i)
		}
	}
	if !unfit {
		v.Unfit = nil
	}
	x.Judge(b, v)
}

// run takes the stream through in batches of sizes that next returns, and returns which
// packets stay.
func (r *heldRun) run(ranks bool, next func() int) []bool {
	x := r.hold.NewBatch(nil)
	var b capture.Batch
	for from := 0; from < len(r.all); {
		to := min(from+next(), len(r.all))
		r.batch(&b, from, to)
		r.apply(x, &b, from, to, ranks)
		if err := x.Write(&b, r.write); err != nil {
			r.t.Fatal(err)
		}
		from = to
	}
	r.before = r.n
	if err := r.hold.Finish(r.write); err != nil {
		r.t.Fatal(err)
	}
	if r.n != len(r.all) {
		r.t.Fatalf("%d packets written of %d", r.n, len(r.all))
	}
	return r.keep
}

// checkOnce checks that of equal packets as many stay as the filter keeps.
func checkOnce(t *testing.T, all []sighted, drop, keep []bool) {
	t.Helper()
	left := map[digest.Digest]int{}
	for i := range all {
		if !drop[i] {
			left[all[i].digest]++
		}
		if keep[i] {
			left[all[i].digest]--
		}
	}
	for d, n := range left {
		if n != 0 {
			t.Fatalf("of packet %x %d copies too few stay", d, n)
		}
	}
}

// firstDifference returns where two runs differ, or -1.
func firstDifference(a, b []bool) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

// TestModel compares a Hold with the model, whatever the size of batches is.
func TestModel(t *testing.T) {
	const us = time.Microsecond
	cases := map[string]struct {
		traffic traffic
		cfg     Config
		filter  window.ExactConfig
	}{
		"in order":          {traffic: traffic{loss: 0.1, delay: 300 * us}},
		"many lost":         {traffic: traffic{loss: 0.6, delay: 300 * us}},
		"one in ten lost":   {traffic: traffic{points: 2, loss: 0.1, delay: 300 * us}},
		"disorder":          {traffic: traffic{loss: 0.2, delay: 300 * us, disorder: 3000 * us}},
		"jumps":             {traffic: traffic{loss: 0.2, delay: 300 * us, jumps: 0.002}},
		"without times":     {traffic: traffic{loss: 0.2, delay: 300 * us, untimed: 0.1, wild: 0.1}},
		"fragments":         {traffic: traffic{loss: 0.2, delay: 300 * us, fragment: true}},
		"beyond the window": {traffic: traffic{loss: 0.1, delay: 3000 * us}},
		"short hold":        {traffic: traffic{loss: 0.1, delay: 600 * us}, cfg: Config{For: 100 * us}},
		"refresh":           {traffic: traffic{loss: 0.1, delay: 3000 * us, points: 8}, filter: window.ExactConfig{Refresh: true}, cfg: Config{For: 2000 * us}},
		"across":            {traffic: traffic{loss: 0.1, delay: 1500 * us, points: 5}, filter: window.ExactConfig{Across: true}},
		"packets":           {traffic: traffic{loss: 0.1, delay: 300 * us, untimed: 0.1}, filter: window.ExactConfig{Window: window.Window{Packets: 50}}, cfg: Config{For: 1000 * us}},
		"no window":         {traffic: traffic{loss: 0.1, delay: 300 * us, jumps: 0.002}, filter: window.ExactConfig{Window: window.Window{None: true}}, cfg: Config{For: 1000 * us}},
		"ranks":             {traffic: traffic{loss: 0.1, delay: 300 * us, ranks: true, fixed: true}, cfg: Config{}},
		"ranks and homes":   {traffic: traffic{loss: 0.1, delay: 300 * us, ranks: true, fixed: true, fragment: true}},
		"intact":            {traffic: traffic{loss: 0.1, delay: 300 * us, fixed: true}, cfg: Config{Intact: true}},
		"intact and homes":  {traffic: traffic{loss: 0.1, delay: 300 * us, fragment: true, disorder: 3000 * us}, cfg: Config{Intact: true}},
		"intact, ranks":     {traffic: traffic{loss: 0.1, delay: 300 * us, ranks: true, fixed: true, untimed: 0.1}, cfg: Config{Intact: true}},
		"intact, no window": {traffic: traffic{loss: 0.1, delay: 300 * us, jumps: 0.002}, filter: window.ExactConfig{Window: window.Window{None: true}}, cfg: Config{For: 1000 * us, Intact: true}},
		"fixed":             {traffic: traffic{loss: 0.1, delay: 300 * us, fixed: true}},
	}
	seeds := uint64(3)
	if testing.Short() {
		seeds = 1
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for seed := range seeds {
				g, cfg := c.traffic, c.cfg
				if g.rng, g.conversations, g.size = rand.New(rand.NewPCG(seed, 1)), 30, 200; g.points == 0 {
					g.points = 3
				}
				if name != "ranks" && name != "intact" {
					cfg.Flow = true
				}
				if c.filter.Window == (window.Window{}) {
					c.filter.Window.Duration = 1000 * us
				}
				if cfg.For == 0 {
					cfg.For = 1000 * us
				}
				var of Stream
				if !c.filter.Refresh {
					of.Window = c.filter.Window.Duration
				}
				all := g.stream(6000)
				drop := copies(t, all, c.filter)
				want := (&model{cfg: cfg, window: of.Window, ranks: g.ranks}).run(all, drop)
				checkOnce(t, all, drop, want)
				for i, next := range []func() int{
					func() int { return 1 },
					func() int { return g.rng.IntN(5) },
					func() int { return g.rng.IntN(2000) },
					func() int { return len(all) },
				} {
					h := testHold(t, cfg, of)
					got := (&heldRun{t: t, hold: h, all: all, drop: drop}).run(g.ranks, next)
					if at := firstDifference(got, want); at >= 0 {
						t.Fatalf("seed %d, cut %d: packet %d: kept %v, want %v", seed, i, at, got[at], want[at])
					}
					if h.stats.Early != 0 || h.stats.HeldBytes == 0 {
						t.Errorf("%+v", h.stats)
					}
				}
				if swaps := firstDifference(want, invert(drop)); swaps < 0 {
					t.Error("no packet was exchanged")
				}
			}
		})
	}
}

func invert(drop []bool) []bool {
	keep := make([]bool, len(drop))
	for i := range drop {
		keep[i] = !drop[i]
	}
	return keep
}

// TestWild takes streams with all kinds of times through a Hold that has hardly any
// memory: as many of equal packets stay as without, and the result does not depend on the
// size of batches.
func TestWild(t *testing.T) {
	sum, seeds := uint64(0), uint64(20)
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 2))
		g := traffic{
			rng: rng, points: 1 + rng.IntN(5), conversations: 1 + rng.IntN(100), size: 1 + rng.IntN(500), loss: rng.Float64() / 2, delay: 3 * time.Millisecond,
			disorder: time.Duration(rng.IntN(20)) * time.Millisecond, jumps: 0.01, untimed: rng.Float64() / 3, fragment: true, fixed: true,
		}
		all := g.stream(5000)
		for i := range all {
			switch {
			case i > 1000 && i < 2000:
				all[i].time = calendar.NoTime
			case rng.IntN(500) == 0:
				all[i].time = int64(rng.Uint64())
			}
			if all[i].time = calendar.Usable(all[i].time); rng.IntN(50) == 0 {
				all[i].digest = all[rng.IntN(len(all))].digest
			}
		}
		cfg := Config{Flow: true, For: time.Millisecond, Intact: seed%2 == 1}
		of := Stream{Window: time.Duration(rng.IntN(2)) * time.Millisecond}
		drop := copies(t, all, window.ExactConfig{Window: window.Window{Duration: time.Millisecond}})
		var want []bool
		early := uint64(0)
		for i, next := range []func() int{func() int { return len(all) }, func() int { return 1 }, func() int { return rng.IntN(700) }} {
			h := testHold(t, cfg, of)
			h.limit = 100 << 10
			got := (&heldRun{t: t, hold: h, all: all, drop: drop}).run(true, next)
			checkOnce(t, all, drop, got)
			if i == 0 {
				want, early = got, h.stats.Early
			}
			if at := firstDifference(got, want); at >= 0 || h.stats.Early != early {
				t.Fatalf("seed %d, cut %d: packet %d is another, or %d instead of %d were settled early", seed, i, at, h.stats.Early, early)
			}
			if h.stats.HeldBytes > h.limit+partBytes {
				t.Errorf("seed %d: %+v", seed, h.stats)
			}
		}
		sum += early
	}
	if sum == 0 {
		t.Error("there was memory for all")
	}
}
