package sizing

import (
	"math"

	"github.com/flowdedup/flowdedup/engine/theory"
)

const (
	mostStableK    = 32
	mostStableBits = 4 // Max up to 15; larger counters gain nothing in the paper
	lineBits       = 512
)

// stable is the stable Bloom filter. P is the one that Deng, Rafiei, Eq. 17 gives for
// the bound on the FPR; K and Max are those that then miss least.
func stable(r *request, bits int) (design, error) {
	b := best{request: r}
	for _, width := range choices(r.Fixed.CellBits, 1, mostStableBits) {
		worse := 0
		for _, k := range choices(r.Fixed.K, 1, mostStableK) {
			before := b.design
			b.add(stableOf(r, bits, width, k))
			if b.found && b.design.fpr <= r.FPR && b.design.fnr == before.fnr {
				worse++
			}
			if worse > 3 { // misses have one minimum in K
				break
			}
		}
	}
	return b.result()
}

func stableOf(r *request, bits, width, k int) (design, error) {
	cells := bits / width
	if cells <= k {
		return design{}, impossible("K = %d hash functions need at least %d cells of %d bits, which are %d bits of memory; the %d bits given are enough for K up to %d",
			k, k+1, width, (k+1)*width, bits, max(0, cells-1))
	}
	filter := theory.Stable{Cells: cells, K: k, P: r.Fixed.P, Max: 1<<width - 1}
	if filter.P == 0 {
		p, err := theory.StableP(cells, k, filter.Max, r.FPR)
		if err != nil {
			p = cells // as close to the bound as it gets
		}
		filter.P = p
	}
	fpr, err := filter.FPS()
	if err != nil {
		return design{}, impossible("P = %d decrements, must be from 1 to the %d cells that %d bits hold", filter.P, cells, bits)
	}
	c := cell{
		setting:  float64(k) / float64(cells),
		clearing: float64(filter.P) / float64(cells),
		top:      filter.Max,
	}
	return r.finish(design{
		parameters: []Parameter{{"K", k}, {"P", filter.P}, {"Max", filter.Max}, {"cells", cells}},
		bits:       cells * width,
		fpr:        fpr,
		lines:      math.Ceil(float64(k) + 1 + float64(filter.P*width)/lineBits),
	}, ratesOf(r.load, c, k).misses()), nil
}
