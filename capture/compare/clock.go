// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"math/bits"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/engine/calendar"
)

// mostApart is the largest offset of two clocks, in nanoseconds: 73 years, so that a clock that
// stands at 1970 counts. Times lie within calendar.Farthest, so a time and an offset have a
// sum in 64 bits. Differences of such sums need not.
const mostApart = 1 << 61

// pair is two equal packets: when A saw it, and how much later B did, each by its clock.
type pair struct{ time, delta int64 }

// line is the difference between the clocks: offset at time origin, and slope nanoseconds more
// each nanosecond.
type line struct {
	origin, offset int64
	slope          float64
}

// at returns the offset at a time, mostApart at most.
func (l *line) at(t int64) int64 {
	drift := l.slope * float64(calendar.Since(t, l.origin))
	if drift > mostApart || drift < -mostApart {
		drift = max(min(drift, mostApart), -mostApart)
	}
	return max(min(calendar.Shift(l.offset, int64(drift)), mostApart), -mostApart)
}

// residual returns the distance of a pair above the line.
func (l *line) residual(p pair) float64 {
	return float64(calendar.Since(p.delta, l.offset)) - l.slope*float64(calendar.Since(p.time, l.origin))
}

// medianOf returns the lower median of values, whose order it changes. It takes linear time if
// pivots divide the values well, and else sorts the values that are left (Hoare: Algorithm 65:
// Find, 1961).
func medianOf[T int64 | float64](values []T) T {
	const few = 16
	at, from, to := (len(values)-1)/2, 0, len(values)
	for rounds := 2 * bits.Len(uint(len(values))); rounds > 0 && to-from > few; rounds-- {
		i, j := divide(values, from, to)
		switch {
		case at <= j:
			to = j + 1
		case at >= i:
			from = i
		default: // it is the pivot
			return values[at]
		}
	}
	slices.Sort(values[from:to])
	return values[at]
}

// divide orders the values from number from to to-1 by a pivot: values up to j are not above it,
// values from i on not below it, and values between j and i equal it.
func divide[T int64 | float64](values []T, from, to int) (i, j int) {
	a, b, c := values[from], values[(from+to)/2], values[to-1]
	pivot := max(min(a, b), min(max(a, b), c))
	for i, j = from, to-1; i <= j; {
		for values[i] < pivot {
			i++
		}
		for values[j] > pivot {
			j--
		}
		if i <= j {
			values[i], values[j] = values[j], values[i]
			i, j = i+1, j-1
		}
	}
	return i, j
}

// Slopes are of pairs that lie at least a quarter of spanOf apart: slopes of near pairs say little, and
// bursts have many of them.
const (
	allSlopes  = 512 // pairs of which all slopes are looked at
	mostSlopes = 1 << 18
)

// slopeOf returns the median of the slopes between pairs, which are ordered by time (Theil:
// A rank-invariant method of linear and polynomial regression analysis, 1950; Sen:
// Estimates of the regression coefficient based on Kendall's tau, 1968). Of many pairs,
// only slopes over half or a third of the pairs count, as in Theil's incomplete method.
func slopeOf(pairs []pair) float64 {
	n := len(pairs)
	least := max(spanOf(pairs)/4, 1)
	slopes := make([]float64, 0, min(n*n/2, mostSlopes))
	add := func(i, j int) {
		if dt := calendar.Since(pairs[j].time, pairs[i].time); dt >= least {
			slopes = append(slopes, float64(calendar.Since(pairs[j].delta, pairs[i].delta))/float64(dt))
		}
	}
	if n <= allSlopes {
		for i := range pairs {
			for j := i + 1; j < n; j++ {
				add(i, j)
			}
		}
	} else {
		for _, apart := range []int{n / 2, n/2 + n/7, n / 3} {
			for i := 0; i+apart < n && len(slopes) < mostSlopes; i++ {
				add(i, i+apart)
			}
		}
	}
	if len(slopes) == 0 {
		return 0
	}
	return medianOf(slopes)
}

// fit returns the line of pairs, which are ordered by time, with that origin. Too few
// pairs have no slope.
func fit(pairs []pair, origin int64) line {
	l := line{origin: origin, offset: pairs[0].delta}
	if hasSlope(pairs) {
		l.slope = slopeOf(pairs)
	}
	residuals := make([]float64, len(pairs))
	for i, p := range pairs {
		residuals[i] = l.residual(p)
	}
	l.offset += int64(medianOf(residuals))
	return l
}

// fewPairs and shortSpan are too little for a slope to mean something: steady pairs of 10 ms have that span.
const (
	fewPairs  = 10
	shortSpan = int64(10*time.Millisecond) * 3 / 4
)

func hasSlope(pairs []pair) bool { return len(pairs) >= fewPairs && spanOf(pairs) >= shortSpan }

// spanOf returns the time that pairs take, ordered by time, without the first and the last eighth: few wrong
// times do not change it.
func spanOf(pairs []pair) int64 {
	n := len(pairs)
	return calendar.Since(pairs[n-1-n/8].time, pairs[n/8].time)
}

// tracker follows the offset of the clocks while packets are matched: the median of recent
// pairs, and the slope of medians that are further apart.
type tracker struct {
	line
	recent  []pair
	anchors []pair // medians, at least spacing apart
	spacing int64
}

const (
	mostRecent  = 127
	leastRecent = 15
	mostAnchors = 64
	fewAnchors  = 8
	// longSpan is the least span of anchors that has a slope: noise of a millisecond
	// makes a slope of 100 ppm there.
	longSpan = int64(10 * time.Second)
)

func newTracker(l line) tracker { return tracker{line: l, spacing: int64(time.Second)} }

// add takes pairs that were matched, as many as it has room for.
func (k *tracker) add(pairs ...pair) {
	k.recent = append(k.recent, pairs[:min(len(pairs), mostRecent-len(k.recent))]...)
}

// update moves the line to the recent pairs, if there are enough of them.
func (k *tracker) update() {
	if len(k.recent) < leastRecent {
		return
	}
	var residuals [mostRecent]float64
	for i, p := range k.recent {
		residuals[i] = k.residual(p)
	}
	now := k.recent[len(k.recent)/2].time
	k.origin, k.offset = now, k.at(now)+int64(medianOf(residuals[:len(k.recent)]))
	k.recent = k.recent[:0]
	if n := len(k.anchors); n > 0 && calendar.Since(k.origin, k.anchors[n-1].time) < k.spacing {
		return
	}
	if len(k.anchors) == mostAnchors {
		for i := range mostAnchors / 2 {
			k.anchors[i] = k.anchors[2*i]
		}
		k.anchors, k.spacing = k.anchors[:mostAnchors/2], 2*k.spacing
	}
	k.anchors = append(k.anchors, pair{k.origin, k.offset})
	if n := len(k.anchors); n >= fewAnchors && calendar.Since(k.origin, k.anchors[0].time) >= longSpan {
		k.slope = slopeOf(k.anchors)
	}
}
