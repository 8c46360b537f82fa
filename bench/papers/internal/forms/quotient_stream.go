// SPDX-License-Identifier: Apache-2.0

package forms

import (
	"math"
	"slices"

	"github.com/flowdedup/flowdedup/engine/theory"
)

// QuotientVariant is one of the quotient hash tables of GLN19. They differ in insertion
// and eviction.
type QuotientVariant int

const (
	// QHT inserts elements that it reports as new, and evicts at random (Algorithm 1).
	QHT QuotientVariant = iota
	// QHTD inserts every element, and evicts at random (section 5.1).
	QHTD
	// QQHTD inserts every element, and evicts the oldest (Algorithm 2).
	QQHTD
	// QQHT inserts elements that it reports as new, and evicts the oldest (section 5.2).
	QQHT
)

// duplicates reports whether the variant inserts every element.
func (v QuotientVariant) duplicates() bool { return v == QHTD || v == QQHTD }

// UniformStream is a stream of independent draws, all elements being equally likely:
// the artificial streams of GLN19.
type UniformStream struct {
	Elements int // draws, at least 2
	Universe int // different elements that can be drawn, at least 2
}

// Duplicates returns the expected number of draws of elements that came before,
// n - U (1-(1-1/U)^n).
func (s UniformStream) Duplicates() float64 {
	n, u := float64(s.Elements), float64(s.Universe)
	return max(0, n-u*powMinus(1/u, n))
}

// StreamRates returns the false positive rate (of the elements that come for the first
// time) and the false negative rate (of all repeats) over a whole stream from an empty
// table, before saturation too.
//
// GLN19 has the first for K = 1 only (Theorem 4.1) and the second in the
// limit of long streams only. The model for QHT: a row takes every new fingerprint until
// it is full, at a time T. Then another element of the row may evict the fingerprint of a
// given element, and a false duplicate may restore it; after each draw of the element it
// is there. The model averages the time since then, at most since T, over the draws. It
// averages the number n of other elements that can come to the row over a Poisson
// distribution. For n much larger than K the share of duplicates missed is
// (1-K/S)(1-e^(-t/(NK))) after a time t. In QQHTD the row loses the fingerprint after K
// draws.
//
// Over such a stream a queue has the rates of the table that evicts at random. A row of
// QHTD holds K earlier draws, and their choice does not depend on which elements they are:
// the oldest or a random one leaves. So its K cells are independent draws in both, and the
// rates of QHTD and QQHTD are equal. A row of QHT or of QQHT holds different fingerprints
// until it is full, and K of them from then on. All are equally likely, so its number
// gives the rates. Where several elements share a fingerprint, it is likelier than others;
// then the limits are equal (Gelenbe, A Unified Approach to the Evaluation of a Class of
// Replacement Algorithms, IEEE Transactions on Computers, 1973). For n much smaller than S
// this limit is 1 - K/(n+1), or 0 if K > n.
//
// For K = 1 the rates are exact up to terms of order 1/Elements and 1/Rows. For larger K
// they are within 3 % of simulated rates if n is much larger than K and 20 or more on
// average. If it is less, misses are within 3 % from rates of 3 % on, and within 7 % down to
// 0.1 %; then the FPR is a bound, up to twice the true rate. The work grows with K, not with
// the stream. Domain: 1 <= K <= 65536, K <= S for QHT and QQHT, Elements >= 2, Universe >= 2.
func (q Quotient) StreamRates(variant QuotientVariant, s UniformStream) (fpr, fnr float64) {
	// At the rate q at which a given element is drawn (1-1/U)^m is e^(-q m).
	n, rate := float64(s.Elements), -math.Log1p(-1/float64(s.Universe))
	fresh := -math.Expm1(-rate*n) / rate
	duplicates := integral(n, func(t float64) float64 { return -math.Expm1(-rate * t) }, scales/rate)
	mean := float64(s.Universe-1) / float64(q.Rows)
	smooth := variant.duplicates() || mean > float64(q.K)+4*math.Sqrt(mean) // all rows get full
	for _, p := range populations(mean, smooth) {
		row := sharedRow{k: q.K, s: float64(q.S), others: p.others, rate: rate, elements: n}
		if variant.duplicates() {
			fpr += p.weight * row.positives() / fresh
		}
		fnr += p.weight * row.misses(variant) / duplicates
	}
	if !variant.duplicates() { // the number of others makes no difference to it
		fpr = q.fpr(float64(s.Universe) * powMinus(1/float64(s.Universe), n))
	}
	return min(1, fpr), min(1, fnr)
}

// population is a number of other elements that can come to an element's row.
type population struct{ others, weight float64 }

// populations returns the Poisson distribution without 0, which causes no errors. Up to a
// mean of 20 it is complete. From there on it is the three points of Gauss-Hermite
// quadrature if the averaged function is smooth, else eight points per standard deviation:
// rows that are not full miss nothing.
func populations(mean float64, smooth bool) []population {
	wide := math.Sqrt(mean)
	if mean > 20 && smooth {
		wide *= math.Sqrt(3)
		return []population{{mean - wide, 1. / 6}, {mean, 2. / 3}, {mean + wide, 1. / 6}}
	}
	var all []population
	step := math.Max(1, math.Floor(wide/8))
	for others := math.Max(1, math.Floor(mean-10*wide)); others < mean+10*wide+10; others += step {
		all = append(all, population{others, step * theory.Poisson(others, mean)})
	}
	return all
}

// sharedRow is the row of a given element, to which others can come too, each of them
// at the same rate as the element.
type sharedRow struct {
	k                      int
	s                      float64
	others, rate, elements float64
}

// misses returns the expected number of an element's draws, times the universe, that
// are not reported though the element came before.
func (r sharedRow) misses(variant QuotientVariant) float64 {
	if variant.duplicates() {
		return r.fresh() * integral(r.elements, func(gap float64) float64 {
			return r.rate * math.Exp(-r.rate*gap) * (r.elements - gap) * r.pushedOut(gap)
		}, r.end(r.pushedOut), scales/r.rate)
	}
	lost, back := r.others*r.evicting()/float64(r.k), r.others/r.s
	// In time units of 1/rate: after a draw the fingerprint is missing with probability
	// lost/(lost+back) (1-e^(-(lost+back) t)), and the next draw comes at rate 1.
	forget := r.rate * (1 + lost + back)
	sum := integral(r.elements, func(t float64) float64 {
		return r.filled(t) * -math.Expm1(-r.rate*t) * -math.Expm1(-forget*(r.elements-t))
	}, r.end(r.filled), scales/r.rate, r.elements-scales/forget)
	return lost / (1 + lost + back) * sum
}

// fresh returns the probability that none of k cells which others filled has the
// element's fingerprint.
func (r sharedRow) fresh() float64 { return math.Exp(float64(r.k) * math.Log1p(-1/r.s)) }

// different returns the mean number of different fingerprints, without the element's, among
// others that have come each with the given probability.
func (r sharedRow) different(came float64) float64 {
	return (r.s - 1) * powMinus(came/r.s, r.others)
}

// evicting returns the share of the others whose fingerprint is not in a full row that
// holds the element's.
func (r sharedRow) evicting() float64 {
	return (1 - 1/r.s) * max(0, 1-float64(r.k-1)/r.different(1))
}

// filled returns the probability that others with k-1 different fingerprints, none of them
// the element's, came by a time.
func (r sharedRow) filled(t float64) float64 {
	all := r.different(1)
	return theory.BinomialTail(r.k-1, all, min(1, r.different(-math.Expm1(-r.rate*t))/all))
}

// pushedOut returns the probability that others came k times in a gap.
func (r sharedRow) pushedOut(gap float64) float64 { return theory.BinomialTail(r.k, gap, r.share()) }

// share returns the share of all draws that are for the row.
func (r sharedRow) share() float64 { return min(1, r.others*r.rate) }

func (r sharedRow) end(law func(t float64) float64) float64 {
	return settled(1/r.share(), r.elements, law)
}

// positives returns the expected number of an element's first draws, times the
// universe, that are reported: after t draws with the sum over j < k of
// P(Bin(t,share) > j) (1-1/S)^j / S.
func (r sharedRow) positives() float64 {
	return integral(r.elements, func(t float64) float64 {
		draws := theory.BinomialTails(t, r.share())
		sum, other := 0.0, 1.0
		for range r.k {
			sum += draws() * other / r.s
			other *= 1 - 1/r.s
		}
		return sum * math.Exp(-r.rate*t)
	}, r.end(r.pushedOut), scales/r.rate)
}

// scales is the number of its scales after which an exponential vanishes.
const scales = 40

// settled returns a time, found by doubling begin, from which law is practically 1. It is
// at most n.
func settled(begin, n float64, law func(t float64) float64) float64 {
	end := begin
	for end < n && law(end) < 1-1e-12 {
		end *= 2
	}
	return min(end, n)
}

// integral integrates f from 0 to n in parts that begin at the given times. Between these
// f must be smooth.
func integral(n float64, f func(t float64) float64, times ...float64) float64 {
	slices.Sort(times)
	sum, from := 0.0, 0.0
	for _, t := range append(times, n) {
		t = max(from, min(t, n))
		sum += simpson(from, t, f)
		from = t
	}
	return sum
}

// simpson integrates f by Simpson's rule with 1024 intervals.
func simpson(low, high float64, f func(t float64) float64) float64 {
	if !(high > low) {
		return 0
	}
	const intervals = 1024
	step, sum := (high-low)/intervals, f(low)+f(high)
	for i := 1; i < intervals; i++ {
		sum += (2 + 2*float64(i&1)) * f(low+float64(i)*step)
	}
	return sum * step / 3
}
