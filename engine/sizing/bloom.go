// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"math"

	"github.com/flowdedup/flowdedup/engine/theory"
)

// mostBloomK bounds the number of hash functions: more gain nothing measurable.
const mostBloomK = 64

// bloomFPR returns the FPR of m bits or counters with k hash functions after the given
// number of distinct elements, in the limit of many bits.
func bloomFPR(m, k int, elements float64) float64 {
	rate, err := theory.BloomFPRApprox(m, k, int(math.Ceil(elements)))
	if err != nil {
		return 1
	}
	return rate
}

// bloomK returns the smallest number of hash functions that keeps the bound, or the
// best one if none does.
func bloomK(r *request, fpr func(k int) float64) int {
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
func bloom(r *request, memory int) (design, error) {
	fpr := func(k int) float64 { return bloomFPR(memory, k, r.window) }
	k := bloomK(r, fpr)
	if err := requireK(k, memory, memory); err != nil {
		return design{}, err
	}
	return r.complete(design{
		parameters: []Parameter{{"K", k}, {"m", memory}},
		bits:       memory, fpr: fpr(k), lines: float64(k),
	}), nil
}

const (
	words = lineBits / 64
	// firstShare is the share of the bound on the FPR that the first sub-filter of an
	// distinct.ScalableBloom takes. It is the only one where the memory is chosen well.
	firstShare = 0.2
	// decisions is how many elements come between two decisions of it to grow.
	decisions = 512
)

// bloomLines is distinct.ScalableBloom with memory for the whole window from the start:
// lines in which an element has one bit a round in each of eight words. Its first sub-filter
// takes a fifth of the rate, and the others, which it never starts, the rest. So it keeps
// the rate even if more elements come than were planned.
func bloomLines(r *request, memory int) (design, error) {
	lines := memory / lineBits
	if lines < 1 {
		return design{}, tooSmall(memory, lineBits, "a cache line")
	}
	block, most, err := theory.BestSplitBlock(firstShare * r.FPR)
	if err != nil {
		return design{}, err
	}
	rounds := block.Rounds
	load := r.window / float64(lines)
	if loadWithSlack(block, load, float64(lines)) > most {
		// It would grow, and keep the bound in more memory than there is.
		return design{}, impossible("%.0f elements at a false positive rate of %g need more lines than the %d that %d bits hold",
			math.Ceil(r.window), r.FPR, lines, memory)
	}
	return r.complete(design{
		parameters: []Parameter{{"lines", lines}, {"K", words * rounds}},
		bits:       lines * lineBits, fpr: block.FPR(load), lines: 1,
	}), nil
}

// loadWithSlack is the load for which a filter must be sized to hold a load without
// growing. It allows for the elements until the next decision to grow, all of them with
// new bits, and for a count of set bits four standard deviations above the mean.
func loadWithSlack(block theory.SplitBlock, load, lines float64) float64 {
	bits := lines * lineBits
	slack := float64(decisions*words*block.Rounds) + 2*math.Sqrt(bits)
	return block.LoadOfDensity(block.Density(load) + slack/bits)
}
