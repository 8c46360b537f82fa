// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// TreeConfig says which Bloom tree to build.
type TreeConfig struct {
	Bits int // m, the bits of each node's filter; all nodes together have at most 2^38
	K    int // hash functions, from 1 to 1024, the same in all nodes

	// FanOut holds the number of children of a node of level 0, which is the root, of
	// level 1, and so on down to the leaves' parents. A tree has at most 2^20 nodes. If
	// it is empty, the root is the only leaf.
	FanOut []int
	// Dense selects a dense tree, by test-and-set without a window; otherwise the tree is
	// sparse, by first-test-then-set.
	Dense bool
	// TopDown is d: matches at levels below d are confirmed from the top down, to level
	// d. It is from 0, which confirms none, to the leaves' level, len(FanOut).
	TopDown int
	// Window is w in time units if nodes are filters of timers, or 0 for Bloom filters.
	Window int
	// Sliced, if it is not nil, returns the filter of a node in place of a filter like the others
	// (Lemma 1 has it for the root), by its level and its number there, or nil. Filters must be
	// empty, and go without Window. The other nodes have the hash functions of vertical slices
	// then.
	Sliced func(level, number int) *Sliced
}

// Tree is the Bloom tree of KNPS, section 6: a tree of Bloom filters with the same size
// and hash functions. The nodes on the path from the producer's leaf to the root test an
// element, which is a duplicate at the first match. In a dense tree (Algorithm 1) each
// node inserts the element as it misses it. In a sparse tree (Algorithm 2) the nodes of
// the path insert it after all have missed it.
//
// With a window (section 6, "enhanced with timers") nodes are [TimerBloom] filters, and
// both kinds of trees test first, as the paper says: a distinct element sets its timers
// in all nodes of its path. Interpretation: a dense tree also sets the timers of the
// nodes that missed a duplicate, to the remaining time of the copy in the node that
// matched. So no node holds an element longer than the root, and the verdicts equal those
// of one filter of timers.
//
// A tree with sliced nodes, the root or others, gives the verdicts of the sliced filter by
// itself if slices are vertical, with m bits in all and K hash functions, like the nodes
// (Lemma 1). A horizontal filter has other bits than the nodes above and below, whose false
// positives add to its own.
//
// A node's bits are always a subset of its parent's. So, without top-down testing, dense
// and sparse trees and a single filter of that size all give the same verdicts, element
// for element (Propositions 3 and 4), and no duplicate is missed.
//
// With top-down testing, a match at a level above d in the tree (a smaller number) counts
// only if matching children lead from it down to level d. Interpretation:
//
//   - "If all the children indicate a miss, then u is considered distinct": this happens
//     if no path of matches reaches level d.
//   - "The process stops" then: the levels above the match are not tested. From d = 2 on,
//     a tree therefore misses some duplicates: elements that are stored under another
//     node than the node that matched by chance.
//   - "No bits are set" in the nodes tested top-down. But a sparse tree sets the bits in
//     the nodes of the path up to the match, as it does for all distinct elements: by
//     Definition 5 each is in at least one leaf. Otherwise all further copies of such an
//     element would count as distinct.
//
// The time for an element grows with K and the depth, or with the number of nodes if most
// nodes match. A tree serves one goroutine.
type Tree struct {
	config TreeConfig
	timed  bool         // with a window
	levels [][]treeNode // nodes by level, the root first
	below  []int        // leaves below a node of each level
	now    uint64
	counts []LevelCounts
}

// LevelCounts counts the accesses and the outcomes at one level of a tree.
type LevelCounts struct {
	Tests int // accesses that test or, in a dense tree on the way up, test and set
	Sets  int // accesses that only set, in a sparse tree
	Ends  int // elements whose way up ended here: at a match, or at the root
	Hits  int // of these, reported as duplicates
}

// Accesses returns how often a node of the level was accessed.
func (c LevelCounts) Accesses() int { return c.Tests + c.Sets }

// NewTree returns an empty tree; errors wrap [ErrParameter].
func NewTree(c TreeConfig) (*Tree, error) {
	widths, err := c.widths()
	if err != nil {
		return nil, err
	}
	t := &Tree{
		config: c,
		timed:  c.Window > 0,
		levels: make([][]treeNode, len(widths)),
		below:  make([]int, len(widths)),
		counts: make([]LevelCounts, len(widths)),
	}
	t.config.FanOut = slices.Clone(c.FanOut)
	for level, width := range widths {
		t.below[level] = widths[len(widths)-1] / width
		for number := range width {
			t.levels[level] = append(t.levels[level], c.newNode(level, number))
		}
	}
	return t, nil
}

// OnlyRoot is [TreeConfig.Sliced] for a tree with a sliced root.
func OnlyRoot(root *Sliced) func(level, number int) *Sliced {
	return func(level, _ int) *Sliced {
		if level > 0 {
			return nil
		}
		return root
	}
}

// newNode returns the filter of a node.
func (c TreeConfig) newNode(level, number int) treeNode {
	if c.Sliced == nil {
		return newLayer(TimerConfig{Timers: c.Bits, K: c.K, Window: c.Window})
	}
	if sliced := c.Sliced(level, number); sliced != nil {
		return slicedLayer{sliced}
	}
	bloom := newBloom(c.Bits, c.K)
	bloom.hash = independent
	return bloom
}

// widths returns the number of nodes at each level.
func (c TreeConfig) widths() ([]int, error) {
	if err := requireRange("K", c.K, 1, maxHashes); err != nil {
		return nil, err
	}
	widths, nodes := []int{1}, 1
	for level, children := range c.FanOut {
		last := widths[level]
		if err := requireRange("fan-out", children, 1, (maxSlices-nodes)/last); err != nil {
			return nil, fmt.Errorf("level %d: %w", level, err)
		}
		widths = append(widths, last*children)
		nodes += last * children
	}
	if err := cmp.Or(
		requireRange("Bits of a node", c.Bits, 1, maxBits/nodes),
		requireRange("window", c.Window, 0, math.MaxInt/2),
		requireRange("TopDown", c.TopDown, 0, len(c.FanOut)),
	); err != nil {
		return nil, err
	}
	if c.Sliced != nil && c.Window != 0 {
		return nil, fmt.Errorf("paper: sliced nodes go without a window: %w", ErrParameter)
	}
	return widths, nil
}

// TestAndSetFrom reports whether the element was seen before at any leaf, and remembers
// it, in the present. leaf is the number of the producer's leaf, from 0 on. It
// panics for a leaf that does not exist, as for an index out of range.
func (t *Tree) TestAndSetFrom(leaf int, d digest.Digest) (seen bool) {
	return t.TestAndSetFromAt(leaf, d, t.now)
}

// TestAndSetFromAt is [Tree.TestAndSetFrom] for an element that came in a unit, as in
// [TimedFilter].
func (t *Tree) TestAndSetFromAt(leaf int, d digest.Digest, unit uint64) (seen bool) {
	t.now = max(t.now, unit)
	level, match := t.climb(leaf, d)
	t.counts[level].Ends++
	seen = match && t.confirmed(level, leaf, d)
	if seen {
		t.counts[level].Hits++
	}
	switch {
	case seen && t.timed && t.config.Dense:
		t.setFrom(level+1, leaf, d, t.node(level, leaf).since(d))
	case seen || t.config.Dense && !t.timed:
	case match && !t.timed:
		t.setFrom(level+1, leaf, d, unit) // the match has the bits already
	default:
		t.setFrom(0, leaf, d, unit)
	}
	return seen
}

// climb tests the nodes from the leaf upward. It returns the level of the first match, or
// the root's if there is none. In a dense tree without a window the nodes that miss the
// element take it.
func (t *Tree) climb(leaf int, d digest.Digest) (level int, match bool) {
	for level = len(t.levels) - 1; ; level-- {
		if t.matches(level, t.ancestor(level, leaf), d) {
			return level, true
		}
		if t.config.Dense && !t.timed {
			t.node(level, leaf).set(d, 0)
		}
		if level == 0 {
			return 0, false
		}
	}
}

// setFrom sets the element's bits or timers in the nodes from a level down to the leaf.
func (t *Tree) setFrom(level, leaf int, d digest.Digest, unit uint64) {
	for ; level < len(t.levels); level++ {
		t.counts[level].Sets++
		t.node(level, leaf).set(d, unit)
	}
}

// matches tests a node, given by its number within the level.
func (t *Tree) matches(level, number int, d digest.Digest) bool {
	t.counts[level].Tests++
	node := t.levels[level][number]
	node.advance(t.now)
	return node.test(d)
}

// ancestor returns the number of the leaf's ancestor at a level.
func (t *Tree) ancestor(level, leaf int) int { return leaf / t.below[level] }

func (t *Tree) node(level, leaf int) treeNode { return t.levels[level][t.ancestor(level, leaf)] }

// Levels returns the counts of each level since the tree was made, the root's first.
func (t *Tree) Levels() []LevelCounts { return slices.Clone(t.counts) }

// Bits returns the memory of all nodes, in bits.
func (t *Tree) Bits() int {
	bits := 0
	for _, node := range slices.Concat(t.levels...) {
		bits += node.Bits()
	}
	return bits
}

// confirmed applies the top-down testing heuristic to a match on the path of the leaf. It
// reports whether the match is at level d or below it, or leads to a match at level d. It
// tests all children of a match except the child on the path.
func (t *Tree) confirmed(level, leaf int, d digest.Digest) bool {
	if level >= t.config.TopDown {
		return true
	}
	matches := t.matchingChildren(level, t.ancestor(level, leaf), t.ancestor(level+1, leaf), d)
	for level++; level < t.config.TopDown && len(matches) > 0; level++ {
		var next []int
		for _, number := range matches {
			next = append(next, t.matchingChildren(level, number, none, d)...)
		}
		matches = next
	}
	return len(matches) > 0
}

// none stands for no child.
const none = -1

// matchingChildren tests the children of a node except one child, and returns the numbers
// of the matching children.
func (t *Tree) matchingChildren(level, number, except int, d digest.Digest) (matches []int) {
	first := number * t.config.FanOut[level]
	for child := first; child < first+t.config.FanOut[level]; child++ {
		if child != except && t.matches(level+1, child, d) {
			matches = append(matches, child)
		}
	}
	return matches
}
