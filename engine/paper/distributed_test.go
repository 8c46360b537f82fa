// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPrimitivesAgree runs all primitives side by side with slices that fail as the
// stream goes on: the verdicts do not differ, and the messages equal a plain model's.
// Nothing is missed unless lost bits count against an element.
func TestPrimitivesAgree(t *testing.T) {
	ids := shuffled(3_000, 1_500, 12)
	for name, slice := range slicings {
		for _, atLeast := range []int{0, 3, 6} {
			var filters [4]*Sliced
			for way := range filters {
				c := SlicedConfig{Bits: 24_000, K: 6, AtLeast: atLeast, FirstTest: way&1 > 0, Pipelined: way&2 > 0}
				filters[way] = must[*Sliced](t)(slice(c))
			}
			known, model := map[uint64]bool{}, costModel{set: map[uint64]bool{}}
			for i, id := range ids {
				want := filters[0].TestAndSet(digestOf(id))
				for way, f := range filters[1:] {
					if got := f.TestAndSet(digestOf(id)); got != want {
						t.Fatalf("%s, at least %d: element %d seen %v, by way %d %v", name, atLeast, i, want, way+1, got)
					}
				}
				model.count(filters[0].pos, want)
				for way, f := range filters {
					if c := f.Cost(); c != model.costs[way] || c.Messages() != c.Tests+c.Sets+c.Answers {
						t.Fatalf("%s, way %d, element %d: cost %+v, want %+v", name, way, i, c, model.costs[way])
					}
				}
				if known[id] && !want && (atLeast == 0 || i < 500) {
					t.Fatalf("%s, at least %d: element %d is missed", name, atLeast, i)
				}
				known[id] = true
				for _, f := range filters {
					if i%500 == 499 && f.Fail(i/500) != nil {
						t.Fatal("no such slice")
					}
				}
				model.failed = (i + 1) / 500
			}
			for way, f := range filters {
				loads := 0
				for _, load := range f.Loads() {
					loads += load
				}
				if loads != model.costs[way].Tests {
					t.Errorf("%s: loads %d of %d tests", name, f.Loads(), model.costs[way].Tests)
				}
			}
			requireParameterErrors(t, map[string]error{"fail": filters[0].Fail(12), "fail below 0": filters[0].Fail(-1)})
		}
	}
}

// costModel counts the messages of 12 slices of 2000 bits, by way. A position takes 11
// bits in its slice, and 15 in the filter.
type costModel struct {
	set    map[uint64]bool // bits
	failed int             // slices, from the first on
	costs  [4]Cost
}

// count adds an element with bits at the positions.
func (m *costModel) count(pos []uint64, seen bool) {
	var hops [][]uint64 // positions by working slice
	for _, p := range pos {
		at := slices.IndexFunc(hops, func(hop []uint64) bool { return hop[0]/2000 == p/2000 })
		switch {
		case int(p/2000) < m.failed:
		case at < 0:
			hops = append(hops, []uint64{p})
		default:
			hops[at] = append(hops[at], p)
		}
	}
	isClear := func(p uint64) bool { return !m.set[p] }
	clear := slices.IndexFunc(hops, func(hop []uint64) bool { return slices.ContainsFunc(hop, isClear) })
	for way := range m.costs {
		c, firstTest, pipelined := &m.costs[way], way&1 > 0, way&2 > 0
		asked := hops
		if firstTest && pipelined && clear >= 0 {
			asked = hops[:clear+1]
		}
		requests, answers := [][][]uint64{asked}, len(asked)
		if pipelined {
			answers = min(answers, 1)
		}
		if firstTest && !seen {
			requests = append(requests, hops)
			c.Sets += len(hops)
		}
		c.Events, c.Tests, c.Answers = c.Events+1, c.Tests+len(asked), c.Answers+answers
		for _, round := range requests {
			for i, hop := range round {
				c.PositionBits += 11 * len(hop)
				if pipelined {
					c.PositionBits += 15 * len(slices.Concat(hops[i+1:]...))
				}
			}
		}
	}
	for _, p := range slices.Concat(hops...) {
		m.set[p] = true
	}
}

// fanOuts are trees of several shapes, from only a root to four levels of children.
var fanOuts = [][]int{nil, {5}, {1, 1, 3}, {3, 4}, {2, 2, 2, 2}}

// TestTreesAreOneFilter is Propositions 3 and 4, element for element: dense and sparse
// trees give the verdicts of a single filter, whatever leaves the elements come from.
// With top-down testing an element that a single filter calls distinct is distinct too;
// confirmation by only the root misses no duplicate, for which it takes d = 2.
//
// By Lemma 1 a tree with a root in vertical slices gives the verdicts of the sliced
// filter by itself, and so do trees with other nodes in slices. With a horizontal root it calls
// more elements duplicates.
func TestTreesAreOneFilter(t *testing.T) {
	const m, k = 20_000, 4
	ids := shuffled(12_000, 5_000, 21)
	compare := func(c TreeConfig, single Filter, differ bool) (missed, more int) {
		tree, random, known := must[*Tree](t)(NewTree(c)), rand.New(rand.NewPCG(22, 0)), map[uint64]bool{}
		for i, id := range ids {
			want := single.TestAndSet(digestOf(id))
			seen := tree.TestAndSetFrom(random.IntN(tree.below[0]), digestOf(id))
			if seen != want && !differ {
				t.Fatalf("%+v: element %d: seen %v, by a single filter %v", c, i, seen, want)
			}
			if known[id] && !seen {
				missed++
			}
			if seen && !want {
				more++
			}
			known[id] = true
		}
		return missed, more
	}
	for _, dense := range []bool{false, true} {
		for _, fanOut := range fanOuts {
			for topDown := range len(fanOut) + 1 {
				c := TreeConfig{Bits: m, K: k, FanOut: fanOut, Dense: dense, TopDown: topDown}
				missed, more := compare(c, must[*Bloom](t)(NewBloom(m, k)), topDown > 0)
				if more > 0 || missed > 0 != (topDown > 1 && fanOut[0] > 1) {
					t.Errorf("%+v: %d missed, %d found that a single filter does not", c, missed, more)
				}
			}
		}
		for _, choices := range []int{1, k} { // of slices: horizontal ones, and vertical ones
			for _, level := range []int{0, 1, 2} { // of the nodes in slices, every other one
				sliced := func(at, number int) *Sliced {
					if at != level || number%2 > 0 {
						return nil
					}
					return must[*Sliced](t)(NewSplit(SlicedConfig{Bits: m, K: k, Slices: 10}, choices))
				}
				alone := must[*Sliced](t)(NewSplit(SlicedConfig{Bits: m, K: k, Slices: 10}, max(choices, k*min(1, level))))
				c := TreeConfig{Bits: m, K: k, FanOut: []int{3, 4}, Dense: dense, Sliced: sliced}
				missed, more := compare(c, alone, choices == 1)
				if choices == k && missed > 0 || choices == 1 && level == 0 && more == 0 {
					t.Errorf("level %d in slices, %d choices, dense %v: %d missed, %d more found", level, choices, dense, missed, more)
				}
			}
		}
	}
}

// TestTreesOfTimers: with a window too, dense and sparse trees give the verdicts of one
// filter, whatever leaves the elements come from, late ones included.
func TestTreesOfTimers(t *testing.T) {
	for _, fanOut := range fanOuts {
		c := TreeConfig{Bits: 800, K: 3, FanOut: fanOut, Window: 50}
		sparse := must[*Tree](t)(NewTree(c))
		c.Dense = true
		dense := must[*Tree](t)(NewTree(c))
		single := must[*TimerBloom](t)(NewTimerBloom(TimerConfig{Timers: c.Bits, K: c.K, Window: c.Window}))
		random, hits := rand.New(rand.NewPCG(25, 0)), 0
		timedEvents(20_000, 400, uint64(c.Window), 26, func(element, unit uint64) {
			d, leaf := digestOf(element), random.IntN(sparse.below[0])
			want := single.TestAndSetAt(d, unit)
			if s, e := sparse.TestAndSetFromAt(leaf, d, unit), dense.TestAndSetFromAt(leaf, d, unit); s != want || e != want {
				t.Fatalf("%v: element %d in unit %d: single %v, sparse %v, dense %v", fanOut, element, unit, want, s, e)
			}
			if want {
				hits++
			}
		})
		last := len(fanOut)
		if hits < 1000 || last > 0 && dense.Levels()[last].Hits <= sparse.Levels()[last].Hits {
			t.Errorf("%v: %d duplicates; leaves of dense trees should have the more: %v, %v", fanOut, hits, dense.Levels(), sparse.Levels())
		}
	}
}

func TestTreeBits(t *testing.T) {
	for want, c := range map[int]TreeConfig{
		90: {FanOut: []int{2, 3}}, 120: {FanOut: []int{2}, Window: 8},
		27: {FanOut: []int{2}, Sliced: OnlyRoot(must[*Sliced](t)(NewVertical(SlicedConfig{Bits: 7, K: 1, Slices: 1})))},
	} {
		if c.Bits, c.K = 10, 1; must[*Tree](t)(NewTree(c)).Bits() != want {
			t.Errorf("%+v: not %d bits", c, want)
		}
	}
}

// TestTreeCounts compares the counts of large filters, where nothing matches by chance,
// with the counts of exact sets.
func TestTreeCounts(t *testing.T) {
	for _, fanOut := range fanOuts {
		for _, dense := range []bool{false, true} {
			tree := must[*Tree](t)(NewTree(TreeConfig{Bits: 1 << 18, K: 7, FanOut: fanOut, Dense: dense}))
			held, counts := map[[3]uint64]bool{}, make([]LevelCounts, len(fanOut)+1) // level, node, element
			random := rand.New(rand.NewPCG(24, 0))
			for _, id := range shuffled(3_000, 500, 23) {
				leaf := random.IntN(tree.below[0])
				tree.TestAndSetFrom(leaf, digestOf(id))
				var way [][3]uint64
				hit := false
				for level := len(fanOut); level >= 0 && !hit; level-- {
					node := [3]uint64{uint64(level), uint64(leaf), id}
					counts[level].Tests++
					if hit = held[node]; hit {
						counts[level].Hits++
					}
					if hit || level == 0 {
						counts[level].Ends++
					} else {
						leaf /= fanOut[level-1]
					}
					way = append(way, node)
				}
				for _, node := range way {
					held[node] = held[node] || dense || !hit
					if !dense && !hit {
						counts[node[0]].Sets++
					}
				}
			}
			if got, want := fmt.Sprint(tree.Levels()), fmt.Sprint(counts); got != want {
				t.Errorf("%v, dense %v: counts %v, want %v", fanOut, dense, got, want)
			}
		}
	}
}

// TestTopDownTests counts the tests of one match by hand. In a tree of three levels with
// two children for each node, an element is stored below leaf 0 and comes from leaf 3.
func TestTopDownTests(t *testing.T) {
	for d, want := range map[int][]int{
		0: {1, 1, 1}, // leaf 3, its parent, the root
		1: {1, 2, 1}, // and the root's other child
		2: {1, 2, 3}, // and both of its leaves
	} {
		tree := must[*Tree](t)(NewTree(TreeConfig{Bits: 1 << 12, K: 5, FanOut: []int{2, 2}, TopDown: d}))
		tree.TestAndSetFrom(0, digestOf(1))
		before := tree.Levels()
		if !tree.TestAndSetFrom(3, digestOf(1)) {
			t.Fatalf("d = %d: the element is missed", d)
		}
		for level, counts := range tree.Levels() {
			if got := counts.Tests - before[level].Tests; got != want[level] {
				t.Errorf("d = %d: %d tests at level %d, want %d", d, got, level, want[level])
			}
		}
	}
}

// TestUnconfirmedMatches looks for elements whose bits are set in the parent of all
// leaves, but in no single one. The parent's match is not confirmed then. A sparse tree
// sets only the bits below the match, as the match and the nodes above it have them. With
// a window all nodes of the path take the element anew.
func TestUnconfirmedMatches(t *testing.T) {
	for _, c := range []struct {
		dense  bool
		window int
		sets   []int // by level
	}{{false, 0, []int{0, 0, 1}}, {true, 0, []int{0, 0, 0}}, {false, 50, []int{1, 1, 1}}, {true, 50, []int{1, 1, 1}}} {
		shape := TreeConfig{Bits: 200, K: 3, FanOut: []int{1, 4}, TopDown: 2, Dense: c.dense, Window: c.window}
		tree, unconfirmed := must[*Tree](t)(NewTree(shape)), 0
		for id := range uint64(60) {
			before := tree.Levels()
			tree.TestAndSetFromAt(int(id%4), digestOf(id), 1)
			after := tree.Levels()
			if after[1].Ends == before[1].Ends || after[1].Hits > before[1].Hits {
				continue
			}
			unconfirmed++
			for level, want := range c.sets {
				if got := after[level].Sets - before[level].Sets; got != want {
					t.Errorf("%+v: %d sets at level %d, want %d", c, got, level, want)
				}
			}
		}
		if unconfirmed == 0 {
			t.Errorf("%+v: all matches were confirmed", c)
		}
	}
}

// TestDistributedErrors leaves each bound of each parameter.
func TestDistributedErrors(t *testing.T) {
	timers := TimerConfig{Timers: 1000, K: 4, Window: 10, Equal: 2}
	requireBounds(t, NewTimerBloom, timers,
		bounds{"Timers": {1, maxTimers}, "K": {2, maxHashes}, "Window": {1, math.MaxInt / 2}, "Equal": {0, 4}})
	dynamic := DynamicConfig{Filter: timers, FPR: .05, MaxFilters: 4}
	requireBounds(t, NewDynamic, dynamic, bounds{"Rule": {0, 1}, "MaxFilters": {1, maxTimers / 1000}})
	dynamic.Filter = TimerConfig{K: 4, Timers: 1000}
	ofFilter := func(c TimerConfig) (*Dynamic, error) {
		return NewDynamic(DynamicConfig{Filter: c, FPR: .05, MaxFilters: 4})
	}
	requireBounds(t, ofFilter, dynamic.Filter,
		bounds{"Timers": {7, maxTimers / 4}, "K": {1, maxHashes}, "Equal": {0, 1}})
	sliced := SlicedConfig{Bits: 100, K: 4, Slices: 5}
	requireBounds(t, NewVertical, sliced,
		bounds{"Bits": {5, maxBits}, "K": {1, maxHashes}, "Slices": {1, 100}, "AtLeast": {0, 4}})
	sliced.Bits = maxBits
	requireParameterErrors(t, map[string]error{
		"FPR":              failure(NewDynamic(DynamicConfig{Filter: timers, FPR: 1, MaxFilters: 4})),
		"FPR not a number": failure(NewDynamic(DynamicConfig{Filter: timers, FPR: math.NaN(), MaxFilters: 4})),
		"window below 0":   failure(ofFilter(TimerConfig{Timers: 1000, K: 4, Window: -1})),
		"no timer":         failure(NewTimerSlices(TimerConfig{K: 1, Window: 1}, 1)),
		"no slice":         failure(NewTimerSlices(timers, 0)),
		"many slices":      failure(NewTimerSlices(timers, 1001)),
		"too many slices":  failure(NewVertical(SlicedConfig{Bits: maxBits, K: 4, Slices: maxSlices + 1})),
		"k1":               failure(NewSplit(sliced, 3)),
		"no k1":            failure(NewSplit(sliced, 0)),
		"split without K":  failure(NewSplit(SlicedConfig{Bits: 10, Slices: 1}, 1)),
		"inner":            failure(NewHVDiced(sliced, 0)),
		"inner bits":       failure(NewVHDiced(sliced, maxSlices/5+1)),
		"inner overflow":   failure(NewVHDiced(sliced, math.MaxInt)),
	})
	tree := TreeConfig{Bits: 8, K: 1, FanOut: []int{2}}
	requireBounds(t, NewTree, tree,
		bounds{"Bits": {1, maxBits / 3}, "K": {1, maxHashes}, "TopDown": {0, 1}, "Window": {0, math.MaxInt / 2}})
	for _, fanOut := range [][]int{{1000, 1100}, {maxSlices - 1, 1}, {math.MaxInt, math.MaxInt}, {2, 0}} {
		err := failure(NewTree(TreeConfig{Bits: 8, K: 1, FanOut: fanOut}))
		requireParameterErrors(t, map[string]error{fmt.Sprint(fanOut): err})
	}
	tree.Sliced = func(int, int) *Sliced { return nil }
	requireBounds(t, NewTree, tree, bounds{"Window": {0, 0}, "TopDown": {0, 1}})
}
