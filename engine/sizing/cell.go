package sizing

import (
	"math"

	"github.com/flowdedup/flowdedup/engine/theory"
)

// cell is a place of memory that elements set and that is cleared at random moments:
// a bit, a counter that counts down, or the presence of a fingerprint in its row. Time
// is counted in elements.
type cell struct {
	setting  float64 // probability that a given element sets it
	clearing float64 // rate of its decrements
	top      int     // decrements that clear it
}

// clear returns, by grid position, the probability that the cell is clear when an
// element returns that set it: the sum over the time t since it was last set, which is
// distributed as the time since the last of the different elements that set it, of the
// probability that it was cleared within t.
func (c cell) clear(l *load) misses {
	m := make(misses, len(l.between))
	sum, unset, cleared := 0.0, 1.0, 0.0
	for i, t := range l.between {
		clearedBy := theory.PoissonTail(c.top, c.clearing*t)
		unsetSince := math.Exp(-c.setting * l.different[i])
		sum += (unset - unsetSince) * (cleared + clearedBy) / 2
		m[i] = math.Min(1, sum+unsetSince*clearedBy)
		unset, cleared = unsetSince, clearedBy
		if unset < 1e-16 {
			for j := i + 1; j < len(m); j++ {
				m[j] = m[i]
			}
			break
		}
	}
	return m
}

// rates are what a filter settles at that takes an element for a repeat if its k cells
// are all set.
type rates struct {
	clear misses // probability that a cell of an element that returns is clear
	k     int
	set   float64 // probability that a cell is set, which new elements find
	fpr   float64
}

func ratesOf(l *load, c cell, k int) rates {
	clear := c.clear(l)
	set := 1 - clear[len(clear)-1]
	return rates{clear: clear, k: k, set: set, fpr: math.Pow(set, float64(k))}
}

// missed is the probability that one of k cells is clear.
func (r rates) missed(clear float64) float64 {
	return -math.Expm1(float64(r.k) * math.Log1p(-clear))
}

// misses returns the probabilities that an element that returns is missed.
func (r rates) misses() misses {
	m := make(misses, len(r.clear))
	for i, z := range r.clear {
		m[i] = r.missed(z)
	}
	return m
}

// distinctReports returns the share of elements that are reported distinct.
func (r rates) distinctReports(l *load) float64 {
	fnr := 0.0
	for _, w := range l.bins {
		fnr += w.share * r.missed(r.clear[w.at])
	}
	return l.fresh*(1-r.fpr) + (1-l.fresh)*fnr
}

// fixedPoint finds the rate of clearings that is equal to what it leads to: next says
// which, for the rates at a given one. most bounds the rate. Where all clearings are
// too few to keep up with what is set, the filter fills up and everything is
// reported as a repeat.
func fixedPoint(l *load, k int, setting, most float64, next func(rates) float64) rates {
	var at rates
	excess := func(logClearing float64) float64 {
		at = ratesOf(l, cell{setting: setting, clearing: math.Exp(logClearing), top: 1}, k)
		return math.Log(next(at)) - logClearing
	}
	const little = 1e-3 // of excess, which is what errors of the grid come to
	low, high := math.Log(most)-15, math.Log(most)
	if excess(low) < little {
		return rates{clear: make(misses, len(l.between)), k: k, set: 1, fpr: 1}
	}
	bisect(low, high, excess)
	return at
}

// bisect solves f(x) = 0 for a falling f between low, where it is positive, and high, where
// it is not, to 1e-6 by the Illinois method. The last call of f is at the solution.
func bisect(low, high float64, f func(x float64) float64) {
	atLow, atHigh := f(low), f(high)
	for range 100 {
		x := high
		if atLow != atHigh {
			x = (low*atHigh - high*atLow) / (atHigh - atLow)
		}
		at := f(x)
		switch {
		case math.Abs(at) < 1e-6 || high-low < 1e-6:
			return
		case at > 0:
			low, atLow = x, at
			atHigh /= 2
		default:
			high, atHigh = x, at
			atLow /= 2
		}
	}
}
