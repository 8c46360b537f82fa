// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"math"
	"slices"
)

// Load is a stream in the form that the models use, on a grid of gaps. Position i of the
// grid stands for a repeat with Between[i] elements since the last sighting, Different[i]
// of them distinct.
type Load struct {
	Fresh     float64 // share of new elements
	Between   []float64
	Different []float64
	Bins      []Weight
	Length    float64 // elements of a finite stream, 0 for streams without an end
}

// Weight is a bin of the gaps: its share and the grid position of its middle.
type Weight struct {
	Share float64
	At    int
}

const (
	gridPerOctave = 8
	gridOctaves   = 64
)

func newLoad(fresh float64, gaps Gaps) *Load {
	l := &Load{Fresh: fresh, Between: []float64{0}}
	middles := make([]float64, len(gaps))
	low := 0.0
	for i, b := range gaps {
		middles[i] = math.Max(0, (low+b.Upto-1)/2)
		low = b.Upto
	}
	for i := range gridPerOctave*gridOctaves + 1 {
		l.Between = append(l.Between, math.Exp2(float64(i)/gridPerOctave))
	}
	l.Between = append(l.Between, middles...)
	slices.Sort(l.Between)
	l.Between = slices.Compact(l.Between)
	for i, m := range middles {
		at, _ := slices.BinarySearch(l.Between, m)
		l.Bins = append(l.Bins, Weight{Share: gaps[i].Share, At: at})
	}
	l.Different = make([]float64, len(l.Between))
	for i, t := range l.Between {
		l.Different[i] = distinctAmong(fresh, gaps, t)
	}
	return l
}

// leastRoom bounds how much rarer the longest gaps are in a stream than in an endless stream.
const leastRoom = 0.05

// Endless returns the share of new elements and the gaps of an endless stream. fresh and gaps
// were counted in a stream of the same kind with a length. A gap needs a position as far from
// the stream's begin as the gap is long. So an endless stream has more long gaps, and fewer
// new elements.
func Endless(fresh float64, gaps Gaps, length float64) (float64, Gaps) {
	all, sum := make(Gaps, len(gaps)), 0.0
	low := 0.0
	for i, b := range gaps {
		room := math.Max(leastRoom, 1-(low+b.Upto)/2/length)
		all[i] = Bin{Upto: b.Upto, Share: (1 - fresh) * b.Share / room}
		sum += all[i].Share
		low = b.Upto
	}
	if sum == 0 {
		return fresh, gaps
	}
	for i := range all {
		all[i].Share /= sum
	}
	return math.Max(leastFresh, 1-sum), all
}

// newFiniteLoad is the load of a stream of the given length.
func newFiniteLoad(fresh float64, gaps Gaps, length float64) *Load {
	l := newLoad(Endless(fresh, gaps, length))
	l.Length = length
	for i := range gaps {
		l.Bins[i].Share = gaps[i].Share
	}
	l.Fresh = fresh
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

// Misses are probabilities that a repeat is missed, by grid position.
type Misses []float64

// FNR is the mean over all repeats.
func (l *Load) FNR(m Misses) float64 {
	sum := 0.0
	for _, w := range l.Bins {
		sum += w.Share * m[w.At]
	}
	return math.Min(sum, 1)
}

// remembered returns the number of distinct elements that may come in between until half
// of the repeats are missed, or +Inf if that never happens.
func (l *Load) remembered(m Misses) float64 {
	const half = 0.5
	for i, p := range m {
		if p < half {
			continue
		}
		if i == 0 {
			return 0
		}
		part := (half - m[i-1]) / (p - m[i-1])
		return l.Different[i-1] + part*(l.Different[i]-l.Different[i-1])
	}
	return math.Inf(1)
}

// MissesOf evaluates a miss probability at each grid position, from values there: such as the number of
// elements in between, or how many of them are distinct.
func MissesOf(at []float64, f func(float64) float64) Misses {
	m := make(Misses, len(at))
	for i, x := range at {
		m[i] = f(x)
	}
	return m
}
