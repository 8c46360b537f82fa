// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"cmp"
	"fmt"
	"math"
)

// Sliced is a Bloom filter that is spread over sites (KNPS, section 3.1). Horizontal
// slices are small filters, and an element's hash chooses one. Vertical slices are parts
// of one large filter, so an element's K bits may lie in several.
type Sliced struct {
	Bits   int // m in all, at least Slices
	K      int // at least 1
	Slices int // S, at least 1
}

func (s Sliced) validate() error {
	return cmp.Or(
		requireAtLeast("slices", s.Slices, 1),
		requireAtLeast("bits", s.Bits, s.Slices),
		requireAtLeast("K", s.K, 1),
	)
}

// SplitFPR returns the false positive rate after n distinct elements when k1 hash
// functions choose k1 of the slices, with k2 = K/k1 bits in each:
//
//	E[(1-(1-S/m)^(k2 B))^k2]^k1 for B binomial with n k1 trials of chance 1/S
//
// k1 = 1 are horizontal slices and k1 = K vertical slices, which have the rate of the filter
// unsliced. KNPS gives each slice n k1/S elements (Eq. 4, Proposition 2), which makes every
// k1 the same as k1 = K. Here slices get elements by chance: with fewer choices this rate
// is higher, and more so with more slices, which is the deviation of horizontal slices in
// the paper's measurements. Domain: k1 divides K, n >= 0, n k1 <= 2^40.
//
// The time grows with the square root of n k1/S.
func (s Sliced) SplitFPR(k1, n int) (float64, error) {
	k2, err := s.splitK2(k1)
	if err != nil {
		return 0, err
	}
	if err := requireWithin("n k1", n, 0, maxTrials/k1); err != nil {
		return 0, err
	}
	// logClear is the logarithm of the chance that an element of a slice leaves a bit clear.
	logClear := float64(k2) * math.Log1p(-float64(s.Slices)/float64(s.Bits))
	if s.Slices == s.Bits {
		logClear = -math.MaxFloat64 // not infinite, as it is multiplied by 0
	}
	rate := meanOverBinomial(n*k1, 1/float64(s.Slices), func(elements int) float64 {
		return math.Pow(-math.Expm1(logClear*float64(elements)), float64(k2))
	})
	return math.Pow(rate, float64(k1)), nil
}

// SplitHybrid returns the rates after failures when k1 hash functions choose k1 of the
// slices, with k2 = K/k1 bits in each (KNPS, section 3.2, fault tolerance heuristic). An
// element is a duplicate if none of its bits in working slices is clear and at least
// atLeast of its bits are in working slices, that is x = ceil(atLeast/k2) of its choices:
//
//	fpr = sum for i = x .. k1 of C(k1,i) (1-f/S)^i (f/S)^(k1-i) p^(i/k1)
//	fnr = sum for i < x of C(k1,i) (1-f/S)^i (f/S)^(k1-i)
//
// p is the rate without failures. The paper prints neither binomial coefficient and, for
// fpr, no sum; its own measurements follow the formulas given here. atLeast = 0 takes lost
// bits as set: with k1 = 1 it is Eq. 5, with k1 = K Eq. 6 and, for S S' slices of a diced
// filter, Eq. 7, whose second f/S lacks the S'. atLeast = K is the rule by which a missing
// bit makes an element distinct. Domain: k1 divides K, 0 <= failed <= Slices, 0 <= p <= 1,
// 0 <= atLeast <= K.
func (s Sliced) SplitHybrid(k1, failed int, p float64, atLeast int) (fpr, fnr float64, err error) {
	k2, err := s.splitK2(k1)
	if err != nil {
		return 0, 0, err
	}
	if err := cmp.Or(
		requireWithin("failed slices", failed, 0, s.Slices),
		requireShare("p", p),
		requireWithin("least bits in working slices", atLeast, 0, s.K),
	); err != nil {
		return 0, 0, err
	}
	least, k := (atLeast+k2-1)/k2, float64(k1)
	lost := float64(failed) / float64(s.Slices)
	// With p^(i/k1) inside, the sum is a binomial tail again, of chance live.
	live := (1 - lost) * math.Pow(p, 1/k)
	if lost+live > 0 {
		fpr = max(0, math.Pow(lost+live, k)*(1-binomialUpTo(least-1, k, live/(lost+live))))
	}
	return fpr, binomialUpTo(least-1, k, 1-lost), nil
}

// Tolerance returns S_f (KNPS, Definition 3): the number of slices with which the false
// positive rate p stays within most when failed of them fail and lost bits count as set.
// choices is the number of slices that an element chooses: 1 for horizontal slices (Eq. 5
// solved for S), k for vertical slices (Eq. 6). Domain: failed >= 0, choices >= 1, 0 < p <
// most < 1.
func Tolerance(failed, choices int, p, most float64) (int, error) {
	if err := cmp.Or(
		requireRate("p", p),
		require(most > p && most < 1, "highest rate", most, "between p and 1"),
		requireAtLeast("choices", choices, 1),
	); err != nil {
		return 0, err
	}
	return slicesFor(failed, math.Pow(p, 1/float64(choices)), math.Pow(most, 1/float64(choices)))
}

// MissTolerance is [Tolerance] by misses, when a lost bit makes an element distinct (KNPS,
// section 3.2, the alternative to Definition 3): f/(1-(1-most)^(1/choices)), rounded up.
// Domain: failed >= 0, choices >= 1, 0 < most < 1.
func MissTolerance(failed, choices int, most float64) (int, error) {
	if err := cmp.Or(
		requireAtLeast("choices", choices, 1),
		requireRate("highest rate", most),
	); err != nil {
		return 0, err
	}
	return slicesFor(failed, 0, -math.Expm1(math.Log1p(-most)/float64(choices)))
}

// slicesFor solves Eq. 5 for S, with 0 <= p < most.
func slicesFor(failed int, p, most float64) (int, error) {
	slices := float64(failed) * (1 - p) / (most - p)
	if err := cmp.Or(
		requireAtLeast("failed slices", failed, 0),
		require(slices <= math.MaxInt32, "number of slices", slices, "smaller: highest rate is too close to p"),
	); err != nil {
		return 0, err
	}
	return max(1, int(math.Ceil(slices*(1-1e-12)))), nil
}

// splitK2 returns K/k1.
func (s Sliced) splitK2(k1 int) (int, error) {
	if err := s.validate(); err != nil {
		return 0, err
	}
	if k1 < 1 || k1 > s.K || s.K%k1 != 0 {
		return 0, fmt.Errorf("theory: k1 is %d, must divide K, which is %d: %w", k1, s.K, ErrDomain)
	}
	return s.K / k1, nil
}

// maxTrials bounds the time of a mean over a binomial distribution.
const maxTrials = min(1<<40, math.MaxInt)

// meanOverBinomial returns E[f(B)] for a binomial B with f from 0 to 1. It leaves out
// terms beyond 12 standard deviations and 60, which add less than 1e-20.
func meanOverBinomial(trials int, chance float64, f func(count int) float64) float64 {
	if chance >= 1 {
		return f(trials)
	}
	mean := float64(trials) * chance
	spread := 12*math.Sqrt(mean*(1-chance)) + 60
	first, last := max(0, int(mean-spread)), min(trials, int(mean+spread))
	logOdds := math.Log(chance) - math.Log1p(-chance)
	logTerm := logChoose(trials, first) + float64(first)*logOdds + float64(trials)*math.Log1p(-chance)
	sum, weights := 0.0, 0.0
	for count := first; count <= last; count++ {
		weight := math.Exp(logTerm)
		weights += weight
		sum += weight * f(count)
		logTerm += math.Log(float64(trials-count)/float64(count+1)) + logOdds
	}
	// Dividing takes out the rounding errors of large logarithms.
	return sum / weights
}

// logChoose returns the logarithm of C(n,k).
func logChoose(n, k int) float64 {
	all, _ := math.Lgamma(float64(n) + 1)
	in, _ := math.Lgamma(float64(k) + 1)
	out, _ := math.Lgamma(float64(n-k) + 1)
	return all - in - out
}

// Fairness returns Jain's index of loads, (sum x)^2 / (S sum x^2): 1 if all S are
// equal, 1/S if a single slice bears all (KNPS, section 7). Domain: at least one load, none
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
	if err := cmp.Or(
		s.validate(),
		requireWithin("K", s.K, 1, maxPipelineK),
		requireShare("set", set),
	); err != nil {
		return 0, err
	}
	// accesses[r] is the mean from r bits on when left slices have not been asked.
	accesses := make([]float64, s.K+1)
	stages := min(s.K, s.Slices)
	for stage := stages - 1; stage >= 0; stage-- {
		left := s.Slices - stage
		next := make([]float64, s.K+1)
		for r := 1; r <= s.K-stage; r++ {
			// The next slice has the first of r bits, and each other bit with chance 1/left.
			next[r] = 1 + meanOverBinomial(r-1, 1/float64(left), func(others int) float64 {
				return math.Pow(set, float64(1+others)) * accesses[r-1-others]
			})
		}
		accesses = next
	}
	return accesses[s.K], nil
}

// Dynamic is a Bloom filter of dynamic size (KNPS, section 5): filters of Bits bits and K
// hash functions. The newest takes elements until its false positive rate is FPR.
type Dynamic struct {
	Bits int     // m of each filter, at least 1
	K    int     // at least 1
	FPR  float64 // between 0 and 1, and such that a filter takes at least one element
}

// Capacity returns the elements that a filter takes, the number at which the false positive
// rate reaches FPR: -(m/k) ln(1-FPR^(1/k)) (Eq. 1 solved for n), rounded down.
func (d Dynamic) Capacity() (int, error) {
	if err := cmp.Or(requireAtLeast("m", d.Bits, 1), requireAtLeast("k", d.K, 1), requireRate("FPR", d.FPR)); err != nil {
		return 0, err
	}
	capacity := -float64(d.Bits) / float64(d.K) * math.Log1p(-math.Pow(d.FPR, 1/float64(d.K)))
	if err := require(capacity >= 1 && capacity < math.MaxInt, "capacity", capacity, "a positive int"); err != nil {
		return 0, err
	}
	return int(capacity), nil
}
