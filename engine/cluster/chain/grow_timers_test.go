// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/hubclient"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/layout"
)

// dynamicOf is engine/paper's filter of timers of dynamic size.
type dynamicOf struct{ *paper.Dynamic }

func (f dynamicOf) seen(element, unit uint64) bool {
	return f.TestAndSetAt(digest.Digest{element, 0}, unit)
}

// newDynamic returns the filter of engine/paper that equals a slice of timers of dynamic size.
func newDynamic(t testing.TB, s Shape) reference {
	t.Helper()
	rule := paper.ByCardinality
	if s.Grow == ByDensity {
		rule = paper.ByDensity
	}
	f, err := paper.NewDynamic(paper.DynamicConfig{
		Filter: paper.TimerConfig{Timers: s.Size(), K: s.Hashes, Window: int(s.Window()), Equal: s.Equal},
		FPR:    s.FPR, Rule: rule, MaxFilters: s.Limit / s.Bytes,
	})
	if err != nil {
		t.Fatal(err)
	}
	return dynamicOf{f}
}

// grownTimers is a chain of slices of timers of dynamic size in plain words: each slice has
// filters, which are maps of the units in which timers reach zero.
type grownTimers struct {
	*grown
	filters [][]map[uint64]uint64
	counts  [][]int // positions that elements have set in each filter
	now     uint64
}

func newGrownTimers(t testing.TB, s Shape) *grownTimers {
	g := &grownTimers{grown: newGrown(t, s)}
	for range s.Links() {
		g.filters = append(g.filters, []map[uint64]uint64{{}})
		g.counts = append(g.counts, []int{0})
	}
	g.full = func(link int) bool {
		last := len(g.filters[link]) - 1
		if s.Grow == ByCardinality {
			return uint64(g.counts[link][last]) >= s.capacity()
		}
		return float64(len(g.filters[link][last])) >= float64(s.Size())*math.Pow(s.FPR, 1/float64(s.Hashes))
	}
	return g
}

// pass makes a unit the present of all slices.
func (g *grownTimers) pass(unit uint64) {
	if unit <= g.now {
		return
	}
	g.now = unit
	for link := range g.filters {
		for i := 0; i < len(g.filters[link]); i++ {
			for p, zeroAt := range g.filters[link][i] {
				if zeroAt <= unit {
					delete(g.filters[link][i], p)
				}
			}
			if len(g.filters[link][i]) == 0 {
				g.filters[link] = slices.Delete(g.filters[link], i, i+1)
				g.counts[link] = slices.Delete(g.counts[link], i, i+1)
				i--
			}
		}
		if len(g.filters[link]) == 0 {
			g.filters[link], g.counts[link] = []map[uint64]uint64{{}}, []int{0}
		}
	}
}

func (g *grownTimers) seen(element, unit uint64) bool {
	g.pass(unit)
	here := g.positions(element)
	var values []uint64
	for link, mine := range here {
		values = append(values, g.best(link, mine)...)
	}
	if layout.EqualGroup(values, g.now) >= max(1, g.shape.Equal) {
		return true
	}
	zeroAt := unit + g.shape.Window()
	if zeroAt <= g.now {
		return false
	}
	for link, mine := range here {
		if g.full(link) && len(g.filters[link]) < g.most {
			g.filters[link], g.counts[link] = append(g.filters[link], map[uint64]uint64{}), append(g.counts[link], 0)
		}
		last := len(g.filters[link]) - 1
		for _, p := range mine {
			g.filters[link][last][p] = max(g.filters[link][last][p], zeroAt)
		}
		g.counts[link][last] += len(mine)
	}
	return false
}

// best returns the values of the filter of a slice that says most about an element.
func (g *grownTimers) best(link int, mine []uint64) (values []uint64) {
	group, first := -1, uint64(0)
	for i := len(g.filters[link]) - 1; i >= 0; i-- {
		var one []uint64
		for _, p := range mine {
			one = append(one, g.filters[link][i][p])
		}
		equal := layout.EqualGroup(slices.Clone(one), g.now)
		if g.shape.Equal <= 1 {
			equal = min(equal, 1)
		}
		if least := slices.Min(one); equal > group || equal == group && least > first {
			values, group, first = one, equal, least
		}
	}
	return values
}

// compareOneByOne sends events one by one, so that slices have set each element before the next
// one comes, and compares each verdict. Slices move meanwhile.
func compareOneByOne(t *testing.T, w *wires, count int) {
	t.Helper()
	s := w.shape
	var references []reference
	for range s.Chains() {
		references = append(references, newReference(t, s))
	}
	source, copies := &stream{rng: w.rng, time: 1e15}, 0
	for i := range count {
		element, at := source.next()
		chain := w.rng.IntN(s.Chains())
		want := references[chain].seen(element, uint64(at)/hubclient.DeltaUnit/s.Unit())
		if got := w.askAt(chain, uint64(i), element, at); got != want {
			t.Fatalf("event %d: copy %v, want %v", i, got, want)
		}
		if want {
			copies++
		}
		if i%1000 == 0 {
			w.move(w.rng.IntN(len(w.links)))
		}
	}
	if copies < count/50 || copies > count*99/100 {
		t.Errorf("%d copies of %d events show little", copies, count)
	}
}

// askAt sends an element to a chain, and waits for the answer, and until it is set.
func (w *wires) askAt(chain int, seq, element uint64, at int64) bool {
	first, name := w.shape.Number(chain, 0), fmt.Sprint("event ", seq)
	w.waiting[first] = append(w.waiting[first], &sent{site: "a", reply: name, msg: request(seq, []uint64{element}, []int64{at})})
	for w.step() {
	}
	answer := w.answers[name]
	delete(w.answers, name)
	return answer[0] != 0
}
