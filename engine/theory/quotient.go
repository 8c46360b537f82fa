// SPDX-License-Identifier: Apache-2.0

package theory

import "cmp"

// Quotient is a quotient hash table (GLN19, Algorithm 1): Rows rows of K cells with
// fingerprints that take S values.
//
// With cells of s bits S is 2^s - 1, since one code stands for an empty cell (GLN19,
// section 3.2, third option). The paper's Table 1 is headed S = 2^s, but holds
// the rates of 2^s - 1.
type Quotient struct {
	Rows int // N, at least 1
	K    int // from 1 to S
	S    int // at least 2
}

// validate checks the table, and that a row has no more cells than most: S, or any number
// if rows may hold a fingerprint twice.
func (q Quotient) validate(most int) error {
	return cmp.Or(
		requireAtLeast("rows", q.Rows, 1),
		requireAtLeast("S", q.S, 2),
		requireWithin("K", q.K, 1, most),
	)
}

// NewElementFP returns the probability that a new element is reported as a duplicate
// after m other distinct elements: the expected number of occupied cells in a row over S.
//
// Until a row is full it holds each fingerprint that came. So min(K, B) of its cells are
// occupied, with B binomial of S values that are present with probability 1-(1-1/(N
// S))^m; for large S that is min(K, Poisson(m/N)). For K = 1 it equals
// the rate of GLN19, Theorem 4.1. Unlike the theorem, it takes into account that empty cells
// are filled first. Domain: m >= 0.
func (q Quotient) NewElementFP(m int) (float64, error) {
	if err := cmp.Or(q.validate(q.S), requireAtLeast("m", m, 0)); err != nil {
		return 0, err
	}
	return q.newElementFP(float64(m)), nil
}

func (q Quotient) newElementFP(m float64) float64 {
	came := powMinus(1/(float64(q.Rows)*float64(q.S)), m)
	tail := newBinomialTail(float64(q.S), came)
	occupied := 0.0 // E[min(K,B)] is the sum over j < K of P(B > j)
	for range q.K {
		occupied += tail.next()
	}
	return occupied / float64(q.S)
}

// fpr returns the false positive rate over a stream of n distinct elements, from 1
// (duplicates make no difference): the mean of [Quotient.NewElementFP] over m = 0 .. n-1, by
// Simpson's rule. Its time grows with K.
func (q Quotient) fpr(n float64) float64 {
	saturated := float64(q.K) / float64(q.S)
	end := settled(float64(q.Rows), n-1, func(m float64) float64 { return q.newElementFP(m) / saturated })
	missing := simpson(0, end, func(m float64) float64 { return saturated - q.newElementFP(m) })
	if n == 1 {
		return 0
	}
	return saturated - missing/(n-1)
}

// FNR returns the limit of the false negative rate on a long stream drawn uniformly from
// universe different elements (GLN19, Theorem 4.2 and Appendix B). The last two terms of
// the printed result are brought to one denominator, which removes the canceling
// difference 1-a-c. Appendix B starts with two wrong signs and ends with the right
// result. For a universe far larger than the table it is 1-K/S. The proof assumes that
// all rows are alike. With few elements of the universe for each row (four, say), the
// true rate is some 6 % lower. Domain: universe >= 1.
func (q Quotient) FNR(universe int) (float64, error) {
	if err := cmp.Or(q.validate(q.S), requireAtLeast("universe", universe, 1)); err != nil {
		return 0, err
	}
	n, k, s, u := float64(q.Rows), float64(q.K), float64(q.S), float64(universe)
	a := (s - k) / (k * (n*s - 1)) // probability that an element evicts a given one
	b := k / s
	evicted := 1 + (u-1)*a      // U - (U-1)(1-a)
	replaced := 1 + (u-1)/(n*k) // U - (U-1)c
	return (1-b)*(1-1/evicted) + a*b*(u-1)/(evicted*replaced), nil
}
