// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// mostPairs bounds the sample of pairs.
const mostPairs = 1 << 17

// delays has a sample of the pairs of a run, and the outermost of all pairs.
type delays struct {
	count uint64 // pairs
	level uint   // the sample has the pairs whose hash has this many bits 0
	pairs []sampledPair
	fresh int // pairs that sample and hulls lack
	group [group]pair
	above hull // the latest pairs
	below hull // the earliest, with their deltas negated
}

type sampledPair struct {
	pair
	hash uint64
}

// add adds pairs.
func (d *delays) add(pairs ...pair) {
	for len(pairs) > 0 {
		n := copy(d.group[d.fresh:], pairs)
		pairs, d.fresh = pairs[n:], d.fresh+n
		if d.fresh == group {
			d.extend()
		}
	}
}

// sample adds a pair to the sample.
func (d *delays) sample(p pair, hash uint64) {
	if d.pairs == nil {
		d.pairs = make([]sampledPair, 0, mostPairs) // which takes no memory before it is used
	}
	if len(d.pairs) == mostPairs {
		d.level++
		d.pairs = slices.DeleteFunc(d.pairs, func(s sampledPair) bool { return s.hash&(1<<d.level-1) != 0 })
	}
	d.pairs = append(d.pairs, sampledPair{p, hash})
}

// extend adds to sample and hulls the pairs that they lack. In the hulls, times that go back count as
// the latest time before.
func (d *delays) extend() {
	pairs, latest := d.group[:d.fresh], int64(math.MinInt64)
	top, bottom, high, low := 0, 0, int64(math.MinInt64), int64(math.MaxInt64)
	if n := len(d.above.corners); n > 0 {
		latest = d.above.corners[n-1].time
	}
	for i := range pairs {
		p := &pairs[i]
		d.count++
		if hash := traits.Mix(d.count, 1); hash&(1<<(d.level%64)-1) == 0 {
			d.sample(*p, hash)
		}
		latest = max(latest, p.time)
		p.time = latest
		if p.delta > high {
			high, top = p.delta, i
		}
		if p.delta < low {
			low, bottom = p.delta, i
		}
	}
	d.above.addAll(pairs, top)
	for i := range pairs {
		pairs[i].delta = -pairs[i].delta
	}
	d.below.addAll(pairs, bottom)
	d.fresh = 0
}

// sorted returns the sample in the order of time.
func (d *delays) sorted() []pair {
	d.extend()
	pairs := make([]pair, len(d.pairs))
	for i := range d.pairs {
		pairs[i] = d.pairs[i].pair
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(a.time, b.time) })
	return pairs
}

// spread returns, for a line, the delay of each sampled packet above the fastest packet's
// delay, and the delay of the slowest packet.
func (d *delays) spread(l *line, pairs []pair) ([]float64, float64) {
	each, least, most := make([]float64, len(pairs)), math.Inf(1), math.Inf(-1)
	for i, p := range pairs {
		each[i] = l.residual(p)
		least, most = min(least, each[i]), max(most, each[i])
	}
	if d.level > 0 { // the sample lacks pairs
		least, most = -d.below.most(&line{origin: l.origin, offset: -l.offset, slope: -l.slope}), d.above.most(l)
	}
	for i := range each {
		each[i] = max(each[i]-least, 0)
	}
	return each, most - least
}

// hull is the upper convex hull of pairs (Andrew: Another efficient algorithm for convex
// hulls in two dimensions, 1979): the pair that lies furthest above any line is a
// corner of the hull.
type hull struct{ corners []pair }

// mostCorners bounds the corners. Beyond, every second corner is left out: a hull with this many
// corners is smooth.
const mostCorners = 1 << 14

// addAll adds at most a group of pairs, of which the first of the highest is pair top. It leaves out pairs
// that can be no corner: pairs below both an earlier and a later pair.
func (h *hull) addAll(pairs []pair, top int) {
	if len(pairs) == 0 {
		return
	}
	before := int64(math.MinInt64)
	if n := len(h.corners); n > 0 {
		before = h.corners[n-1].delta
	}
	for _, p := range pairs[:top] {
		if p.delta > before {
			h.add(p)
			before = p.delta
		}
	}
	h.add(pairs[top])
	corners, behind := uint64(0), int64(math.MinInt64)
	for i := len(pairs) - 1; i > top; i-- {
		if pairs[i].delta > behind {
			corners |= 1 << i
			behind = pairs[i].delta
		}
	}
	for ; corners != 0; corners &= corners - 1 {
		h.add(pairs[bits.TrailingZeros64(corners)])
	}
}

// add adds a pair.
func (h *hull) add(p pair) {
	n := len(h.corners)
	if n > 0 && p.time <= h.corners[n-1].time {
		if p.delta <= h.corners[n-1].delta {
			return
		}
		p.time = h.corners[n-1].time
		n--
	}
	for n >= 2 && !turnsRight(h.corners[n-2], h.corners[n-1], p) {
		n--
	}
	h.corners = append(h.corners[:n], p)
	if n == mostCorners {
		for i := range mostCorners / 2 {
			h.corners[i] = h.corners[2*i]
		}
		h.corners = append(h.corners[:mostCorners/2], p)
	}
}

// turnsRight reports whether b lies above the line from a to c.
func turnsRight(a, b, c pair) bool {
	since := func(t, u int64) float64 { return float64(calendar.Since(t, u)) }
	return since(b.delta, a.delta)*since(c.time, a.time) > since(c.delta, a.delta)*since(b.time, a.time)
}

// most returns the largest distance of a pair above a line.
func (h *hull) most(l *line) float64 {
	most := math.Inf(-1)
	for _, p := range h.corners {
		most = max(most, l.residual(p))
	}
	return most
}
