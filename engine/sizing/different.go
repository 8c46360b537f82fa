// SPDX-License-Identifier: Apache-2.0

package sizing

import "math"

// leastFresh is the share of new elements where the others come so often that there are
// hardly any: it keeps shares above 0.
const leastFresh = 1e-18

// fitDifferent chooses the share of new elements and the gaps of repeats so that Elements
// consecutive elements contain Different distinct elements. Given gaps stay, if a share of
// new elements fits them, and so do log-uniform gaps over an unbounded stream. Otherwise
// the stream comes from a fixed population, each member of which is the next element with
// equal probability: gaps are exponential, cut off at the window. If nearly all elements
// differ, this approaches uniform gaps.
//
// In a landmark window each element is new once, so gaps do not matter.
func (q *Question) fitDifferent() {
	share := q.Different / q.Elements
	if q.Kind == Landmark {
		q.Distinct = share
		return
	}
	if q.Gaps == nil && q.Kind == Unbounded {
		q.Gaps = logGaps(q.Elements)
	}
	if q.Gaps != nil && q.fitFresh() {
		return
	}
	// The window holds (1-e^-turns)/turns of its elements, turns being how often a member
	// comes in it.
	q.turns = solveFalling(1e-9, 1/math.Max(share, 1e-15), func(turns float64) float64 {
		return -math.Expm1(-turns)/turns - share
	})
	q.Distinct = math.Max(leastFresh, math.Exp(-q.turns))
	q.Gaps = exponentialGaps(q.Elements, q.turns)
	if !q.fitFresh() { // bins are coarse
		mean := distinctAmong(0, q.Gaps, q.Elements)
		q.Gaps = q.Gaps.scaled(q.Different / mean)
		q.Distinct = leastFresh
	}
}

// fitFresh chooses only the share of new elements, and reports whether any share fits.
func (q *Question) fitFresh() bool {
	repeated := distinctAmong(0, q.Gaps, q.Elements)
	fresh := (q.Different - repeated) / (q.Elements - repeated)
	if repeated >= q.Elements || fresh < leastFresh {
		return repeated >= q.Elements && q.Different >= q.Elements
	}
	q.Distinct = fresh
	return true
}

// exponentialGaps are exponential gaps, cut off at longest, which is turns times their
// mean. Bins have equal shares; the last bin is halved again and again, as its gaps
// differ most.
func exponentialGaps(longest, turns float64) Gaps {
	const bins, halvings = 64, 16
	var gaps Gaps
	waiting, last := 0.0, 1.0
	add := func(longer float64) { // share of the gaps that are longer than the bin's gaps
		waiting, last = waiting+last-longer, longer
		upto := longest
		if longer > 0 {
			upto = -math.Log1p((1-longer)*math.Expm1(-turns)) / turns * longest
		}
		if upto >= 1 && (len(gaps) == 0 || upto > gaps[len(gaps)-1].Upto) {
			gaps, waiting = append(gaps, Bin{Upto: upto, Share: waiting}), 0
		}
	}
	for i := 1; i < bins; i++ {
		add(1 - float64(i)/bins)
	}
	for i := 1; i <= halvings; i++ {
		add(math.Ldexp(1.0/bins, -i))
	}
	add(0)
	return gaps
}

// scaled returns gaps factor times as long, bin by bin.
func (g Gaps) scaled(factor float64) Gaps {
	all := make(Gaps, 0, len(g))
	waiting := 0.0
	for _, b := range g {
		waiting += b.Share
		if upto := b.Upto * factor; upto >= 1 {
			all, waiting = append(all, Bin{Upto: upto, Share: waiting}), 0
		}
	}
	if len(all) == 0 {
		return Gaps{{Upto: 1, Share: 1}}
	}
	return all
}

// solveFalling returns where a falling f is 0, between low and high, by bisection of the
// logarithm.
func solveFalling(low, high float64, f func(float64) float64) float64 {
	for range 200 {
		middle := math.Sqrt(low * high)
		if middle <= low || middle >= high {
			break
		}
		if f(middle) > 0 {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}
