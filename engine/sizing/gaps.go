// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"math"
	"slices"
	"sync"
)

// Bin holds the share of the repeats whose gap is at most Upto and above the Upto of the
// bin before. Gaps are assumed to be uniform within a bin.
type Bin struct {
	Upto  float64 // at least 1
	Share float64 // of all repeats
}

// Gaps is the distribution of the gaps of repeats, in bins of ascending Upto whose shares
// add up to 1. The gap of a repeat is its position in the stream minus the position of
// the last sighting of its element: 1 for an immediate repeat.
type Gaps []Bin

const binsPerOctave = 4

// uniformGaps spreads gaps evenly from 1 to longest, which is at least 1.
func uniformGaps(longest float64) Gaps {
	const bins = 64
	n := math.Min(bins, math.Max(1, math.Floor(longest)))
	gaps := make(Gaps, 0, int(n))
	for i := 1.0; i <= n; i++ {
		gaps = append(gaps, Bin{Upto: longest * i / n, Share: 1 / n})
	}
	return gaps
}

// logGaps spreads gaps evenly over orders of magnitude, from 1 to longest, which is
// at least 1.
func logGaps(longest float64) Gaps {
	octaves := math.Log2(math.Max(longest, 2))
	n := math.Ceil(octaves * binsPerOctave)
	var gaps Gaps
	for i := 1.0; i <= n; i++ {
		// Gaps are whole numbers: the first bins become a single bin.
		if upto := math.Exp2(octaves * i / n); upto < 2 {
			gaps = Gaps{{Upto: 1, Share: i / n}}
		} else {
			gaps = append(gaps, Bin{Upto: upto, Share: 1 / n})
		}
	}
	return gaps
}

// check returns an error unless the bins are in order and within a window.
func (g Gaps) check(q Question) error {
	last, sum := 0.0, 0.0
	for i, b := range g {
		switch {
		case !(b.Upto >= 1 && b.Upto > last && b.Upto <= maxElements):
			return impossible("bin %d of the gaps ends at %v, must be at least 1, above the bin before and at most 2^60", i, b.Upto)
		case !(b.Share >= 0):
			return impossible("bin %d of the gaps has share %v, must be 0 or more", i, b.Share)
		}
		last, sum = b.Upto, sum+b.Share
	}
	if math.Abs(sum-1) > 1e-6 {
		return impossible("the shares of the gaps add up to %v, must be 1", sum)
	}
	if q.Kind != Unbounded && last > 2*q.Elements {
		return impossible("gaps of up to %v elements in a window of %v: count repeats within the window only", last, q.Elements)
	}
	return nil
}

// histogram counts gaps. It has a bin for each of the smallest numbers, and four for each
// power of two beyond. Its zero value is empty. It takes at most 2 KiB.
type histogram struct {
	counts  []float64
	longest float64
}

// edges are the ends of a histogram's bins, ascending whole numbers up to 2^60.
var edges = sync.OnceValue(func() []float64 {
	var all []float64
	for i := 0; i <= 60*binsPerOctave; i++ {
		edge := math.Floor(math.Exp2(float64(i) / binsPerOctave))
		if len(all) == 0 || edge > all[len(all)-1] {
			all = append(all, edge)
		}
	}
	return all
})

// add counts a gap, clamped to 1 to 2^60, with a weight.
func (h *histogram) add(gap, weight float64) {
	gap = math.Max(1, math.Min(gap, maxElements))
	h.longest = math.Max(h.longest, gap)
	i, _ := slices.BinarySearch(edges(), gap)
	for len(h.counts) <= i {
		h.counts = append(h.counts, 0)
	}
	h.counts[i] += weight
}

// result returns the distribution, nil if nothing was counted.
func (h *histogram) result() Gaps {
	sum := 0.0
	for _, n := range h.counts {
		sum += n
	}
	if sum == 0 {
		return nil
	}
	gaps := make(Gaps, len(h.counts))
	for i, n := range h.counts {
		gaps[i] = Bin{Upto: math.Min(edges()[i], h.longest), Share: n / sum}
	}
	return gaps
}

// Quantile returns the end of the bin in which the given share of the gaps is reached, or
// 0 if there are no gaps.
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

// Times returns the distribution of gaps factor times as long, but at least 1.
func (g Gaps) Times(factor float64) Gaps {
	var h histogram
	low := 0.0
	for _, b := range g {
		h.add(math.Ceil((low+b.Upto+1)/2*factor), b.Share)
		low = b.Upto
	}
	return h.result()
}
