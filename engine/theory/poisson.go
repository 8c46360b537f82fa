package theory

import "math"

// PoissonTail returns P(X >= k) for a Poisson variable X of the given mean: 1 if k is not
// above 0, else 0 if the mean is not. Tails below one half are summed from their greatest terms down, so that small ones
// keep their digits.
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

// PoissonQuantile returns the smallest count that a Poisson variable of the given mean exceeds
// with a probability of at most 1-p. For means above 500 it takes the normal approximation,
// rounded up.
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
