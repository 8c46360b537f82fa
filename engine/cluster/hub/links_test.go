// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/engine/cluster/chain"
	"github.com/flowdedup/flowdedup/engine/hubclient"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// shaped returns a change of settings to a filter of a shape.
func shaped(shape chain.Shape) func(*Settings) {
	return func(s *Settings) { s.Shape, s.Slices = shape, shape.Slices() }
}

// vertical is a filter of the given number of vertical slices.
func vertical(v int, filter string) chain.Shape {
	s := chain.Shape{Layout: chain.Vertical, H: 1, V: v, Filter: filter, Hashes: 4, Bytes: 1 << 20, Primitive: chain.FirstTestThenSet, AtLeast: 4}
	if filter == chain.Timers {
		s.WindowUS = 100_000
	}
	return s
}

// TestChainsAnswer has a hub answer one site about a stream that fills its filter. Each
// verdict equals that of engine/paper's vertical filter.
func TestChainsAnswer(t *testing.T) {
	count := 2_000_000
	if testing.Short() {
		count = 40_000
	}
	for _, primitive := range chain.Primitives {
		t.Run(primitive, func(t *testing.T) {
			shape := vertical(4, chain.Bloom)
			shape.Primitive, shape.Bytes = primitive, count/8
			l := newLab(t, shaped(shape))
			s := l.sensor("a")
			reference, err := paper.NewVertical(paper.SlicedConfig{Bits: 4 * shape.Size(), K: shape.Hashes, Slices: 4})
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(1, 1))
			digests, times := make([]uint64, 20_000), make([]int64, 20_000)
			for from := 0; from < count; from += len(digests) {
				for i := range digests {
					digests[i], times[i] = rng.Uint64N(uint64(count/3))*0x9e3779b97f4a7c15, 1e18
				}
				for i, isCopy := range s.ask(digests, times) {
					if want := reference.TestAndSet(digest.Digest{digests[i] & (1<<hubclient.DigestBits - 1), 0}); isCopy != want {
						t.Fatalf("event %d: copy %v, want %v", from+i, isCopy, want)
					}
				}
			}
			st := l.hub.Status()
			if c := st.Chains; c.Lost != 0 || c.FNR != 0 || c.FPR <= 0 || c.Hops <= 0 || c.Fairness < 0.9 {
				t.Errorf("%+v", c)
			}
			if st.Sites[0].Digests != uint64(count) || st.Sites[0].Copies == 0 {
				t.Errorf("%+v", st.Sites)
			}
		})
	}
}

// TestChainRace has two sites send the same batches at the same time, by each layout. Each
// element stays at one of them.
func TestChainRace(t *testing.T) {
	for _, c := range []struct {
		layout, filter, primitive string
		h, v                      int
	}{
		{chain.Horizontal, chain.Bloom, chain.TestAndSet, 4, 1}, {chain.Horizontal, chain.Timers, chain.FirstTestThenSet, 4, 1},
		{chain.Vertical, chain.Bloom, chain.TestAndSet, 1, 5}, {chain.Vertical, chain.Bloom, chain.FirstTestThenSet, 1, 5},
		{chain.HV, chain.Timers, chain.FirstTestThenSet, 3, 3}, {chain.VH, chain.Bloom, chain.TestAndSet, 2, 3},
		{chain.VH, chain.Timers, chain.FirstTestThenSet, 2, 3},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			shape := vertical(1, c.filter)
			shape.Layout, shape.H, shape.V, shape.Primitive, shape.Bytes = c.layout, c.h, c.v, c.primitive, 1<<24
			shape.WindowUS *= 600 // longer than the test
			l := newLab(t, shaped(shape))
			sensors := []*sensor{l.sensor("a"), l.sensor("b")}
			oneIsNew(t, rand.New(rand.NewPCG(2, 1)), sensors)
		})
	}
}

// oneIsNew has all sensors ask about the same elements at once: each element is new at one of them.
func oneIsNew(t *testing.T, rng *rand.Rand, sensors []*sensor) {
	t.Helper()
	for range 20 {
		digests, times := make([]uint64, 1000), make([]int64, 1000)
		for i := range digests {
			digests[i], times[i] = rng.Uint64(), time.Now().UnixNano()
		}
		copies := make([][]bool, len(sensors))
		var all sync.WaitGroup
		for i, s := range sensors {
			all.Go(func() { copies[i] = s.ask(digests, times) })
		}
		all.Wait()
		for i := range digests {
			n := 0
			for _, of := range copies {
				if !of[i] {
					n++
				}
			}
			if n != 1 {
				t.Fatalf("element %d is new at %d of %d sites", i, n, len(sensors))
			}
		}
	}
}

// news counts elements that are no copies.
func news(copies []bool) (n int) {
	for _, c := range copies {
		if !c {
			n++
		}
	}
	return n
}

// TestChainMoves has a second hub take half of the links, and give them back in order:
// then nothing was forgotten. Then it dies: its links have lost their state, and the
// others decide, by the required number of answers.
func TestChainMoves(t *testing.T) {
	if testing.Short() {
		t.Skip("waits until leases end")
	}
	shape := vertical(8, chain.Bloom)
	shape.AtLeast = 1
	l := newLab(t, shaped(shape))
	a, b := l.sensor("a"), l.sensor("b")
	digests, times := make([]uint64, 2000), make([]int64, 2000)
	for i := range digests {
		digests[i], times[i] = rand.Uint64(), 1e18
	}
	a.ask(digests, times)
	other := l.another("second")
	awaitSlices(t, map[*Hub]int{l.hub: 4, other: 4})
	if n := news(b.ask(digests, times)); n != 0 {
		t.Errorf("%d of %d are new after links have moved", n, len(digests))
	}
	for _, h := range []*Hub{l.hub, other} { // each knows that the other has the rest
		if st := h.Status().Chains; st.Lost != 0 || st.FNR != 0 || st.FPR <= 0 {
			t.Errorf("%s: %+v", h.name, st)
		}
	}
	crash(t, other)
	awaitSlices(t, map[*Hub]int{l.hub: 8})
	st := l.hub.Status().Chains
	if st.Lost != 4 || st.FNR < 0.05 || st.FNR > 0.07 { // (4/8)^4
		t.Errorf("%+v", st)
	}
	if n := float64(news(b.ask(digests, times))) / float64(len(digests)); n < 0.03 || n > 0.1 {
		t.Errorf("%.3f are new, predicted %.3f", n, st.FNR)
	}
}

// TestChainJournal crashes a hub whose links keep journals: they recover everything.
func TestChainJournal(t *testing.T) {
	for _, filter := range []string{chain.Bloom, chain.Timers} {
		shape := vertical(3, filter)
		shape.WindowUS *= 600
		l := newLab(t, func(s *Settings) { shaped(shape)(s); s.Journal = true })
		digests, times := make([]uint64, 3000), make([]int64, 3000)
		for i := range digests {
			digests[i], times[i] = rand.Uint64(), time.Now().UnixNano()
		}
		l.sensor("a").ask(digests, times)
		l.crash(t)
		l.begin()
		if st := l.hub.Status().Chains; st.Lost != 0 {
			t.Errorf("%+v", st)
		}
		if n := news(l.sensor("b").ask(digests, times)); n != 0 {
			t.Errorf("%s: %d of %d are new", filter, n, len(digests))
		}
	}
}

// TestChainGrows has slices of dynamic size grow, at one hub, at two that share them, and at
// one that was crashed with its journal: each has its filters and its state again.
func TestChainGrows(t *testing.T) {
	for _, c := range []struct{ layout, filter string }{
		{chain.Horizontal, chain.Bloom}, {chain.HV, chain.Bloom}, {chain.Horizontal, chain.Timers}, {chain.HV, chain.Timers},
	} {
		t.Run(c.layout+" "+c.filter, func(t *testing.T) {
			shape := vertical(2, c.filter)
			shape.Layout, shape.H, shape.V, shape.Primitive = c.layout, 4, 1, chain.TestAndSet
			if c.layout == chain.HV {
				shape.H, shape.V = 2, 2
			}
			shape.Bytes, shape.Grow, shape.FPR, shape.Limit = 16<<10, chain.ByDensity, 0.001, 1<<20
			if c.filter == chain.Timers {
				shape.Bytes, shape.Limit, shape.Primitive = 512<<10, 32<<20, chain.FirstTestThenSet
			}
			l := newLab(t, func(s *Settings) { shaped(shape)(s); s.Journal = true })
			a, b := l.sensor("a"), l.sensor("b")
			digests, times := make([]uint64, 40_000), make([]int64, 40_000)
			for i := range digests {
				digests[i], times[i] = rand.Uint64(), 1e18
			}
			// A false copy of an element that was on its way round a chain is none later, where a
			// filter has begun between the two.
			known := digests[:0]
			for i, isCopy := range a.ask(slices.Clone(digests), times) {
				if !isCopy {
					known = append(known, digests[i])
				}
			}
			if len(known) < len(digests)*9/10 {
				t.Errorf("%d of %d are new", len(known), len(digests))
			}
			digests, times = known, times[:len(known)]
			filters := func(hubs ...*Hub) []int {
				all := make([]int, shape.Slices())
				for _, h := range hubs {
					for _, s := range h.Status().PerSlice {
						all[s.Slice] = s.Filters
					}
				}
				return all
			}
			wait.Until(t, "the last elements to be set by all links", func() bool {
				sent, taken := uint64(0), int64(0)
				for _, o := range l.hub.all() {
					sent += o.status().Stats.Hops
					if o.linked != nil {
						n, err := o.linked.Delivered()
						if err != nil {
							t.Fatal(err)
						}
						taken += n
					}
				}
				return int64(sent) == taken
			})
			before := filters(l.hub)
			if slices.Min(before) < 3 {
				t.Errorf("filters %v", before)
			}
			same := func(when string, hubs ...*Hub) {
				t.Helper()
				if n := news(b.ask(digests, times)); n != 0 {
					t.Errorf("%s: %d of %d are new", when, n, len(digests))
				}
				if now := filters(hubs...); !slices.Equal(now, before) {
					t.Errorf("%s: filters %v, before %v", when, now, before)
				}
			}
			other := l.another("second")
			awaitSlices(t, map[*Hub]int{l.hub: 2, other: 2})
			same("moved", l.hub, other)
			if err := other.Close(); err != nil {
				t.Fatal(err)
			}
			awaitSlices(t, map[*Hub]int{l.hub: 4})
			l.crash(t)
			l.begin()
			same("crashed", l.hub)
		})
	}
}
