// SPDX-License-Identifier: Apache-2.0

package forms

import (
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/engine/theory"
)

// powMinus returns 1-(1-x)^n for x in [0,1) and n > 0, or for x = 1. It keeps the digits of a
// small x.
func powMinus(x, n float64) float64 { return -math.Expm1(n * math.Log1p(-x)) }

// PrintedFP returns FP_m as in GLN19, Theorem 4.1: K/S (1-(1-1/(N K))^m). Its proof
// assumes full rows from the start. It is right for K = 1 and at saturation, and too low
// before that for K > 1. Domain: m >= 0, more than one cell.
func PrintedFP(q theory.Quotient, m int) float64 {
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
func PrintedFN(q theory.Quotient, universe, m int) float64 {
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
