package sizing

import (
	"math"

	"github.com/flowdedup/flowdedup/engine/theory"
)

const (
	words = lineBits / 64
	// firstShare is the share of the bound on the FPR that the first sub-filter of an
	// distinct.ScalableBloom takes. It is the only one where the memory is chosen well.
	firstShare = 0.2
	// decisions is how many elements come between two decisions of it to grow.
	decisions = 512
)

// bloomLines is distinct.ScalableBloom with memory for the whole window from the start: lines
// in which an element has as many bits in each of eight words as there are rounds.
func bloomLines(r *request, memory int) (design, error) {
	lines := memory / lineBits
	if lines < 1 {
		return design{}, tooSmall(memory, lineBits, "a cache line")
	}
	block, most, err := theory.BestSplitBlock(firstShare * r.FPR)
	if err != nil {
		return design{}, err
	}
	rounds := block.Rounds()
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

// loadWithSlack is the load at which a filter may decide to grow that holds a load: it
// allows for what comes until the next decision, all of it new bits, and its count of set
// bits may be four standard deviations above the mean.
func loadWithSlack(block theory.SplitBlock, load, lines float64) float64 {
	bits := lines * lineBits
	slack := float64(decisions*words*block.Rounds()) + 2*math.Sqrt(bits)
	return block.LoadOfDensity(block.Density(load) + slack/bits)
}
