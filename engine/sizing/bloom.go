// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"math"

	"github.com/flowdedup/flowdedup/engine/theory"
)

const (
	words = lineBits / 64
	// firstShare is the share of the bound on the FPR that the first sub-filter of a
	// distinct.ScalableBloom takes. If the memory is chosen well, there is no second.
	firstShare = 0.2
	// decisions is how many elements come between two decisions of a filter to grow.
	decisions = 512
)

// bloomLines is distinct.ScalableBloom with memory for the whole window from the start:
// lines in which an element has one bit a round in each of eight words. Its first sub-filter
// takes a fifth of the rate, and the others, which it never starts, the rest. So it keeps
// the rate even if more elements come than were planned.
func bloomLines(r *Request, memory int) (Design, error) {
	lines := memory / lineBits
	if lines < 1 {
		return Design{}, errMemory
	}
	block, most, err := theory.BestSplitBlock(firstShare * r.FPR)
	if err != nil {
		return Design{}, err
	}
	rounds := block.Rounds
	load := r.Window / float64(lines)
	if loadWithSlack(block, load, float64(lines)) > most {
		// It would grow, and keep the bound in more memory than there is.
		return Design{}, errMemory
	}
	return r.Complete(Design{
		Parameters: map[string]int{"lines": lines, "K": words * rounds},
		Bits:       lines * lineBits, FPR: block.FPR(load), Lines: 1,
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
