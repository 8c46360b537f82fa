// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/theory"
	"github.com/flowdedup/flowdedup/layout"
)

// grown is a chain of slices of dynamic size in plain words: each slice has filters, which are sets
// of positions. It is engine/paper's Dynamic for each slice.
type grown struct {
	shape  Shape
	slices [][]*positionSet
	placed []int // in the newest filter of each slice
	most   int
	full   func(link int) bool
}

// positionSet is a set of positions of one slice.
type positionSet struct {
	has []bool
	len int
}

func newPositionSet(s Shape) *positionSet { return &positionSet{has: make([]bool, s.Size())} }

func (s *positionSet) contains(position uint64) bool { return s.has[position%uint64(len(s.has))] }

func (s *positionSet) add(position uint64) {
	if at := &s.has[position%uint64(len(s.has))]; !*at {
		*at = true
		s.len++
	}
}

func newGrown(t testing.TB, s Shape) *grown {
	g := &grown{shape: s, placed: make([]int, s.Links()), most: s.Limit / s.Bytes}
	for range s.Links() {
		g.slices = append(g.slices, []*positionSet{newPositionSet(s)})
	}
	capacity, err := theory.Dynamic{Bits: s.Size(), K: s.Hashes, FPR: s.FPR}.Capacity()
	if err != nil {
		t.Fatal(err)
	}
	dense := float64(s.Size()) * math.Pow(s.FPR, 1/float64(s.Hashes))
	g.full = func(link int) bool {
		if s.Grow == ByDensity {
			return float64(g.newest(link).len) >= dense
		}
		return g.placed[link] >= capacity*s.Hashes
	}
	return g
}

func (g *grown) newest(link int) *positionSet {
	filters := g.slices[link]
	return filters[len(filters)-1]
}

// positions returns the positions of an element in each link.
func (g *grown) positions(element uint64) map[int][]uint64 {
	pos := make([]uint64, g.shape.Hashes)
	size := uint64(g.shape.Size())
	layout.Positions(pos, digest.Digest{element, 0}, size*uint64(g.shape.Links()))
	if g.shape.Layout == VH {
		layout.DiceVertical(pos, size, g.shape.H)
	}
	here := map[int][]uint64{}
	for _, p := range pos {
		here[int(p/size)] = append(here[int(p/size)], p)
	}
	return here
}

func (g *grown) seen(element, _ uint64) bool {
	all := true
	for link, mine := range g.positions(element) {
		all = g.at(link, mine) && all
	}
	return all
}

// at tests and sets positions of a slice.
func (g *grown) at(link int, mine []uint64) bool {
	for _, filter := range g.slices[link] {
		set := 0
		for _, p := range mine {
			if filter.contains(p) {
				set++
			}
		}
		if set == len(mine) {
			return true
		}
	}
	if g.full(link) && len(g.slices[link]) < g.most {
		g.slices[link] = append(g.slices[link], newPositionSet(g.shape))
		g.placed[link] = 0
	}
	for _, p := range mine {
		g.newest(link).add(p)
	}
	g.placed[link] += len(mine)
	return false
}

// growing returns the shapes of Bloom filters and filters of timers, with slices that grow by
// each rule.
func growing() (all []Shape) {
	for _, s := range shapes() {
		if s.Filter == Timers {
			s.Bytes = 200 * s.Slices()
		}
		for _, rule := range Growths {
			if s.Grow, s.FPR, s.Limit = rule, 0.02, 40*s.Bytes; s.Check() == nil {
				all = append(all, s)
			}
		}
	}
	return all
}

// TestGrowth compares filters of dynamic size with engine/paper's in each slice, event by
// event, while slices move. With first-test-then-set over several slices, a filter may begin
// while elements are under way. Then none may be missed, and few may be taken for others.
func TestGrowth(t *testing.T) {
	count := eventsOr(t, 200_000, 20_000)
	for _, s := range growing() {
		ordered := s.Primitive == TestAndSet || s.Links() == 1
		if s.Filter == Bloom && ordered { // sets of others stay small, whatever the count
			s.Bytes = max(s.Bytes, count/50)
			s.Limit = 40 * s.Bytes
		}
		t.Run(fmt.Sprintf("%v, equal %d", s, s.Equal), func(t *testing.T) {
			w := newWires(t, s, rand.New(rand.NewPCG(1, 2)))
			switch {
			case ordered:
				w.moves = max(400, count/1000)
				w.kills = w.moves
				compare(t, w, count, nil)
			case s.Filter == Timers:
				compareOneByOne(t, w, count/4)
				if s.Equal == 0 { // which misses elements by itself
					growingSets(t, newWires(t, s, rand.New(rand.NewPCG(3, 4))), 30_000)
				}
			default:
				growingSets(t, w, 30_000)
			}
			filters, links := 0, 0
			for n, l := range w.links {
				st := l.Stats()
				if st.Tests == 0 {
					continue // of a chain that got nothing
				}
				links++
				filters += st.Filters
				if st.MemoryBytes != st.Filters*len(l.store.lines)*64 || st.Fill < 0.1 {
					t.Errorf("slice %d: %+v", n, st)
				}
			}
			if mean := float64(filters) / float64(links); mean < 2 || mean > 40 {
				t.Errorf("%.1f filters in a slice", mean)
			} else {
				t.Logf("%.1f filters in a slice", mean)
			}
		})
	}
}

// growingSets sends new elements to the first chain, and sends the ones that it took for new
// again.
func growingSets(t *testing.T, w *wires, count int) {
	t.Helper()
	var all []uint64
	wrong, seq := 0, uint64(0)
	for ; seq < uint64(count/200); seq++ {
		elements := random(w.rng, 200)
		for i, seen := range w.ask(seq, "a", elements, 0) {
			if seen {
				wrong++
			} else {
				all = append(all, elements[i])
			}
		}
		w.move(w.rng.IntN(w.shape.Links()) * w.shape.Chains())
	}
	var holds [][]float64
	for link := range w.shape.Links() {
		holds = append(holds, w.links[w.shape.Number(0, link)].Stats().Holds)
	}
	fpr, _ := w.shape.Predict(holds)
	if limit := fpr*float64(count) + 6*math.Sqrt(fpr*float64(count)); float64(wrong) > limit {
		t.Errorf("%d of %d new elements taken for others, at most %.0f predicted", wrong, count, limit)
	}
	for from := 0; from < len(all); from += 200 {
		seq++
		again := all[from:min(from+200, len(all))]
		if n := ones(w.ask(seq, "b", again, 0)); n != len(again) {
			t.Fatalf("%d of %d elements are missed", len(again)-n, len(again))
		}
	}
}

// TestGrowthLimit sends more elements to a slice that has as many filters as it may: it
// misses none.
func TestGrowthLimit(t *testing.T) {
	s := Shape{Layout: Vertical, H: 1, V: 2, Filter: Bloom, Hashes: 2, Bytes: 128, Primitive: TestAndSet, Grow: ByDensity, FPR: 0.01, Limit: 256 + 127}
	w := newWires(t, s, rand.New(rand.NewPCG(3, 3)))
	known := random(w.rng, 1000)
	w.ask(1, "a", known, 0)
	if n := ones(w.ask(2, "b", known, 0)); n != len(known) {
		t.Errorf("%d of %d found again", n, len(known))
	}
	for _, l := range w.links {
		if st := l.Stats(); st.Filters != 2 || st.MemoryBytes != 2*64 || st.Fill < 0.8 {
			t.Errorf("%+v", st)
		}
	}
	snapshot := w.links[0].Save(nil)
	s.Limit = s.Bytes
	if _, err := Restore(s, 0, snapshot); err == nil {
		t.Error("a slice of more filters than it may have is restored")
	}
}

// TestPredicted loses slices of each layout, for any required number of answers, and compares
// the shares of wrong verdicts with the predictions of the status.
func TestPredicted(t *testing.T) {
	const queries = 2000
	for _, s := range []Shape{
		{Layout: Horizontal, H: 1, V: 1}, {Layout: Vertical, H: 1, V: 7}, {Layout: Vertical, H: 1, V: 2}, {Layout: HV, H: 1, V: 4}, {Layout: VH, H: 3, V: 2}, {Layout: VH, H: 2, V: 4},
	} {
		s.Hashes, s.Bytes = 4, 1<<16
		const growing = "growing timers"
		for _, filter := range []string{Bloom, Timers, ByDensity, ByCardinality, growing} {
			switch s.Filter, s.Primitive = filter, FirstTestThenSet; filter {
			case growing:
				s.Filter, s.Grow, s.FPR, s.Bytes, s.WindowUS, s.Limit = Timers, ByDensity, 0.01, 1<<18, 1e6, 1<<22
			case Timers:
				s.Bytes, s.WindowUS = 32<<16, 1e6
			case Bloom:
				s.Primitive = TestAndSet
			default:
				s.Filter, s.Grow, s.FPR, s.Bytes, s.WindowUS, s.Limit = Bloom, filter, 0.01, 1<<15, 0, 1<<20
			}
			for x := range s.Hashes + 1 {
				if s.AtLeast = x; testing.Short() && x%2 > 0 {
					continue
				}
				t.Run(fmt.Sprintf("%v %s, %d answers", s, filter, x), func(t *testing.T) { predicted(t, s, queries) })
			}
			s.Grow, s.FPR, s.Limit, s.Bytes, s.WindowUS = "", 0, 0, 1<<16, 0
		}
	}
}

func predicted(t *testing.T, s Shape, queries int) {
	w := newWires(t, s, rand.New(rand.NewPCG(9, 9)))
	seq := uint64(0)
	send := func(elements []uint64) (seen int) {
		for from := 0; from < len(elements); from += 1000 {
			seq++
			seen += ones(w.ask(seq, "a", elements[from:min(from+1000, len(elements))], 1e6))
		}
		return seen
	}
	var known []uint64
	for range 40 { // elements that were taken for others may be new again once a filter has begun
		elements := random(w.rng, 1000)
		seq++
		for i, seen := range w.ask(seq, "a", elements, 1e6) {
			if !seen {
				known = append(known, elements[i])
			}
		}
	}
	if s.Links() > 1 {
		w.crash(0)
	}
	if s.Links() > 5 {
		w.crash(3)
	}
	rates := func() (fpr, fnr float64) {
		holds := make([][]float64, s.Links())
		for i, l := range w.links {
			if st := l.Stats(); !st.Lost {
				holds[i] = st.Holds
			}
		}
		return s.Predict(holds)
	}
	wantFPR, wantFNR := rates()
	wrong := float64(send(random(w.rng, queries))) // which fills the filter a little
	afterFPR, _ := rates()
	n := float64(queries)
	if low, high := wantFPR*n, afterFPR*n; wrong < low-6*math.Sqrt(low)-1 || wrong > high+6*math.Sqrt(high)+1 {
		t.Errorf("%.0f of %d new elements taken for others, predicted %.0f to %.0f", wrong, queries, low, high)
	}
	n = float64(len(known))
	if missed := n - float64(send(known)); math.Abs(missed-wantFNR*n) > 6*math.Sqrt(wantFNR*n)+wantFNR*afterFPR*n {
		t.Errorf("%.0f of %d missed, predicted %.0f", missed, len(known), wantFNR*n)
	}
}

// TestPredictedAsPrinted compares Predict with theory.SplitHybrid, where all slices are as full.
func TestPredictedAsPrinted(t *testing.T) {
	for k := 1; k <= 12; k++ {
		for lost := range 5 {
			for x := range k + 1 {
				s := Shape{Layout: Vertical, H: 1, V: 5, Filter: Bloom, Hashes: k, AtLeast: x}
				holds := make([][]float64, s.V)
				for i := lost; i < s.V; i++ {
					for j := range k + 1 {
						holds[i] = append(holds[i], math.Pow(0.4, float64(j)))
					}
				}
				fpr, fnr := s.Predict(holds)
				wantFPR, wantFNR, err := theory.Sliced{Bits: 5000, K: k, Slices: s.V}.SplitHybrid(k, lost, math.Pow(0.4, float64(k)), x)
				if err != nil {
					t.Fatal(err)
				}
				if math.Abs(fpr-wantFPR) > 1e-12 || math.Abs(fnr-wantFNR) > 1e-12 {
					t.Errorf("k = %d, %d lost, x = %d: %g and %g, want %g and %g", k, lost, x, fpr, fnr, wantFPR, wantFNR)
				}
			}
		}
	}
	if fpr, fnr := (Shape{Layout: Vertical, H: 1, V: 2, Hashes: 2}).Predict(make([][]float64, 2)); fpr != 0 || fnr != 1 {
		t.Errorf("all lost: %g and %g", fpr, fnr)
	}
}
