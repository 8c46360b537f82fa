package engine

import "math"

// poissonQuantile returns the smallest count that a Poisson variable exceeds
// with a probability of at most 1-p. For means above 500 it takes the
// normal approximation, rounded up.
func poissonQuantile(mean, p float64) uint64 {
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
