// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"math"
	"slices"
)

// load is a stream in the form that the models use, on a grid of gaps. Position i of the
// grid stands for a repeat with between[i] elements since the last sighting, different[i]
// of them distinct.
type load struct {
	fresh     float64 // share of new elements
	between   []float64
	different []float64
	bins      []weight
	// length is the number of elements of a finite stream, 0 for streams without an end. Far
	// from the begin of it steadyFresh is the share of new elements, and repeatsAt the share
	// of repeats with the gaps of a bin.
	length      float64
	steadyFresh float64
	repeatsAt   []float64
}

// weight is a bin of the gaps: its share and the grid position of its middle.
type weight struct {
	share float64
	at    int
}

const (
	gridPerOctave = 8
	gridOctaves   = 64
)

func newLoad(fresh float64, gaps Gaps) *load {
	l := &load{fresh: fresh, steadyFresh: fresh, between: []float64{0}}
	middles := make([]float64, len(gaps))
	low := 0.0
	for i, b := range gaps {
		middles[i] = math.Max(0, (low+b.Upto-1)/2)
		low = b.Upto
	}
	for i := range gridPerOctave*gridOctaves + 1 {
		l.between = append(l.between, math.Exp2(float64(i)/gridPerOctave))
	}
	l.between = append(l.between, middles...)
	slices.Sort(l.between)
	l.between = slices.Compact(l.between)
	for i, m := range middles {
		at, _ := slices.BinarySearch(l.between, m)
		l.bins = append(l.bins, weight{share: gaps[i].Share, at: at})
		l.repeatsAt = append(l.repeatsAt, gaps[i].Share*(1-fresh))
	}
	l.different = make([]float64, len(l.between))
	for i, t := range l.between {
		l.different[i] = distinctAmong(fresh, gaps, t)
	}
	return l
}

// distinctAmong returns D(t): t times the share of new elements, and for the repeats the
// sum of P(gap > i) over i < t. The sum is the integral, a parabola over each bin, plus
// the first term of Euler's correction.
func distinctAmong(fresh float64, gaps Gaps, t float64) float64 {
	low, left, integral, at := 0.0, 1.0, 0.0, 1.0
	for _, b := range gaps {
		width := b.Upto - low
		part := math.Max(0, math.Min(t-low, width))
		at = left - b.Share*part/width
		integral += part * (left + at) / 2
		if part < width {
			break
		}
		low, left = b.Upto, left-b.Share
	}
	return fresh*t + (1-fresh)*(integral+(1-at)/2*math.Min(t, 1))
}

// differentIn interpolates D.
func (l *load) differentIn(elements float64) float64 {
	at, found := slices.BinarySearch(l.between, elements)
	switch {
	case found || at == 0:
		return l.different[at]
	case at == len(l.between):
		return l.different[at-1]
	}
	part := (elements - l.between[at-1]) / (l.between[at] - l.between[at-1])
	return l.different[at-1] + part*(l.different[at]-l.different[at-1])
}

// gridAt returns the first grid position with at least the given number of elements in between.
func (l *load) gridAt(elements float64) int {
	at, _ := slices.BinarySearch(l.between, elements)
	return min(at, len(l.between)-1)
}

// misses are probabilities that a repeat is missed, by grid position.
type misses []float64

// fnr is the mean over all repeats.
func (l *load) fnr(m misses) float64 {
	sum := 0.0
	for _, w := range l.bins {
		sum += w.share * m[w.at]
	}
	return math.Min(sum, 1)
}

// remembered returns the number of distinct elements that may come in between until half
// of the repeats are missed, or +Inf if that never happens.
func (l *load) remembered(m misses) float64 {
	const half = 0.5
	for i, p := range m {
		if p < half {
			continue
		}
		if i == 0 {
			return 0
		}
		part := (half - m[i-1]) / (p - m[i-1])
		return l.different[i-1] + part*(l.different[i]-l.different[i-1])
	}
	return math.Inf(1)
}

// missesByGap evaluates a miss probability that depends on the number of elements in
// between.
func (l *load) missesByGap(f func(between float64) float64) misses {
	m := make(misses, len(l.between))
	for i, t := range l.between {
		m[i] = f(t)
	}
	return m
}

// missesByDistinct evaluates a miss probability that depends on the number of distinct
// elements in between.
func (l *load) missesByDistinct(f func(different float64) float64) misses {
	m := make(misses, len(l.different))
	for i, d := range l.different {
		m[i] = f(d)
	}
	return m
}
