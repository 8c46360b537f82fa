// SPDX-License-Identifier: Apache-2.0

package models

import (
	"math"

	"github.com/flowdedup/flowdedup/engine/sizing"
)

// elementBits is the memory of an element as Deng and Rafiei account for it.
const elementBits = 64

// lruBuffer keeps the most recently used elements themselves.
func lruBuffer(r *Request, memory int) (Design, error) {
	capacity := memory / elementBits
	if capacity < 1 {
		return Design{}, tooSmall(memory, elementBits, "an element")
	}
	return r.Finish(Design{
		Parameters: map[string]int{"elements": capacity},
		Bits:       capacity * elementBits,
		Lines:      4, // a map and the list
	}, sizing.MissesOf(r.Load.Different, func(different float64) float64 {
		if different >= float64(capacity) {
			return 1
		}
		return 0
	})), nil
}

// aging is A2: two Bloom filters. When the newer has taken its capacity, the older is
// cleared and they swap. An element in the newer one is not inserted again. So it leaves
// after between one and two capacities of insertions, uniformly distributed.
func aging(r *Request, memory int) (Design, error) {
	m := memory / 2
	// f as FPR / (1 + sqrt(1-FPR)), which loses no digits when the FPR is small.
	f := r.FPR / (1 + math.Sqrt(1-r.FPR))
	k := r.Fixed.K
	if k == 0 {
		k = int(math.Max(1, math.Round(-math.Log2(f))))
	}
	if err := requireK(k, m, memory); err != nil {
		return Design{}, err
	}
	set, sum := math.Pow(f, 1/float64(k)), 0.0
	for j := 1; j <= k; j++ {
		sum += math.Pow(set, float64(j)) / float64(j)
	}
	capacity := math.Max(1, math.Floor(float64(m)/float64(k)*sum))
	filling := f / float64(k+1) // mean FPR of a filter that is being filled
	rate := agingInsertions(r.Load, capacity, filling)
	left := sizing.MissesOf(r.Load.Between, func(between float64) float64 {
		return clampShare(rate*between/capacity-1) * (1 - f) * (1 - filling)
	})
	return r.Finish(Design{
		Parameters: map[string]int{"K": k, "m of each": m, "capacity": int(capacity)},
		Bits:       2 * m, FPR: r.FPR, Lines: float64(2 * k),
	}, left), nil
}

// agingInsertions is the share of elements that are inserted: the elements that the newer
// filter does not report. The share depends on itself and is found by iteration.
func agingInsertions(l *Load, capacity, fpr float64) float64 {
	rate := 1.0
	for range 100 {
		left := sizing.MissesOf(l.Between, func(between float64) float64 { return clampShare(rate * between / capacity) })
		rate = (l.Fresh + (1-l.Fresh)*l.FNR(left)) * (1 - fpr)
	}
	return rate
}

// clampShare bounds x to a probability.
func clampShare(x float64) float64 { return math.Min(1, math.Max(0, x)) }
