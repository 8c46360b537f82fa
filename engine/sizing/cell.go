// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"math"

	"github.com/flowdedup/flowdedup/engine/theory"
)

// cell is a unit of memory that elements set and that is cleared at random times: a bit,
// a counter that counts down, or the presence of a fingerprint in its row. Time is
// counted in elements.
type cell struct {
	setting  float64 // probability that a given element sets it
	clearing float64 // rate of its decrements
	top      int     // decrements that clear it
}

// clear returns, by grid position, the probability that the cell is clear when an element
// that set it returns. It sums the probability that the cell was cleared within t over
// the time t since it was last set, which is the time since the last of the distinct
// elements that set it.
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

// rates are the steady state of a filter that reports an element as a repeat if its k
// cells are all set.
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

// missed returns the probability that at least one of k cells is clear.
func (r rates) missed(clear float64) float64 {
	return -math.Expm1(float64(r.k) * math.Log1p(-clear))
}

// misses returns, by grid position, the probability that a repeat is missed.
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

// fixedPoint finds the rate of clearings that reproduces itself. next returns the rate of
// clearings that follows from given rates; most bounds it. If clearings cannot keep up
// with the bits that are set, the filter fills up and reports everything as a repeat.
func fixedPoint(l *load, k int, setting, most float64, next func(rates) float64) rates {
	var at rates
	excess := func(logClearing float64) float64 {
		at = ratesOf(l, cell{setting: setting, clearing: math.Exp(logClearing), top: 1}, k)
		return math.Log(next(at)) - logClearing
	}
	const little = 1e-3 // of excess, about the error of the grid
	low, high := math.Log(most)-15, math.Log(most)
	if excess(low) < little {
		return rates{clear: make(misses, len(l.between)), k: k, set: 1, fpr: 1}
	}
	findRoot(low, high, excess)
	return at
}

// findRoot solves f(x) = 0 for a falling f between low, where it is positive, and high,
// where it is not, to 1e-6 by the Illinois method. The last call of f is at the solution.
func findRoot(low, high float64, f func(x float64) float64) {
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

const (
	mostStableK    = 32
	mostStableBits = 4 // Max up to 15; larger counters gain nothing in the paper
	lineBits       = 512
)

// stable is the stable Bloom filter. Eq. 17 of Deng, Rafiei gives P for the bound on the
// FPR; K and Max are the ones that miss least under this P.
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
			if worse > 3 { // the misses have one minimum in K
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
			p = cells // the closest possible to the bound
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

// mostBiasedK is enough for a FPR of 1e-9 with arrays that are half full.
const mostBiasedK = 64

// biasedRates are the rates of a filter of k arrays of s bits.
type biasedRates func(r *request, k int, s float64) outcome

// biased returns the rates of a filter that clears bits for each element that it reports
// as distinct. clearing returns how often such a report clears a given bit, for arrays of
// s bits with the given share set.
func biased(clearing func(k int, s, set float64) float64) biasedRates {
	return func(r *request, k int, s float64) outcome {
		if r.load.length > 0 {
			run := finiteRun{load: r.load, k: k, setting: 1 / s, clearing: func(set float64) float64 { return clearing(k, s, set) }}
			return run.rates()
		}
		return fixedPoint(r.load, k, 1/s, 1/s, func(at rates) float64 {
			return clearing(k, s, at.set) * at.distinctReports(r.load)
		}).outcome(r.load)
	}
}

// model returns the model of the filter as published.
func (at biasedRates) model(r *request, bits int) (design, error) {
	return biasedBest(r, bits, func(k int, s float64) outcome { return at(r, k, s) })
}

// bsbf clears one bit of each array.
func bsbf(_ int, s, _ float64) float64 { return 1 / s }

// bsbfsd clears one bit of one array.
func bsbfsd(k int, s, _ float64) float64 { return 1 / (float64(k) * s) }

// rlbsbf clears one bit of each array with a probability equal to its load.
func rlbsbf(_ int, s, set float64) float64 { return set / s }

// rsbfThreshold is p*, as in Bera et al. and in stream.New.
const rsbfThreshold = 0.03

// rsbf is the reservoir sampling based filter in its last phase, from element s/p* on, in
// which an unbounded stream ends. In this phase one bit is cleared for each bit that is
// set, so the number of set bits stays as the first phase left it. This is half of them,
// or less in a stream with many repeats, which only cleared bits in the first phase. So
// the FPR is a bound, and the FNR some 15 % too low if most elements are repeats. Bits
// are cleared at the rate that keeps half of them set.
func rsbf(r *request, k int, s float64) outcome {
	if r.load.length > 0 {
		run := finiteRun{load: r.load, k: k, setting: 1 / s, reservoir: s, replaced: s / rsbfThreshold}
		return run.rates()
	}
	var at rates
	findRoot(math.Log(1e-6/s), math.Log(1e6/s), func(logClearing float64) float64 {
		at = ratesOf(r.load, cell{setting: 1 / s, clearing: math.Exp(logClearing), top: 1}, k)
		return at.set - 0.5
	})
	return at.outcome(r.load)
}

// biasedBest takes the smallest number of arrays that keeps the bound on the FPR. More
// arrays lower the FPR but miss more.
func biasedBest(r *request, bits int, at func(k int, s float64) outcome) (design, error) {
	low, high := 1, mostBiasedK
	if r.Fixed.K != 0 {
		low, high = r.Fixed.K, r.Fixed.K
	}
	if bits < low {
		return design{}, impossible("K = %d arrays need at least %d bits of memory; the %d bits given are enough for K up to %d", low, low, bits, bits)
	}
	high = max(low, min(high, bits))
	for low < high {
		k := (low + high) / 2
		if at(k, float64(bits/k)).fpr <= r.FPR {
			high = k
		} else {
			low = k + 1
		}
	}
	s := bits / high
	result := at(high, float64(s))
	return result.finish(r, design{
		parameters: []Parameter{{"K", high}, {"s", s}},
		bits:       high * s,
		fpr:        result.fpr,
		lines:      float64(2 * high),
	}), nil
}

// finish completes a design.
func (o outcome) finish(r *request, d design) design {
	d = r.finish(d, o.misses)
	d.fnr = o.fnr
	return d
}
