// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"errors"
	"fmt"
	"math"
)

// ErrDomain is wrapped by every error of this package: an argument lies outside
// of the range for which the formula holds.
var ErrDomain = errors.New("value out of the formula's domain")

// requireAtLeast reports an error unless value, called name, is least or more.
func requireAtLeast(name string, value, least int) error {
	if value < least {
		return fmt.Errorf("theory: %s is %d, must be at least %d: %w", name, value, least, ErrDomain)
	}
	return nil
}

// requireWithin reports an error unless least <= value <= most.
func requireWithin(name string, value, least, most int) error {
	if value < least || value > most {
		return fmt.Errorf("theory: %s is %d, must be from %d to %d: %w", name, value, least, most, ErrDomain)
	}
	return nil
}

// require reports an error unless ok: value, called name, is outside of its domain.
func require(ok bool, name string, value float64, domain string) error {
	if !ok {
		return fmt.Errorf("theory: %s is %g, must be %s: %w", name, value, domain, ErrDomain)
	}
	return nil
}

// requireRate reports an error unless 0 < rate < 1.
func requireRate(name string, rate float64) error {
	return require(rate > 0 && rate < 1, name, rate, "between 0 and 1, both excluded")
}

// requireShare reports an error unless 0 <= share <= 1.
func requireShare(name string, share float64) error {
	return require(share >= 0 && share <= 1, name, share, "from 0 to 1")
}

// maxLoad bounds the mean of a Poisson variable, and so the time for a mean over it.
const maxLoad = 1e6

// requireLoad reports an error unless 0 <= load <= maxLoad.
func requireLoad(name string, load float64) error {
	return require(load >= 0 && load <= maxLoad, name, load, "from 0 to 1e6")
}

// Poisson returns P(X = x) for a Poisson variable X of the given mean, above 0.
func Poisson(x, mean float64) float64 {
	logFactorial, _ := math.Lgamma(x + 1)
	return math.Exp(x*math.Log(mean) - mean - logFactorial)
}

// PoissonTail returns P(X >= k) for a Poisson variable X of the given mean: 1 if k <= 0,
// else 0 if mean <= 0. It sums tails below 1/2 from their greatest terms down, so
// that small tails keep their digits.
func PoissonTail(k int, mean float64) float64 {
	switch {
	case k <= 0:
		return 1
	case !(mean > 0):
		return 0
	case k == 1:
		return -math.Expm1(-mean)
	case mean > float64(k)+20*math.Sqrt(float64(k))+40:
		return 1
	}
	term, sum := Poisson(float64(k), mean), 0.0
	if mean < float64(k) {
		for n := k + 1; term > sum*1e-15; n++ {
			sum += term
			term *= mean / float64(n)
		}
		return sum
	}
	for n := k; n > 0; n-- { // P(X < k), from its greatest term down
		term *= float64(n) / mean
		sum += term
	}
	return math.Max(0, 1-sum)
}

// PoissonQuantile returns the smallest count that a Poisson variable of the given mean
// exceeds with a probability of at most 1-p. For means above 500 it takes the normal
// approximation, rounded up.
func PoissonQuantile(p, mean float64) uint64 {
	if mean > 500 {
		return uint64(math.Ceil(mean + math.Sqrt2*math.Erfinv(2*p-1)*math.Sqrt(mean) + 1))
	}
	probability := math.Exp(-mean)
	sum := probability
	count := uint64(0)
	for ; sum < p && probability > 0; count++ {
		probability *= mean / float64(count+1)
		sum += probability
	}
	return count
}

// meanOverPoisson returns E[f(X)] for a Poisson variable X of the given mean and f from 0 to
// 1 that grows. It leaves out terms beyond 10 standard deviations below the mean, and those
// above it that add less than 1e-9 of the result each.
func meanOverPoisson(mean float64, f func(x float64) float64) float64 {
	if mean == 0 {
		return f(0)
	}
	sum := 0.0
	for x := math.Floor(max(0, mean-10*math.Sqrt(mean))); ; x++ {
		p := Poisson(x, mean)
		if x > mean && p <= sum*1e-9 {
			return sum
		}
		sum += p * f(x)
	}
}

// BinomialTail returns P(B >= k) for B binomial with the given trials and chance in [0,1], for
// k >= 0.
func BinomialTail(k int, trials, chance float64) float64 {
	return 1 - binomialUpTo(k-1, trials, chance)
}

// binomialUpTo returns P(B <= count) for B binomial with the given trials and chance in
// [0,1]. Its time grows with count only. It uses logarithms, so billions of trials
// neither underflow nor lose digits.
func binomialUpTo(count int, trials, chance float64) float64 {
	if float64(count) >= trials || chance <= 0 {
		return min(1, float64(count+1)) // 0 for a count of -1
	}
	tail := newBinomialTail(trials, chance)
	for range count + 1 {
		tail.next()
	}
	return min(tail.below, 1)
}

// powMinus returns 1-(1-x)^n for x in [0,1]. It keeps the digits of a small x.
func powMinus(x, n float64) float64 {
	if n == 0 {
		return 0 // for x = 1 too
	}
	return -math.Expm1(n * math.Log1p(-x))
}

// binomialTail yields P(B > 0), P(B > 1), ... for a binomial B, one at a time.
type binomialTail struct {
	certain         bool // the chance is 1
	trials, logOdds float64
	logTerm         float64 // logarithm of P(B = count)
	below           float64 // P(B < count)
	count           int
}

func newBinomialTail(trials, chance float64) *binomialTail {
	return &binomialTail{
		certain: chance >= 1,
		trials:  trials,
		logOdds: math.Log(chance) - math.Log1p(-chance),
		logTerm: trials * math.Log1p(-chance),
	}
}

func (t *binomialTail) next() float64 {
	if float64(t.count) >= t.trials {
		return 0
	}
	if t.certain {
		t.count++
		return 1
	}
	t.below += math.Exp(t.logTerm)
	t.logTerm += math.Log((t.trials-float64(t.count))/float64(t.count+1)) + t.logOdds
	t.count++
	return max(0, 1-t.below)
}

// BinomialTails returns a function that returns P(B > 0), P(B > 1), ... in turn, for B binomial with
// the given trials and chance in [0,1].
func BinomialTails(trials, chance float64) func() float64 {
	return newBinomialTail(trials, chance).next
}

// FallingRoot solves f(x) = 0 for a falling f between low, where it is positive, and high,
// where it is not, to 1e-6 by the Illinois method. The last call of f is at the solution.
func FallingRoot(low, high float64, f func(x float64) float64) {
	atLow, atHigh := f(low), f(high)
	for range 100 {
		x := high
		if atLow != atHigh {
			x = (low*atHigh - high*atLow) / (atHigh - atLow)
		}
		at := f(x)
		switch {
		case math.Abs(at) < 1e-6 || high-low < 1e-6:
			return
		case at > 0:
			low, atLow = x, at
			atHigh /= 2
		default:
			high, atHigh = x, at
			atLow /= 2
		}
	}
}
