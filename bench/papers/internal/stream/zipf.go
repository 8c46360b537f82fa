package stream

import (
	"math"
	"math/rand/v2"
	"sort"
)

// Zipf draws elements from 0 to n-1, element i with a probability proportional to
// (i+1)^-alpha. math/rand's generator has no alpha of 1 or less.
type Zipf struct {
	sums   []float64 // cumulative, the last is 1
	random *rand.Rand
}

// NewZipf returns a generator over n >= 1 elements with alpha >= 0; 0 is uniform.
// It takes 8 n bytes.
func NewZipf(n int, alpha float64, seed uint64) *Zipf {
	z := &Zipf{sums: make([]float64, n), random: rand.New(rand.NewPCG(seed, 0))}
	total := 0.0
	for i := range z.sums {
		total += math.Pow(float64(i+1), -alpha)
		z.sums[i] = total
	}
	for i := range z.sums {
		z.sums[i] /= total
	}
	return z
}

// Next draws an element, in O(log n).
func (z *Zipf) Next() uint64 {
	i := sort.SearchFloat64s(z.sums, z.random.Float64())
	return uint64(min(i, len(z.sums)-1))
}
