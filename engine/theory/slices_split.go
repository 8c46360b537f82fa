package theory

import (
	"fmt"
	"math"
)

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

// SplitFPR returns the false positive rate after n distinct elements when k1 hash
// functions choose k1 of the slices, with k2 = K/k1 bits in each:
//
//	E[(1-(1-S/m)^(k2 B))^k2]^k1 for B binomial with n k1 trials of chance 1/S
//
// It is what [Sliced.HorizontalFPR] becomes when slices get elements by chance
// instead of n k1/S each. KNPS, Proposition 2, has the latter, which is the same for
// every k1; for k1 = K they agree. With fewer choices the rate is above it, the more
// so the more slices there are: that is the deviation of horizontal slices in the
// paper's measurements. Domain: k1 divides K, n >= 0, n k1 <= 2^40.
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
	// The logarithm of the chance that an element of a slice leaves a bit clear.
	spared := float64(k2) * math.Log1p(-float64(s.Slices)/float64(s.Bits))
	if s.Slices == s.Bits {
		spared = -math.MaxFloat64 // not infinite, as it is multiplied by 0
	}
	rate := meanOverBinomial(n*k1, 1/float64(s.Slices), func(elements int) float64 {
		return math.Pow(-math.Expm1(spared*float64(elements)), float64(k2))
	})
	return math.Pow(rate, float64(k1)), nil
}

// maxTrials bounds the time of a mean over a binomial distribution.
const maxTrials = min(1<<40, math.MaxInt)

// meanOverBinomial returns E[f(B)] for a binomial B with f from 0 to 1, but for
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
