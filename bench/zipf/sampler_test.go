// SPDX-License-Identifier: Apache-2.0

package zipf

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestSampler compares draws with Zipf's law rank by rank: each count lies
// within six standard deviations (chance below 1e-8 a rank), at a fixed seed.
func TestSampler(t *testing.T) {
	const draws = 1 << 20
	for _, exponent := range []float64{0, 0.8, 1, 2} {
		for _, n := range []int{1, 2, 100} {
			s := New(n, exponent)
			random := rand.NewPCG(5, 6)
			drawn := make([]int, n)
			for range draws {
				drawn[s.Draw(random.Uint64())]++
			}
			total := 0.0
			for rank := range n {
				total += math.Pow(float64(rank+1), -exponent)
			}
			for rank, got := range drawn {
				p := math.Pow(float64(rank+1), -exponent) / total
				want, deviation := draws*p, math.Sqrt(draws*p*(1-p))
				if math.Abs(float64(got)-want) > 6*deviation+1 {
					t.Errorf("exponent %v, %d ranks: rank %d drawn %d times, want %.0f", exponent, n, rank, got, want)
				}
			}
		}
	}
}

// TestSamplerLargest builds the table whose sums are the largest.
func TestSamplerLargest(t *testing.T) {
	s := New(MaxRanks, 0)
	for _, random := range []uint64{0, 1 << 63, math.MaxUint64} {
		if rank := s.Draw(random); int(rank) >= MaxRanks {
			t.Errorf("rank %d of %d", rank, MaxRanks)
		}
	}
}

func TestSamplerLimits(t *testing.T) {
	for _, n := range []int{0, MaxRanks + 1} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("no panic for %d ranks", n)
				}
			}()
			New(n, 1)
		}()
	}
}
