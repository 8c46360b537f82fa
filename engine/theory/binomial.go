package theory

import "math"

// binomialUpTo returns P(B <= count) for B binomial with the given trials and
// chance in [0,1]. Its time grows with count alone. It works with logarithms, so
// that billions of trials neither underflow nor lose digits.
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

// powMinus returns 1-(1-x)^n, for x in [0,1], without losing the digits of a
// small x.
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
