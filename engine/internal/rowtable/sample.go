// SPDX-License-Identifier: Apache-2.0

package rowtable

import "math"

// SampleSum adds up numbers of elements that were sampled at different levels.
type SampleSum struct {
	Mean, low, high float64
	variance        float64
	seen            uint64 // elements of the sample in the low sum
	Weight          float64
}

// Add adds count elements of a sample, each of which stands for 2^level. share is the
// share of them that is expected to count. least is 1 if all of them certainly do, else
// 0.
func (a *SampleSum) Add(count uint64, level uint8, share, least float64) {
	if count == 0 {
		return
	}
	weight := math.Ldexp(1, int(level))
	n := float64(count) * weight
	a.Mean += share * n
	a.low += least * n
	a.high += n
	a.seen += uint64(least) * count
	a.variance += n * (weight - 1)
	if weight > 1 {
		a.Weight = max(a.Weight, weight)
	}
}

// Bounds returns the bounds of the number, with 95 % confidence. The upper one has 4
// elements of the sample more than the normal approximation. That covers samples without
// an element.
func (a *SampleSum) Bounds() (low, high uint64) {
	spread := 1.96 * math.Sqrt(a.variance)
	low = max(a.seen, uint64(max(0, math.Floor(a.low-spread))))
	return low, uint64(math.Ceil(a.high + spread + 4*a.Weight))
}
