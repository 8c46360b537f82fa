package stream

import (
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/bench/zipf"
)

// Zipf draws elements from 0 to n-1, element i with a probability proportional to
// (i+1)^-alpha.
type Zipf struct {
	ranks  *zipf.Sampler
	random *rand.PCG
}

// NewZipf returns a generator over n elements, 1 to [zipf.MaxRanks], with
// alpha >= 0; 0 is uniform. It takes 8 n bytes.
func NewZipf(n int, alpha float64, seed uint64) *Zipf {
	return &Zipf{zipf.New(n, alpha), rand.NewPCG(seed, 0)}
}

// Next draws an element, in constant time.
func (z *Zipf) Next() uint64 { return uint64(z.ranks.Draw(z.random.Uint64())) }
