package sizing

import (
	"math"
	"slices"
)

// Histogram counts gaps, four bins for each power of two and one for each of the
// smallest numbers. Its zero value is empty. It takes at most 2 KiB.
type Histogram struct {
	counts []float64
}

// edges are the ends of a histogram's bins, ascending whole numbers up to 2^60.
var edges = func() []float64 {
	var all []float64
	for i := 0; i <= 60*binsPerOctave; i++ {
		edge := math.Floor(math.Exp2(float64(i) / binsPerOctave))
		if len(all) == 0 || edge > all[len(all)-1] {
			all = append(all, edge)
		}
	}
	return all
}()

// Add counts a gap, which is taken as 1 below that and as 2^60 above it, with a weight.
func (h *Histogram) Add(gap, weight float64) {
	i, _ := slices.BinarySearch(edges, math.Min(gap, maxElements))
	for len(h.counts) <= i {
		h.counts = append(h.counts, 0)
	}
	h.counts[i] += weight
}

// Gaps returns the distribution, nil if nothing was counted.
func (h *Histogram) Gaps() Gaps {
	sum := 0.0
	for _, n := range h.counts {
		sum += n
	}
	if sum == 0 {
		return nil
	}
	gaps := make(Gaps, len(h.counts))
	for i, n := range h.counts {
		gaps[i] = Bin{Upto: edges[i], Share: n / sum}
	}
	return gaps
}

// Quantile returns the end of the bin in which the given share of the gaps is reached,
// 0 where there are none.
func (g Gaps) Quantile(share float64) float64 {
	sum, at := 0.0, 0.0
	for _, b := range g {
		sum, at = sum+b.Share, b.Upto
		if sum >= share {
			break
		}
	}
	return at
}

// Times returns the distribution of gaps that are factor times as long, at least 1.
func (g Gaps) Times(factor float64) Gaps {
	var h Histogram
	low := 0.0
	for _, b := range g {
		h.Add(math.Ceil((low+b.Upto+1)/2*factor), b.Share)
		low = b.Upto
	}
	return h.Gaps()
}
