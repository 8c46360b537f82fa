package theory

import "math"

// Tree is a Bloom tree (KNPS, section 6) all of whose filters have the same size and
// hash functions.
type Tree struct {
	Bits   int   // m of each node, at least 1
	K      int   // at least 1
	FanOut []int // children of a node of level 0, the root, of level 1, and so on; each at least 1
}

// maxNodes bounds the nodes of a level.
const maxNodes = min(1<<40, math.MaxInt)

func (t Tree) widths(n int) ([]int, error) {
	if err := requireBloom(t.Bits, t.K, n); err != nil {
		return nil, err
	}
	widths := []int{1}
	for level, children := range t.FanOut {
		if err := requireWithin("fan-out", children, 1, maxNodes/widths[level]); err != nil {
			return nil, err
		}
		widths = append(widths, widths[level]*children)
	}
	return widths, nil
}

// SparseFPR returns the false positive rate of a node of each level, the root's first,
// after n distinct elements that came evenly from all leaves into a sparse tree, in which
// the nodes of a level have disjoint sets: (1-e^(-k n'/m))^k with n' = n over the nodes
// of the level (KNPS, section 6, "False positives"). The root's is the whole tree's,
// sparse or dense, and that of a single filter (Proposition 3). Domain: n >= 0.
func (t Tree) SparseFPR(n int) ([]float64, error) {
	widths, err := t.widths(n)
	if err != nil {
		return nil, err
	}
	rates := make([]float64, len(widths))
	for level, width := range widths {
		rates[level] = bloomLimit(float64(t.K)*float64(n)/float64(width)/float64(t.Bits), t.K)
	}
	return rates, nil
}

// SparseTopDownFPR bounds the false positive rate of a sparse tree with the top-down
// heuristic at threshold level d: the smaller of the root's rate and
//
//	1 - (1-p_d)^w
//
// where w is the number of nodes at level d and p_d their rate by [Tree.SparseFPR]. A
// false positive needs a match at level d or below, which implies one at level d. It is a
// bound because the path may stop at a lower match, and then only that subtree is
// searched. KNPS has no formula. Domain: n >= 0, 0 <= d <= len(FanOut).
func (t Tree) SparseTopDownFPR(n, d int) (float64, error) {
	rates, err := t.SparseFPR(n)
	if err != nil {
		return 0, err
	}
	if err := requireWithin("d", d, 0, len(t.FanOut)); err != nil {
		return 0, err
	}
	width := 1.0
	for _, children := range t.FanOut[:d] {
		width *= float64(children)
	}
	if rates[d] == 1 {
		return rates[0], nil
	}
	return min(rates[0], -math.Expm1(width*math.Log1p(-rates[d]))), nil
}
