// SPDX-License-Identifier: Apache-2.0

package distinct

import "math"

// Estimate is a sketch's estimate of the number of elements. The true number lies from
// Low to High with 95 % confidence.
type Estimate struct{ Distinct, Low, High uint64 }

// spread is the distance of the bounds from the estimate in standard errors: a little
// more than the 1.96 of a normal distribution, as the error is itself an estimate.
const spread = 2.05

// maxExponent is the largest exponent of a probability of update values.
const maxExponent = 64 - precision

// exponent returns phi(k): update value k has the probability 2^-phi(k).
func exponent(k int) int { return min(valueBits+1+(k-1)>>valueBits, maxExponent) }

// above returns the probability omega(k) of update values above k.
func above(k int) float64 {
	e := exponent(k)
	if k == 0 {
		return 1
	}
	return math.Ldexp(float64((1-valueBits+e)<<valueBits-k), -e)
}

// Estimate returns the maximum-likelihood estimate of the number of elements, and its
// bounds. It takes some hundred microseconds after a change, and little otherwise.
func (s *Sketch) Estimate() Estimate {
	if s.changed {
		s.last, s.changed = s.estimate(), false
	}
	return s.last
}

func (s *Sketch) estimate() Estimate {
	alpha, beta := s.statistics()
	sum := 0.0
	for _, n := range beta {
		sum += n
	}
	switch {
	case sum == 0:
		return Estimate{}
	case alpha == 0: // all registers are full, which no stream leads to
		return Estimate{math.MaxUint64, uint64(sum), math.MaxUint64}
	}
	x := solve(alpha, &beta, sum)
	n := registers * x
	// The likelihood is for a Poisson number of elements. Its curvature gives the
	// variance of the estimate. This includes the variance of the number itself, which is
	// no error.
	error := spread * math.Sqrt(max(0, registers*registers/curvature(&beta, x)-n))
	// Each update value that a register has seen is at least one element.
	return Estimate{
		Distinct: rounded(max(math.Round(n), sum)),
		Low:      rounded(max(math.Round(n-error), sum)),
		High:     rounded(max(math.Round(n+error), sum)),
	}
}

func rounded(n float64) uint64 {
	if n >= math.MaxUint64 {
		return math.MaxUint64
	}
	return uint64(n)
}

// statistics returns the two statistics that the likelihood of n elements depends on (the
// paper's Algorithm 3): it is exp(-n/m alpha) times, for each exponent u, the power
// beta[u] of 1 - exp(-n/m 2^-u).
func (s *Sketch) statistics() (alpha float64, beta [maxExponent + 1]float64) {
	for _, r := range s.register {
		value := int(r >> sketchWindowBits)
		alpha += above(value)
		if value == 0 {
			continue
		}
		beta[exponent(value)]++
		for below := 1; below <= sketchWindowBits && below < value; below++ {
			e := exponent(value - below)
			if r>>(sketchWindowBits-below)&1 != 0 {
				beta[e]++
			} else {
				alpha += math.Ldexp(1, -e)
			}
		}
	}
	return alpha, beta
}

// solve returns the x = n/m with the largest likelihood, where its slope is 0: the sum of
// beta[u] 2^-u / (exp(x 2^-u) - 1) is alpha. That falls with x, and is less than sum/x.
func solve(alpha float64, beta *[maxExponent + 1]float64, sum float64) float64 {
	low, high := 0.0, sum/alpha
	for range 60 {
		x := (low + high) / 2
		slope := -alpha
		for u, n := range beta {
			if n > 0 {
				p := math.Ldexp(1, -u)
				slope += n * p / math.Expm1(x*p)
			}
		}
		if slope > 0 {
			low = x
		} else {
			high = x
		}
	}
	return (low + high) / 2
}

// curvature returns how the logarithm of the likelihood bends at x: the observed Fisher
// information.
func curvature(beta *[maxExponent + 1]float64, x float64) (sum float64) {
	for u, n := range beta {
		if n > 0 {
			p := math.Ldexp(1, -u)
			sum += n * p * p / (4 * math.Pow(math.Sinh(x*p/2), 2))
		}
	}
	return sum
}

// Exactly returns the estimate of a number that is known.
func Exactly(n uint64) Estimate { return Estimate{n, n, n} }

// AtLeast returns e raised to a lower bound that is certain.
func (e Estimate) AtLeast(n uint64) Estimate {
	return Estimate{max(e.Distinct, n), max(e.Low, n), max(e.High, n)}
}

// Plus returns a sum. Its bounds have at least the confidence of both.
func (e Estimate) Plus(other Estimate) Estimate {
	return Estimate{Sum(e.Distinct, other.Distinct), Sum(e.Low, other.Low), Sum(e.High, other.High)}
}

// Sum returns the sum of two counts, capped at the largest number: a file may hold any
// counts.
func Sum(a, b uint64) uint64 { return a + min(b, math.MaxUint64-a) }

// Minus returns the number of elements of a set that a part of it lacks. Its bounds are
// the extremes of the bounds of both, so they are wide.
func (e Estimate) Minus(part Estimate) Estimate {
	less := func(x, y uint64) uint64 { return x - min(x, y) }
	return Estimate{less(e.Distinct, part.Distinct), less(e.Low, part.High), less(e.High, part.Low)}
}

// Within returns e capped as the estimate of a part of a set.
func (e Estimate) Within(whole Estimate) Estimate {
	return Estimate{min(e.Distinct, whole.Distinct), min(e.Low, whole.High), min(e.High, whole.High)}
}
