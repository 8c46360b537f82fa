package paper

import (
	"fmt"

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
	// Dense selects a dense tree, by test-and-set; otherwise the tree is sparse, by
	// first-test-then-set.
	Dense bool
	// TopDown is d: matches at levels below d are confirmed from the top down, to level
	// d. It is from 0, which confirms none, to the leaves' level, len(FanOut).
	TopDown int
}

// Tree is the Bloom tree of paper "One is Enough: Distributed Filtering for Duplicate
// Elimination" (Koloniari, Ntarmos, Pitoura, Souravlias, CIKM 2011), section 6: a tree of
// Bloom filters with the same size and hash functions. The nodes on the path from the
// producer's leaf to the root test an element, which is a duplicate at the first match.
// In a dense tree (Algorithm 1) each node inserts the element as it misses it. In a
// sparse tree (Algorithm 2) the nodes of the path insert it after all have missed it.
//
// A node's bits are always among those of its parent. So, without top-down testing,
// dense and sparse trees and a single filter of that size all give the same verdicts,
// element for element (Propositions 3 and 4), and no duplicate is missed.
//
// With top-down testing, a match at a level above d in the tree (a smaller number) counts
// only if matching children lead from it down to level d. Interpretation:
//
//   - "If all the children indicate a miss, then u is considered distinct": this happens
//     if no path of matches reaches level d.
//   - "The process stops" then: the levels above the match are not tested. From d = 2 on,
//     a tree therefore misses some duplicates: those that are stored under another node
//     than the one that matched by chance.
//   - "No bits are set" in the nodes tested top-down. But a sparse tree sets the bits in
//     the nodes of the path up to the match, as it does for all distinct elements: by
//     Definition 5 each is in at least one leaf. Otherwise all further copies of such an
//     element would count as distinct.
//
// The time for an element grows with K and the depth, or with the number of nodes if most
// nodes match. A tree serves one goroutine.
type Tree struct {
	levels  [][]cells // nodes by level, the root first
	below   []int     // leaves below a node of each level
	fanOut  []int
	m       uint64
	pos     []uint64 // of the element, in all nodes
	dense   bool
	topDown int
	counts  []LevelCounts
}

// LevelCounts holds what happened at one level of a tree.
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
		levels:  make([][]cells, len(widths)),
		below:   make([]int, len(widths)),
		fanOut:  append([]int(nil), c.FanOut...),
		m:       uint64(c.Bits),
		pos:     make([]uint64, c.K),
		dense:   c.Dense,
		topDown: c.TopDown,
		counts:  make([]LevelCounts, len(widths)),
	}
	leaves := widths[len(widths)-1]
	for level, width := range widths {
		t.below[level] = leaves / width
		t.levels[level] = make([]cells, width)
		for i := range t.levels[level] {
			t.levels[level][i] = newCells(c.Bits, 1)
		}
	}
	return t, nil
}

// widths returns the number of nodes at each level.
func (c TreeConfig) widths() ([]int, error) {
	if err := requireRange("K", c.K, 1, maxHashes); err != nil {
		return nil, err
	}
	widths, nodes := []int{1}, 1
	for level, children := range c.FanOut {
		last := widths[level]
		room := (maxSlices - nodes) / last
		if room == 0 {
			return nil, fmt.Errorf("paper: %d nodes above level %d leave no room for another of %d, of at most %d in all: %w",
				nodes, level+1, last, maxSlices, ErrParameter)
		}
		if err := requireRange("fan-out", children, 1, room); err != nil {
			return nil, fmt.Errorf("level %d: %w", level, err)
		}
		widths = append(widths, last*children)
		nodes += last * children
	}
	if err := requireRange("Bits", c.Bits, 1, maxBits/nodes); err != nil {
		return nil, fmt.Errorf("%d nodes: %w", nodes, err)
	}
	return widths, requireRange("TopDown", c.TopDown, 0, len(c.FanOut))
}

// TestAndSetFrom reports whether the element was seen before at any leaf, and remembers
// it. leaf belongs to the element's producer and is from 0 to Leaves - 1. Any other
// panics, as an index out of range does.
func (t *Tree) TestAndSetFrom(leaf int, d digest.Digest) (seen bool) {
	positions(t.pos, d, t.m)
	level, match := t.climb(leaf)
	t.counts[level].Ends++
	if match && t.confirmed(level, leaf) {
		t.counts[level].Hits++
		return true
	}
	if !t.dense {
		unset := level
		if match {
			unset++ // the match has the bits already
		}
		t.setFrom(unset, leaf)
	}
	return false
}

// climb tests the nodes from the leaf upward. It returns the level of the first match, or
// the root's if there is none.
func (t *Tree) climb(leaf int) (level int, match bool) {
	for level = len(t.levels) - 1; ; level-- {
		if t.matches(level, t.ancestor(level, leaf)) {
			return level, true
		}
		if t.dense {
			setAll(t.node(level, leaf), t.pos)
		}
		if level == 0 {
			return 0, false
		}
	}
}

// setFrom sets the element's bits in the nodes from a level down to the leaf.
func (t *Tree) setFrom(level, leaf int) {
	for ; level < len(t.levels); level++ {
		t.counts[level].Sets++
		setAll(t.node(level, leaf), t.pos)
	}
}

// matches tests a node, given by its number within the level.
func (t *Tree) matches(level, number int) bool {
	t.counts[level].Tests++
	return allSet(&t.levels[level][number], t.pos)
}

// ancestor returns the number of the leaf's ancestor at a level.
func (t *Tree) ancestor(level, leaf int) int { return leaf / t.below[level] }

func (t *Tree) node(level, leaf int) *cells { return &t.levels[level][t.ancestor(level, leaf)] }

// Leaves returns the number of leaves.
func (t *Tree) Leaves() int { return t.below[0] }

// Levels returns the counts of each level since the tree was made, the root's
// first.
func (t *Tree) Levels() []LevelCounts { return append([]LevelCounts(nil), t.counts...) }

// Bits returns the memory of all nodes, in bits.
func (t *Tree) Bits() int {
	nodes := 0
	for _, level := range t.levels {
		nodes += len(level)
	}
	return nodes * int(t.m)
}

// setAll sets the bits at the positions.
func setAll(bits *cells, pos []uint64) {
	for _, i := range pos {
		bits.put(i, 1)
	}
}

// confirmed applies the top-down testing heuristic to a match on the path of the leaf. It
// reports whether the match is at level d or below it, or leads to a match at level d. It
// tests all children of a match except the one on the path.
func (t *Tree) confirmed(level, leaf int) bool {
	if level >= t.topDown {
		return true
	}
	matches := t.matchingChildren(level, t.ancestor(level, leaf), t.ancestor(level+1, leaf))
	for level++; level < t.topDown && len(matches) > 0; level++ {
		var next []int
		for _, number := range matches {
			next = append(next, t.matchingChildren(level, number, none)...)
		}
		matches = next
	}
	return len(matches) > 0
}

// none stands for no child.
const none = -1

// matchingChildren tests the children of a node but one, and returns the numbers of
// those that match.
func (t *Tree) matchingChildren(level, number, except int) (matches []int) {
	first := number * t.fanOut[level]
	for child := first; child < first+t.fanOut[level]; child++ {
		if child != except && t.matches(level+1, child) {
			matches = append(matches, child)
		}
	}
	return matches
}
