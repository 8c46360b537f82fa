// SPDX-License-Identifier: Apache-2.0

// Package zipf draws numbers by Zipf's law, for the streams that filters are measured on.
// Unlike math/rand's generator it supports exponents of 1 and less.
package zipf

import (
	"math"
	"math/bits"
)

// Sampler draws ranks by the alias method (Walker 1977, built as in Vose 1991). All but
// the weights is integer arithmetic, so the same random bits give the same ranks on every
// machine. It takes 8 bytes a rank.
type Sampler struct {
	cells []aliasCell
}

// aliasCell gives its own rank below threshold, else the alias.
type aliasCell struct {
	threshold uint32
	other     uint32
}

// MaxRanks is the number of ranks that a Sampler can have.
const MaxRanks = 1 << 24

// weightScale is the weight of rank 0. Times MaxRanks it stays below 2^61, so
// that sums and products of the table's construction fit 64 bits.
const weightScale = 1 << 36

// New returns a sampler of the ranks 0 to n-1, rank i with a probability proportional to
// (i+1)^-exponent; an exponent of 0 makes all equal. A weight is rounded to a multiple of
// 2^-36 of the greatest weight, and is at least one such multiple. It panics unless n is
// 1 to MaxRanks. It takes O(n) time, and 16 n bytes more than the sampler keeps.
func New(n int, exponent float64) *Sampler {
	if n < 1 || n > MaxRanks {
		panic("zipf: the number of ranks must be 1 to 16777216")
	}
	weights, total := weightsOf(n, exponent)
	s := &Sampler{cells: make([]aliasCell, n)}
	// Scaled by n, a weight equal to the total fills its cell exactly.
	small, large := make([]uint32, 0, n), make([]uint32, 0, n)
	for rank := range weights {
		weights[rank] *= uint64(n)
		if weights[rank] < total {
			small = append(small, uint32(rank))
		} else {
			large = append(large, uint32(rank))
		}
	}
	for len(small) > 0 && len(large) > 0 {
		low, high := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		share, _ := bits.Div64(weights[low]>>32, weights[low]<<32, total)
		s.cells[low] = aliasCell{threshold: uint32(share), other: high}
		weights[high] -= total - weights[low]
		if weights[high] < total {
			large = large[:len(large)-1]
			small = append(small, high)
		}
	}
	for _, rank := range append(small, large...) {
		s.cells[rank] = aliasCell{threshold: math.MaxUint32, other: rank}
	}
	return s
}

func weightsOf(n int, exponent float64) (weights []uint64, total uint64) {
	weights = make([]uint64, n)
	for rank := range weights {
		weights[rank] = max(1, uint64(weightScale/math.Pow(float64(rank+1), exponent)))
		total += weights[rank]
	}
	return weights, total
}

// Draw turns 64 random bits into a rank, in constant time.
func (s *Sampler) Draw(random uint64) uint32 {
	rank, fraction := bits.Mul64(random, uint64(len(s.cells)))
	cell := s.cells[rank]
	if uint32(fraction>>32) < cell.threshold {
		return uint32(rank)
	}
	return cell.other
}
