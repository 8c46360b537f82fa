package paper

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// fanOuts are trees of several shapes, from a root alone to four levels of children.
var fanOuts = [][]int{nil, {5}, {1, 1, 3}, {3, 4}, {2, 2, 2, 2}}

func newTestTree(t *testing.T, c TreeConfig) *Tree {
	t.Helper()
	tree, err := NewTree(c)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// TestTreesAreOneFilter is Propositions 3 and 4, element for element: dense and sparse
// trees give the verdicts of a single filter, whatever leaves the elements come from.
func TestTreesAreOneFilter(t *testing.T) {
	const m, k = 20_000, 4
	ids := biasedStream(12_000, 5_000, 21)
	for _, fanOut := range fanOuts {
		sparse := newTestTree(t, TreeConfig{Bits: m, K: k, FanOut: fanOut})
		dense := newTestTree(t, TreeConfig{Bits: m, K: k, FanOut: fanOut, Dense: true})
		single, err := NewBloom(m, k)
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(22, 0))
		for i, id := range ids {
			d, leaf := digestOf(uint64(id)), random.IntN(sparse.Leaves())
			want := single.TestAndSet(d)
			if s, e := sparse.TestAndSetFrom(leaf, d), dense.TestAndSetFrom(leaf, d); s != want || e != want {
				t.Fatalf("%v: element %d: single %v, sparse %v, dense %v", fanOut, i, want, s, e)
			}
		}
		checkNested(t, sparse)
		checkNested(t, dense)
	}
}

// TestTreesOfTimers: with a window too, dense and sparse trees give the verdicts of one
// filter, whatever leaves the elements come from, late ones included.
func TestTreesOfTimers(t *testing.T) {
	for _, fanOut := range fanOuts {
		c := TreeConfig{Bits: 800, K: 3, FanOut: fanOut, Window: 50}
		sparse := newTestTree(t, c)
		c.Dense = true
		dense := newTestTree(t, c)
		single := timedMust[*TimerBloom](t)(NewTimerBloom(TimerConfig{Timers: c.Bits, K: c.K, Window: c.Window}))
		random, hits := rand.New(rand.NewPCG(25, 0)), 0
		timedEvents(20_000, 400, uint64(c.Window), 26, func(element, unit uint64) {
			d, leaf := digestOf(element), random.IntN(sparse.Leaves())
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

// TestSlicedRoots is Lemma 1, element for element: with a root in vertical slices a tree
// gives the verdicts of the sliced filter alone. With horizontal ones it may call more
// elements duplicates, and misses none of those that came.
func TestSlicedRoots(t *testing.T) {
	ids := biasedStream(12_000, 5_000, 27)
	for _, dense := range []bool{false, true} {
		for name, create := range map[string]func(SlicedConfig) (*Sliced, error){"vertical": NewVertical, "horizontal": NewHorizontal} {
			c := SlicedConfig{Bits: 20_000, K: 4, Slices: 10}
			root, err := create(c)
			alone, errAlone := create(c)
			if err = errors.Join(err, errAlone); err != nil {
				t.Fatal(err)
			}
			tree := newTestTree(t, TreeConfig{Bits: c.Bits, K: c.K, FanOut: []int{3, 4}, Dense: dense, Root: root})
			random, known, more := rand.New(rand.NewPCG(28, 0)), map[uint32]bool{}, 0
			for i, id := range ids {
				d := digestOf(uint64(id))
				want, seen := alone.TestAndSet(d), tree.TestAndSetFrom(random.IntN(12), d)
				if known[id] && !seen && name == "vertical" || name == "vertical" && seen != want {
					t.Fatalf("%s, element %d: %v, alone %v", name, i, seen, want)
				}
				if seen && !want && !known[id] {
					more++
				}
				known[id] = true
			}
			if name == "horizontal" && more == 0 {
				t.Errorf("dense %v: the nodes below a horizontal root add no false positive", dense)
			}
			if tree.Bits() != 16*c.Bits {
				t.Errorf("%d bits", tree.Bits())
			}
		}
	}
}

// checkNested checks that the bits of a node are also set in its parent.
func checkNested(t *testing.T, tree *Tree) {
	t.Helper()
	for level := 1; level < len(tree.levels); level++ {
		for number, node := range tree.levels[level] {
			parent := tree.levels[level-1][number/tree.fanOut[level-1]]
			bits, above := node.(*appendOnly).bits.words, parent.(*appendOnly).bits.words
			for i, word := range bits {
				if word&^above[i] != 0 {
					t.Fatalf("level %d, node %d has bits that its parent lacks", level, number)
				}
			}
		}
	}
}

// treeModel is a sparse or dense tree of exact sets: what a tree does when no filter
// matches by chance.
type treeModel struct {
	nodes  map[[2]int]map[uint32]bool // by level and number
	fanOut []int
	counts []LevelCounts
}

func (m *treeModel) testAndSet(leaf int, id uint32, dense bool) {
	way := [][2]int{{len(m.fanOut), leaf}}
	for level := len(m.fanOut) - 1; level >= 0; level-- {
		leaf /= m.fanOut[level]
		way = append(way, [2]int{level, leaf})
	}
	for i, node := range way {
		count := &m.counts[node[0]]
		count.Tests++
		if m.nodes[node][id] {
			count.Ends++
			count.Hits++
			m.insert(way[:i], id, dense)
			return
		}
	}
	m.counts[0].Ends++
	m.insert(way, id, true)
	if !dense {
		for level := range m.counts {
			m.counts[level].Sets++
		}
	}
}

func (m *treeModel) insert(way [][2]int, id uint32, wanted bool) {
	for _, node := range way {
		if wanted {
			if m.nodes[node] == nil {
				m.nodes[node] = map[uint32]bool{}
			}
			m.nodes[node][id] = true
		}
	}
}

// TestTreeCounts compares the counts of large filters, where nothing matches by
// chance, with those of exact sets.
func TestTreeCounts(t *testing.T) {
	ids := biasedStream(3_000, 500, 23)
	for _, fanOut := range fanOuts {
		for _, dense := range []bool{false, true} {
			tree := newTestTree(t, TreeConfig{Bits: 1 << 18, K: 7, FanOut: fanOut, Dense: dense})
			model := treeModel{
				nodes: map[[2]int]map[uint32]bool{}, fanOut: fanOut, counts: make([]LevelCounts, len(fanOut)+1),
			}
			random := rand.New(rand.NewPCG(24, 0))
			for _, id := range ids {
				leaf := random.IntN(tree.Leaves())
				tree.TestAndSetFrom(leaf, digestOf(uint64(id)))
				model.testAndSet(leaf, id, dense)
			}
			if got, want := fmt.Sprint(tree.Levels()), fmt.Sprint(model.counts); got != want {
				t.Errorf("%v, dense %v: counts %v, want %v", fanOut, dense, got, want)
			}
		}
	}
}

func TestTreeErrors(t *testing.T) {
	failure := func(_ any, err error) error { return err }
	for name, err := range map[string]error{
		"bits":           failure(NewTree(TreeConfig{K: 1})),
		"too many bits":  failure(NewTree(TreeConfig{Bits: maxBits/3 + 1, K: 1, FanOut: []int{2}})),
		"K":              failure(NewTree(TreeConfig{Bits: 8})),
		"too many nodes": failure(NewTree(TreeConfig{Bits: 8, K: 1, FanOut: []int{1000, 1100}})),
		"full":           failure(NewTree(TreeConfig{Bits: 8, K: 1, FanOut: []int{maxSlices - 1, 1}})),
		"overflow":       failure(NewTree(TreeConfig{Bits: 8, K: 1, FanOut: []int{math.MaxInt, math.MaxInt}})),
		"no children":    failure(NewTree(TreeConfig{Bits: 8, K: 1, FanOut: []int{2, 0}})),
		"TopDown":        failure(NewTree(TreeConfig{Bits: 8, K: 1, FanOut: []int{2}, TopDown: 2})),
		"window":         failure(NewTree(TreeConfig{Bits: 8, K: 1, Window: -1})),
		"root, window":   failure(NewTree(TreeConfig{Bits: 8, K: 1, FanOut: []int{2}, Window: 1, Root: &Bloom{}})),
		"root, no level": failure(NewTree(TreeConfig{Bits: 8, K: 1, Root: &Bloom{}})),
		"TopDown low":    failure(NewTree(TreeConfig{Bits: 8, K: 1, FanOut: []int{2}, TopDown: -1})),
	} {
		if !errors.Is(err, ErrParameter) {
			t.Errorf("%s: error %v, want %v", name, err, ErrParameter)
		}
	}
	if tree := newTestTree(t, TreeConfig{Bits: 10, K: 1, FanOut: []int{2, 3}}); tree.Bits() != 90 || tree.Leaves() != 6 {
		t.Errorf("%d bits and %d leaves, want 90 and 6", tree.Bits(), tree.Leaves())
	}
}

// TestTopDownKeepsDistinct: an element that a single filter calls distinct is distinct
// for a tree with top-down testing too (Proposition 4). Confirmation by the root alone
// misses no duplicate; misses need d = 2.
func TestTopDownKeepsDistinct(t *testing.T) {
	const m, k, distinct = 20_000, 4, 5_000
	ids := biasedStream(12_000, distinct, 31)
	for _, fanOut := range fanOuts {
		for d := range len(fanOut) + 1 {
			for _, dense := range []bool{false, true} {
				name := fmt.Sprintf("%v, d = %d, dense %v", fanOut, d, dense)
				tree := newTestTree(t, TreeConfig{Bits: m, K: k, FanOut: fanOut, Dense: dense, TopDown: d})
				single, err := NewBloom(m, k)
				if err != nil {
					t.Fatal(err)
				}
				random := rand.New(rand.NewPCG(32, 0))
				known := make([]bool, distinct)
				for i, id := range ids {
					digest := digestOf(uint64(id))
					seen := tree.TestAndSetFrom(random.IntN(tree.Leaves()), digest)
					if !single.TestAndSet(digest) && seen {
						t.Fatalf("%s: element %d is distinct for a single filter", name, i)
					}
					if d <= 1 && known[id] && !seen {
						t.Fatalf("%s: element %d is missed", name, i)
					}
					known[id] = true
				}
				checkNested(t, tree)
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
		tree := newTestTree(t, TreeConfig{Bits: 1 << 12, K: 5, FanOut: []int{2, 2}, TopDown: d})
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
