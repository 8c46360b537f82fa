package theory

import (
	"fmt"
	"math"
)

// Fairness returns Jain's index of loads, (sum x)^2 / (S sum x^2): 1 if all S are
// equal, 1/S if one bears all (KNPS, section 7). Domain: at least one load, none
// negative, not all 0.
func Fairness(loads []int) (float64, error) {
	sum, squares := 0.0, 0.0
	for i, load := range loads {
		if err := requireAtLeast(fmt.Sprintf("load %d", i), load, 0); err != nil {
			return 0, err
		}
		sum += float64(load)
		squares += float64(load) * float64(load)
	}
	if sum == 0 {
		return 0, fmt.Errorf("theory: none of %d slices has any load: %w", len(loads), ErrDomain)
	}
	return sum * sum / (float64(len(loads)) * squares), nil
}

// SplitFairness approximates [Fairness] for the tests of a long stream. The elements'
// probabilities have the given sum of squares, and each element is tested at the slices
// that k1 hash functions choose of S:
//
//	1 / (1 + (S-1) squares/k1)
//
// This is (sum x)^2 over the expectation of S sum x^2 (KNPS, section 3.2, "Load", in
// words). k1 = 1 are horizontal slices, k1 = k vertical ones. Domain: slices >= 1,
// k1 >= 1, 0 < squares <= 1.
func SplitFairness(slices, k1 int, squares float64) (float64, error) {
	if err := requireAtLeast("slices", slices, 1); err != nil {
		return 0, err
	}
	if err := requireAtLeast("k1", k1, 1); err != nil {
		return 0, err
	}
	if !(squares > 0 && squares <= 1) {
		return 0, fmt.Errorf("theory: sum of squared probabilities is %g, must be above 0 and at most 1: %w", squares, ErrDomain)
	}
	return 1 / (1 + float64(slices-1)*squares/float64(k1)), nil
}

// maxPipelineK bounds the time of [Sliced.PipelinedAccesses].
const maxPipelineK = 128

// PipelinedAccesses returns how many vertical slices are tested on average when an
// element's slices are tested in turn until one has a clear bit. Each bit is set with
// probability set, independently (KNPS, section 3.2, "Parallelism and Pipelining", which
// has no formula). For new elements set is the share of set bits, p^(1/k). set = 1 gives
// the accesses of duplicates, and of parallel tests: S (1-(1-1/S)^k) different slices.
//
// The next slice has 1 + Binomial(r-1, 1/s) of the r bits not tested yet, where s slices
// are untested. Domain: K <= 128, 0 <= set <= 1.
func (s Sliced) PipelinedAccesses(set float64) (float64, error) {
	if err := s.validate(); err != nil {
		return 0, err
	}
	if err := requireWithin("K", s.K, 1, maxPipelineK); err != nil {
		return 0, err
	}
	if err := requireShare("set", set); err != nil {
		return 0, err
	}
	// accesses[r] is the mean from r bits on when left slices have not been asked.
	accesses := make([]float64, s.K+1)
	stages := min(s.K, s.Slices)
	for stage := stages - 1; stage >= 0; stage-- {
		left := s.Slices - stage
		next := make([]float64, s.K+1)
		for r := 1; r <= s.K-stage; r++ {
			next[r] = 1 + meanAhead(accesses, r, left, set)
		}
		accesses = next
	}
	return accesses[s.K], nil
}

// meanAhead returns the mean number of accesses after the one to the next slice. That
// slice holds the first of r bits, and each other bit with chance 1/left.
func meanAhead(accesses []float64, r, left int, set float64) float64 {
	return meanOverBinomial(r-1, 1/float64(left), func(others int) float64 {
		return math.Pow(set, float64(1+others)) * accesses[r-1-others]
	})
}

// HorizontalFailedAsDistinct returns the rates when elements of failed horizontal
// slices are reported as distinct (KNPS, section 3.2): the false positive rate
// (1-f/S) p, where p is the rate without failures, and the false negative rate f/S.
// For vertical slices see [Sliced.VerticalHybrid] with atLeast = K. Domain:
// 0 <= failed <= Slices, 0 <= p <= 1.
func (s Sliced) HorizontalFailedAsDistinct(failed int, p float64) (fpr, fnr float64, err error) {
	share, err := s.failedShare(failed)
	if err != nil {
		return 0, 0, err
	}
	if err := requireShare("p", p); err != nil {
		return 0, 0, err
	}
	return (1 - share) * p, share, nil
}

// SplitHybrid is [Sliced.VerticalHybrid] for k1 hash functions that choose k1 slices,
// with k2 = K/k1 bits in each (KNPS, Proposition 2). A failed slice takes all k2 bits of
// a choice, so with x rounded up to whole choices
//
//	fpr = sum for i = ceil(x/k2) .. k1 of C(k1,i) (1-f/S)^i (f/S)^(k1-i) p^(i/k1)
//
// and fnr is the sum of the terms below, without p. k1 = 1 gives the two horizontal
// cases, k1 = K the vertical one. Domain: k1 divides K, 0 <= failed <= Slices, 0 <= p <=
// 1, 0 <= atLeast <= K.
func (s Sliced) SplitHybrid(k1, failed int, p float64, atLeast int) (fpr, fnr float64, err error) {
	k2, err := s.splitK2(k1)
	if err != nil {
		return 0, 0, err
	}
	if err := requireWithin("least bits in working slices", atLeast, 0, s.K); err != nil {
		return 0, 0, err
	}
	choices := Sliced{Bits: s.Bits, K: k1, Slices: s.Slices}
	return choices.VerticalHybrid(failed, p, (atLeast+k2-1)/k2)
}

// HorizontalMissTolerance returns S_f by misses: with so many horizontal slices the false
// negative rate stays within most when failed of them fail and report their elements as
// distinct. It is f/most rounded up (KNPS, section 3.2, the alternative to Definition 3).
// Domain: failed >= 0, 0 < most < 1.
func HorizontalMissTolerance(failed int, most float64) (int, error) {
	return missTolerance(failed, 1, most)
}

// VerticalMissTolerance is [HorizontalMissTolerance] for vertical slices and k hash
// functions. An element is missed if any of its bits is in a failed slice, so that
// S_f = f/(1-(1-most)^(1/k)), rounded up. Domain: k >= 1, failed >= 0, 0 < most < 1.
func VerticalMissTolerance(failed, k int, most float64) (int, error) {
	if err := requireAtLeast("k", k, 1); err != nil {
		return 0, err
	}
	return missTolerance(failed, k, most)
}

// missTolerance uses Eq. 5 with p = 0: its rate is the share f/S at which any of k bits
// is lost with chance most.
func missTolerance(failed, k int, most float64) (int, error) {
	if err := requireRate("highest rate", most); err != nil {
		return 0, err
	}
	return slicesFor(failed, 0, -math.Expm1(math.Log1p(-most)/float64(k)))
}
