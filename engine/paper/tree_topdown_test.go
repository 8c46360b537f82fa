package paper

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/engine/theory"
)

// TestTopDownKeepsDistinct: an element that a single filter calls distinct is distinct
// for a tree with top-down testing too (Proposition 4). What the root alone confirms
// misses no duplicate: that takes d = 2.
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

// TestTopDownBound gives distinct elements to a sparse tree. The false positives are
// at most as many as the closed form's bound, but for 1e-6 of all choices of ids, and
// fewer than half of those without top-down testing.
func TestTopDownBound(t *testing.T) {
	const m, k, n, step = 30_000, 4, 9_000, 100
	fanOut := []int{2, 2, 2}
	form := theory.Tree{Bits: m, K: k, FanOut: fanOut}
	var plain int
	for d := range len(fanOut) + 1 {
		tree := newTestTree(t, TreeConfig{Bits: m, K: k, FanOut: fanOut, TopDown: d})
		reported, sum := 0, 0.0
		for id := range n {
			if tree.TestAndSetFrom(id%tree.Leaves(), digestOf(uint64(id))) {
				reported++
			}
			if id%step == step/2 {
				bound, err := form.SparseTopDownFPR(id, d)
				if err != nil {
					t.Fatal(err)
				}
				sum += step * bound
			}
		}
		if _, high := interval(n, sum/n); reported > high {
			t.Errorf("d = %d: %d false positives, want at most %d", d, reported, high)
		}
		if d == 0 {
			plain = reported
		} else if 2*reported > plain {
			t.Errorf("d = %d: %d false positives, %d without", d, reported, plain)
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
