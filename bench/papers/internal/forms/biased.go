// SPDX-License-Identifier: Apache-2.0

package forms

import "math"

// BiasedMethod is one of the filters of BDNB12. Each has k bit arrays of s bits
// and clears random bits (which may be clear already) before it sets the k bits
// of an element.
type BiasedMethod int

const (
	// RSBF inserts every element, whatever it reported, with probability
	// min(1, s/i) at position i, and clears one bit of each array then.
	RSBF BiasedMethod = iota
	// BSBF inserts elements that it reports as distinct, and clears one bit of each
	// array.
	BSBF
	// BSBFSD inserts elements that it reports as distinct, and clears one bit of one
	// array.
	BSBFSD
	// RLBSBF inserts elements that it reports as distinct, and clears one bit of each
	// array with a probability equal to the array's share of set bits.
	RLBSBF
)

// BiasedStream describes a run of BDNB12, section 6: Distinct different elements that
// occur at least once each, and Elements - Distinct more copies of uniformly chosen elements,
// all shuffled.
type BiasedStream struct {
	Elements int // more than Distinct
	Distinct int // at least 1
}

// BiasedRates are the results of [Biased].
type BiasedRates struct {
	FPR float64 // false positives, as a share of the distinct elements
	FNR float64 // false negatives, as a share of the duplicates
	X   float64 // X_m of BDNB12, Eq. 3.1, at the end: probability that a new element is reported
}

// Biased returns the error rates of a filter with k arrays of s bits at the end of a
// stream, in the limit of many bits (the error is in the order of 1/s).
//
// It uses BDNB12's decomposition by the last time at which a bit was set and the
// probability that it was not cleared since (Eq. 3.10 to 3.17, 4.1 and 4.2). It does not
// use the recurrences (Eq. 4.3, 4.5, 5.2). These treat "reported distinct" and "this bit
// is clear" as independent, and so let X go to 1. A filter like BSBF with k = 2 settles
// far below (at 0.38 for new elements), in the paper's own tables too. Algorithms 2 to 4
// swap distinct and duplicate, and Algorithm 1 does not give the tables; [RSBF] to
// [RLBSBF] document the interpretation.
//
// The reports determine how fast the arrays are cleared, so the rates solve an integral
// equation over the stream. It is solved on a grid of biasedSteps points. The result has
// four correct digits up to about ten elements for each bit of an array and ten copies of
// an element, and is within 0.5 % at the ends of the domain (1.5 % for tiny false
// negative rates). Domain: k >= 1, s >= 1000, s >= Elements/100, Distinct < Elements <
// 100 Distinct, and for RSBF Elements <= s/0.03, from where on its threshold p* = 0.03
// would take over.
func Biased(method BiasedMethod, k, s int, stream BiasedStream) BiasedRates {
	r := newBiasedRun(method, k, s, stream)
	for i := range r.cleared {
		r.step(i)
	}
	return BiasedRates{FPR: trapezoid(r.reports[:]), FNR: trapezoid(r.misses[:]) / r.extra, X: r.lastX}
}

// biasedSteps is the number of grid intervals of the stream.
const biasedSteps = 1000

// biasedRun is the state of a solution. Time runs from 0 to 1 along the stream. An
// id has one copy at a uniform time and others at a Poisson rate of extra.
//
// A bit is clear at a time u if and only if it was cleared at some t < u and no id of the
// bit was inserted in between. Clearings of a bit are random and so a Poisson process. An
// id that is reported as a duplicate needs no insertion, since its bits are set. So each
// copy counts as an insertion for all methods but RSBF, which thins them by inserted(u).
// This amounts to a change of time.
type biasedRun struct {
	method       BiasedMethod
	k            int
	extra        float64 // mean of the further copies of an id
	perBit       float64 // distinct ids for each bit of an array
	hitsPerBit   float64 // elements for each bit of an array
	cleared      [biasedSteps + 1]float64
	rate         [biasedSteps + 1]float64 // derivative of cleared: clearings of a bit per unit of time
	inserted     [biasedSteps + 1]float64 // probability that a copy is inserted
	insertedUpTo [biasedSteps + 1]float64 // its integral
	reports      [biasedSteps + 1]float64 // density of false positives, per id
	misses       [biasedSteps + 1]float64 // density of false negatives, per id
	survival     [biasedSteps + 1]float64 // e^cleared
	lastX        float64
}

func newBiasedRun(method BiasedMethod, k, s int, stream BiasedStream) *biasedRun {
	n, d := float64(stream.Elements), float64(stream.Distinct)
	r := &biasedRun{method: method, k: k, extra: n/d - 1, perBit: d / float64(s), hitsPerBit: n / float64(s)}
	full := 1 / r.hitsPerBit // when RSBF stops inserting everything
	for i := range r.inserted {
		u := float64(i) / biasedSteps
		r.inserted[i], r.insertedUpTo[i] = 1, u
		if method == RSBF && u > full {
			r.inserted[i], r.insertedUpTo[i] = full/u, full+full*math.Log(u/full)
		}
	}
	return r
}

// step advances to grid point i: cleared is extrapolated from the two points
// before, the reports at i follow, and cleared is corrected with them.
func (r *biasedRun) step(i int) {
	const h = 1.0 / biasedSteps
	switch {
	case i == 1:
		r.cleared[1] = h * r.rate[0]
	case i > 1:
		r.cleared[i] = r.cleared[i-1] + h*(1.5*r.rate[i-1]-0.5*r.rate[i-2])
	}
	r.survival[i] = math.Exp(r.cleared[i])
	clear := r.solve(i)
	r.lastX = math.Pow(1-clear, float64(r.k))
	r.rate[i] = r.clearingRate(i, 1-clear)
	if i > 0 {
		r.cleared[i] = r.cleared[i-1] + h*(r.rate[i-1]+r.rate[i])/2
		r.survival[i] = math.Exp(r.cleared[i])
	}
}

// clearingRate returns the clearings of a bit per unit of time, given the share
// of set bits.
func (r *biasedRun) clearingRate(i int, set float64) float64 {
	u := float64(i) / biasedSteps
	reportedDistinct := (r.firstAt(u) - r.reports[i] + r.misses[i]) / (1 + r.extra)
	switch r.method {
	case RSBF:
		return r.hitsPerBit * r.inserted[i]
	case BSBFSD:
		return r.hitsPerBit * reportedDistinct / float64(r.k)
	case RLBSBF:
		return r.hitsPerBit * reportedDistinct * set
	default:
		return r.hitsPerBit * reportedDistinct
	}
}

// firstAt returns the density of an id's first copy at time u.
func (r *biasedRun) firstAt(u float64) float64 {
	return math.Exp(-r.extra*u) * (1 + r.extra*(1-u))
}

// solve fills in the false positives and negatives at grid point i and returns the share
// of clear bits. It goes back in time: its sum at t is the probability that a bit was
// cleared after t and not set since.
func (r *biasedRun) solve(i int) (clear float64) {
	const h = 1.0 / biasedSteps
	misses := 0.0
	unhit, decay := 1.0, 1.0 // no insertion into the bit, and no clearing, from t to now
	previous := 0.0          // integrand of the misses at the grid point after t
	for j := i - 1; j >= 0; j-- {
		span := r.insertedUpTo[i] - r.insertedUpTo[j]
		alone := math.Exp(-r.extra * span)
		unhitThen := math.Exp(-r.perBit * (1 - (1-span)*alone))
		decayThen := r.survival[j] / r.survival[i]
		clear += (decay - decayThen) * (unhit + unhitThen) / 2
		unhit, decay = unhitThen, decayThen
		// Density of pairs of copies of an id, one inserted at t, one now, none inserted
		// between.
		pairs := r.inserted[j] * alone * r.extra * (r.extra*(1-span) + 2)
		integrand := pairs * (1 - r.allSet(clear))
		misses += h * (previous + integrand) / 2
		previous = integrand
	}
	clear += decay * unhit // never cleared, never set
	u := float64(i) / biasedSteps
	first := r.firstAt(u)
	// If copies came before but none of them was inserted, a copy finds arbitrary bits.
	// In the time of insertions, an id that was never inserted never came.
	forgotten := max(0, r.firstAt(r.insertedUpTo[i])-first)
	r.reports[i] = first * r.allSet(clear)
	r.misses[i] = misses + forgotten*(1-r.allSet(clear))
	return clear
}

// allSet returns (1-clear)^k.
func (r *biasedRun) allSet(clear float64) float64 {
	set := 1.0
	for range r.k {
		set *= 1 - clear
	}
	return set
}

// trapezoid integrates values on an even grid from 0 to 1.
func trapezoid(values []float64) float64 {
	sum := -(values[0] + values[len(values)-1]) / 2
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values)-1)
}
