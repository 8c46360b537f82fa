package theory

import "math"

// maxPipelineK bounds the time of [Sliced.PipelinedAccesses].
const maxPipelineK = 128

// PipelinedAccesses returns how many vertical slices are tested on average when an
// element's slices are asked in turn until one has a clear bit, and each bit asked
// for is set with probability set, independently (KNPS, section 3.2, "Parallelism
// and Pipelining", which has no formula). For new elements set is the share of bits
// that are set, p^(1/k); set = 1 gives duplicates, and what is tested in parallel:
// S (1-(1-1/S)^k) different slices.
//
// A slice that is asked has 1 + Binomial(r-1, 1/s) of the r bits not tested yet,
// where s slices have not been asked. Domain: K <= 128, 0 <= set <= 1.
func (s Sliced) PipelinedAccesses(set float64) (float64, error) {
	if err := s.validate(); err != nil {
		return 0, err
	}
	if err := requireWithin("K", s.K, 1, maxPipelineK); err != nil {
		return 0, err
	}
	if err := requireShare("set", set); err != nil {
		return 0, err
	}
	// accesses[r] is the mean from r bits on when left slices have not been asked.
	accesses := make([]float64, s.K+1)
	stages := min(s.K, s.Slices)
	for stage := stages - 1; stage >= 0; stage-- {
		left := s.Slices - stage
		next := make([]float64, s.K+1)
		for r := 1; r <= s.K-stage; r++ {
			next[r] = 1 + meanAhead(accesses, r, left, set)
		}
		accesses = next
	}
	return accesses[s.K], nil
}

// meanAhead returns the mean number of further accesses after the one to the next
// slice, which holds the first of r bits, and each other with chance 1/left.
func meanAhead(accesses []float64, r, left int, set float64) float64 {
	return meanOverBinomial(r-1, 1/float64(left), func(others int) float64 {
		return math.Pow(set, float64(1+others)) * accesses[r-1-others]
	})
}
