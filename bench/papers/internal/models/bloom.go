// SPDX-License-Identifier: Apache-2.0

package models

import (
	"math"

	"github.com/flowdedup/flowdedup/bench/papers/internal/forms"
)

// mostBloomK bounds the number of hash functions: more gain nothing measurable.
const mostBloomK = 64

// bloomFPR returns the FPR of m bits or counters with k hash functions after the given
// number of distinct elements, in the limit of many bits.
func bloomFPR(m, k int, elements float64) float64 {
	return forms.BloomFPRApprox(m, k, int(math.Ceil(elements)))
}

// bloomK returns the smallest number of hash functions that keeps the bound, or the
// best one if none does.
func bloomK(r *Request, fpr func(k int) float64) int {
	if r.Fixed.K != 0 {
		return r.Fixed.K
	}
	lowest, at := math.Inf(1), 1
	for k := 1; k <= mostBloomK; k++ {
		rate := fpr(k)
		if rate <= r.FPR {
			return k
		}
		if rate < lowest {
			lowest, at = rate, k
		}
	}
	return at
}

// requireK requires at least as many places as there are hash functions.
func requireK(k, places, bits int) error {
	if places < k {
		return impossible("K = %d hash functions need at least %d bits or counters; the %d bits of memory given hold %d", k, k, bits, max(0, places))
	}
	return nil
}

// bloom is the textbook's Bloom filter over a landmark window, at its end.
func bloom(r *Request, memory int) (Design, error) {
	fpr := func(k int) float64 { return bloomFPR(memory, k, r.Window) }
	k := bloomK(r, fpr)
	if err := requireK(k, memory, memory); err != nil {
		return Design{}, err
	}
	return r.Complete(Design{
		Parameters: map[string]int{"K": k, "m": memory},
		Bits:       memory, FPR: fpr(k), Lines: float64(k),
	}), nil
}
