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

// requireRate reports an error unless 0 < rate < 1.
func requireRate(name string, rate float64) error {
	if !(rate > 0 && rate < 1) {
		return fmt.Errorf("theory: %s is %g, must be between 0 and 1, both excluded: %w", name, rate, ErrDomain)
	}
	return nil
}

// requireShare reports an error unless 0 <= share <= 1.
func requireShare(name string, share float64) error {
	if !(share >= 0 && share <= 1) {
		return fmt.Errorf("theory: %s is %g, must be from 0 to 1: %w", name, share, ErrDomain)
	}
	return nil
}

// PoissonTail returns P(X >= k) for a Poisson variable X of the given mean: 1 if k <= 0,
// else 0 if mean <= 0. It sums tails below one half from their greatest terms down, so
// that small ones keep their digits.
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
	logFactorial, _ := math.Lgamma(float64(k) + 1)
	term := math.Exp(float64(k)*math.Log(mean) - mean - logFactorial)
	sum := 0.0
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

// binomialUpTo returns P(B <= count) for B binomial with the given trials and chance in
// [0,1]. Its time grows with count only. It uses logarithms, so billions of trials
// neither underflow nor lose digits.
func binomialUpTo(count int, trials, chance float64) float64 {
	switch {
	case count < 0:
		return 0
	case float64(count) >= trials || chance <= 0:
		return 1
	case chance >= 1:
		return 0
	}
	logTerm := trials * math.Log1p(-chance)
	logOdds := math.Log(chance) - math.Log1p(-chance)
	sum := 0.0
	for j := 0; ; j++ {
		sum += math.Exp(logTerm)
		if j == count {
			return min(sum, 1)
		}
		logTerm += math.Log((trials-float64(j))/float64(j+1)) + logOdds
	}
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
