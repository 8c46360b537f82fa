// SPDX-License-Identifier: Apache-2.0

package forms

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// TimerBits returns the bits of a timer that counts down from window to 0, a unit of time
// each: ceil(log2(window+1)). KNPS, section 4, has ceil(log2(window)), which has no
// code for 0 if window is a power of two. Domain: window >= 1.
func TimerBits(window int) int { return bits.Len(uint(window)) }

// TimerContent returns the mean number of elements that an error-free sliding filter
// holds. Its window is that many events long, and each event is independently element i
// with probability chances[i]:
//
//	sum over i of w / (w - 1 + 1/chances[i])
//
// for w events in the window. An element that is delivered is held back for w - 1 events,
// and comes again 1/chances[i] events later on average. Duplicates do not set timers
// (KNPS, section 4), so this is less than the number of distinct elements in a window.
// Domain: events >= 1, 0 <= chances[i] <= 1.
func TimerContent(chances []float64, events int) float64 {
	w, sum := float64(events), 0.0
	for _, p := range chances {
		sum += w * p / ((w-1)*p + 1)
	}
	return sum
}

// CardinalityFilters returns the mean number of filters alive when events come steadily
// and filters grow by cardinality: 1 + (held-1)/Capacity, since a filter lives from its
// first event to the end of the window of its last one. So it is above 1 for any number
// of events (KNPS, section 5: "between one and two"). held are the window's distinct
// elements. Domain: held >= 1.
func CardinalityFilters(d theory.Dynamic, held int) float64 {
	return 1 + float64(held-1)/float64(result.Must(d.Capacity()))
}

// DynamicMeanFPR returns the mean false positive rate of filters of dynamic size while the
// newest fills up, from one element to Capacity; older filters took Capacity each, and the
// oldest has lost the elements that left the window. It takes O(held + Capacity). Domain:
// held >= 0.
func DynamicMeanFPR(d theory.Dynamic, held int) float64 {
	capacity, sum := result.Must(d.Capacity()), 0.0
	for newest := 1; newest <= capacity; newest++ {
		none := 1.0
		for left, part := held, min(newest, held); left > 0; part = min(capacity, left) {
			none *= 1 - BloomFPRApprox(d.Bits, d.K, part)
			left -= part
		}
		sum += 1 - none
	}
	return sum / float64(capacity)
}

// SplitFairness approximates [theory.Fairness] for the tests of a long stream. The elements'
// probabilities have the given sum of squares, and each element is tested at the slices
// that k1 hash functions choose of S:
//
//	1 / (1 + (S-1) squares/k1)
//
// This is (sum x)^2 over the expectation of S sum x^2 (KNPS, section 3.2, "Load", in
// words). k1 = 1 are horizontal slices, k1 = k vertical ones. Domain: slices >= 1,
// k1 >= 1, 0 < squares <= 1.
func SplitFairness(slices, k1 int, squares float64) float64 {
	return 1 / (1 + float64(slices-1)*squares/float64(k1))
}

// Tree is a Bloom tree (KNPS, section 6) all of whose filters have the same size and
// hash functions.
type Tree struct {
	Bits   int   // m of each node, at least 1
	K      int   // at least 1
	FanOut []int // children of a node of level 0, the root, of level 1, and so on; each at least 1
}

// SparseTopDownFPR bounds the false positive rate of a sparse tree with the top-down
// heuristic at threshold level d, after n distinct elements that came evenly from all
// leaves: the smaller of the root's rate and
//
//	1 - (1-p_d)^w
//
// where w is the number of nodes at level d and p_d the rate of each. The nodes of a
// level have disjoint sets: p_d is (1-e^(-k n'/m))^k with n' = n/w (KNPS, section 6,
// "False positives"). The root's rate is the whole tree's, sparse or dense, and equals
// the rate of a single filter (Proposition 3). A false positive needs a match at level d
// or below, which implies one at level d. It is a bound because the path may stop at a
// lower match, and then only that subtree is searched. KNPS has no formula. Domain: n >=
// 0, 0 <= d <= len(FanOut).
func (t Tree) SparseTopDownFPR(n, d int) float64 {
	width := 1 // of level d
	for _, children := range t.FanOut[:d] {
		width *= children
	}
	rate := func(width int) float64 {
		return bloomLimit(float64(t.K)*float64(n)/float64(width)/float64(t.Bits), t.K)
	}
	if rate(width) == 1 {
		return rate(1)
	}
	return min(rate(1), powMinus(rate(width), float64(width)))
}
