// SPDX-License-Identifier: Apache-2.0

package forms

import (
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/engine/theory"
)

// powMinus returns 1-(1-x)^n for x in [0,1]. It keeps the digits of a small x.
func powMinus(x, n float64) float64 {
	if n == 0 {
		return 0 // for x = 1 too
	}
	return -math.Expm1(n * math.Log1p(-x))
}

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

// NewElementFP returns the probability that a new element is reported as a duplicate
// after m other distinct elements: the expected number of occupied cells in a row over S.
//
// Until a row is full it holds each fingerprint that came. So min(K, B) of its cells are
// occupied, with B binomial of S values that are present with probability 1-(1-1/(N
// S))^m; for large S that is min(K, Poisson(m/N)). For K = 1 it equals
// the rate of GLN19, Theorem 4.1. Unlike the theorem, it takes into account that empty cells
// are filled first. Domain: m >= 0.
func (q Quotient) NewElementFP(m float64) float64 {
	came := powMinus(1/(float64(q.Rows)*float64(q.S)), m)
	tail := theory.BinomialTails(float64(q.S), came)
	occupied := 0.0 // E[min(K,B)] is the sum over j < K of P(B > j)
	for range q.K {
		occupied += tail()
	}
	return occupied / float64(q.S)
}

// fpr returns the false positive rate over a stream of n distinct elements, from 1
// (duplicates make no difference): the mean of [Quotient.NewElementFP] over m = 0 .. n-1, by
// Simpson's rule. Its time grows with K.
func (q Quotient) fpr(n float64) float64 {
	saturated := float64(q.K) / float64(q.S)
	end := settled(float64(q.Rows), n-1, func(m float64) float64 { return q.NewElementFP(m) / saturated })
	missing := simpson(0, end, func(m float64) float64 { return saturated - q.NewElementFP(m) })
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
func (q Quotient) FNR(universe int) float64 {
	n, k, s, u := float64(q.Rows), float64(q.K), float64(q.S), float64(universe)
	a := (s - k) / (k * (n*s - 1)) // probability that an element evicts a given one
	b := k / s
	evicted := 1 + (u-1)*a      // U - (U-1)(1-a)
	replaced := 1 + (u-1)/(n*k) // U - (U-1)c
	return (1-b)*(1-1/evicted) + a*b*(u-1)/(evicted*replaced)
}

// PrintedFP returns FP_m as in GLN19, Theorem 4.1: K/S (1-(1-1/(N K))^m). Its proof
// assumes full rows from the start. It is right for K = 1 and at saturation, and too low
// before that for K > 1. Domain: m >= 0, more than one cell.
func PrintedFP(q Quotient, m int) float64 {
	return float64(q.K) / float64(q.S) * powMinus(1/(float64(q.Rows)*float64(q.K)), float64(m))
}

// PrintedFN returns FN_m of the proof of GLN19, Theorem 4.2: the probability that draw m+1
// of a stream over universe elements comes again and is missed. The sum over all places of
// the element's last draw is
//
//	1/U ((1-b) (g(r) - g(r(1-a))) + a b/(1-a-c) (g(r(1-a)) - g(r c)))
//
// with g(x) = (1-x^m)/(1-x) and r = 1-1/U; a, b and c are defined in the proof. Appendix
// B has a plus in place of each of the two minuses. Rows are taken as full from the
// start, which is right for K = 1 only. Domain: universe >= 1, m >= 0, at least two rows,
// K < S.
func PrintedFN(q Quotient, universe, m int) float64 {
	n, k, s, u := float64(q.Rows), float64(q.K), float64(q.S), float64(universe)
	a, b, c := (s-k)/(k*(n*s-1)), k/s, 1-1/(n*k)
	// 1-x^m, from 1-x.
	g := func(lost float64) float64 { return powMinus(lost, float64(m)) / lost }
	all, kept, held := g(1/u), g(1/u+a-a/u), g(1-c+c/u)
	return ((1-b)*(all-kept) + a*b/(1-a-c)*(kept-held)) / u
}

// SaturatedWithDuplicates returns the saturated rates of the variants that insert
// every element, QHTD and QQHTD, whose rows may hold a fingerprint twice:
// 1-(1-1/S)^K and (1-1/S)^K (GLN19, section 5.1). Domain: k >= 1, s >= 2.
func SaturatedWithDuplicates(k, s int) (fpr, fnr float64) {
	fpr = powMinus(1/float64(s), float64(k))
	return fpr, 1 - fpr
}

// SQFFingerprints returns the number of different fingerprints of a streaming quotient
// filter that keeps rPrime of r remainder bits and the remainder's Hamming weight: 2^r'
// (r-r'+1) (GLN19, section 4.4.1). They are not equally likely in general. Domain: 0 <=
// rPrime <= r <= 30, so that the number fits an int everywhere.
func SQFFingerprints(r, rPrime int) int { return (r - rPrime + 1) << rPrime }

// QHTMemoryRatio returns the memory of a quotient hash table over the memory of a
// streaming quotient filter with the same rows, cells and number of fingerprints (GLN19,
// Theorem 4.3):
//
//	ceil(log2 S) / (r' + ceil(log2(r+1))), S = 2^r' (r-r'+1)
//
// It is 2/3 for the recommended r = 2, r' = 1: the paper's saving of 33 %. That holds
// only if an empty cell costs no code. With emptyCode it takes one code of the table's
// cells (log2(S+1)), while the filter has a spare one. Then the ratio for the same
// parameters is 1. Domain: 0 <= rPrime <= r <= 30, r >= 1.
func QHTMemoryRatio(r, rPrime int, emptyCode bool) float64 {
	codes := SQFFingerprints(r, rPrime)
	if emptyCode {
		codes++
	}
	return float64(bits.Len(uint(codes-1))) / float64(rPrime+bits.Len(uint(r)))
}

// SQFMatch returns the probability that two elements have the same fingerprint in a
// streaming quotient filter: the probability of equal r' bits kept, times the probability
// of equal weights of the other r-r', which is C(2(r-r'), r-r') / 4^(r-r'). If all
// fingerprints are equally likely (r-r' is 0 or 1), k times this is the limit of the
// false positive rate. Domain: 0 <= rPrime <= r.
func SQFMatch(r, rPrime int) float64 {
	match := math.Exp2(-float64(rPrime))
	for i := 1; i <= r-rPrime; i++ {
		match *= 1 - 1/float64(2*i)
	}
	return match
}

// SQFSaturatedFPR returns the approximate limit of a streaming quotient filter's false
// positive rate, K / (2^r' sqrt(pi r)); its false negative rate is 1 minus this (GLN19,
// section 3, correcting the filter's authors). The root has r where the exact match has
// r-r' (see [SQFMatch]): for r = 2 and r' = 1 it gives 0.1995 instead of the exact 0.25,
// which the paper's measurements have too. Rates above 1, for rows with as many cells as
// fingerprints, are given as 1. Domain: k >= 1, r >= 1, 0 <= rPrime <= r.
func SQFSaturatedFPR(k, r, rPrime int) float64 {
	return min(1, float64(k)/(math.Exp2(float64(rPrime))*math.Sqrt(math.Pi*float64(r))))
}
