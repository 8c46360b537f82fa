// SPDX-License-Identifier: Apache-2.0

package forms

import (
	"math"

	"github.com/flowdedup/flowdedup/engine/theory"
)

// TimedRowFPR returns the probability that a new element finds its fingerprint in a row
// that holds lambda elements on average, within the window or not yet expired: E[min(X,
// cells)] / (2^fingerprintBits - 1) for X Poisson of mean lambda. A fingerprint has
// 2^fingerprintBits - 1 values, since 0 is an empty cell, and no value occurs twice in a
// row. With a lambda far above cells all rows are full, as the rows of quotient hash
// tables are in the end (GLN19, Theorem 4.1). Domain: cells >= 1, fingerprintBits with at
// least as many values as cells, lambda >= 0.
func TimedRowFPR(cells, fingerprintBits int, lambda float64) float64 {
	occupied := 0.0 // E[min(X,cells)] is the sum over j <= cells of P(X >= j)
	for j := 1; j <= cells; j++ {
		p := theory.PoissonTail(j, lambda)
		if p < occupied*1e-17 {
			break // the others are smaller still
		}
		occupied += p
	}
	return occupied / (math.Exp2(float64(fingerprintBits)) - 1)
}

// AgePartitioned is an age-partitioned Bloom filter (Shtul, Baquero, Almeida,
// Age-Partitioned Bloom Filters, 2020): K+L slices in the order of their age. An element
// sets a bit in each of the K youngest slices. It is reported when any K neighboring
// slices have its bits. After each generation the oldest slice is cleared and becomes the
// youngest. So the filter finds all elements of the last L generations.
type AgePartitioned struct {
	K, L       int // each at least 1
	SliceBits  int // at least 2
	Generation int // different elements that a generation inserts, at least 0
}

// FullFPR returns the false positive rate at the end of a generation, its highest.
func (a AgePartitioned) FullFPR() float64 { return a.fpr(1) }

// FPR returns the mean false positive rate over a generation of the steady state.
func (a AgePartitioned) FPR() (mean float64) {
	const parts = 1000
	for i := range parts {
		mean += a.fpr((float64(i)+0.5)/parts) / parts
	}
	return mean
}

// fpr is the rate after a part of the running generation, if the other generations have
// Generation elements each: the probability that some K neighbors among K+L independent
// slices have a bit set. runs[j] is the probability that no K did so far and that the last j
// are set.
func (a AgePartitioned) fpr(part float64) float64 {
	runs, found := make([]float64, a.K), 0.0
	runs[0] = 1
	for age := range a.K + a.L {
		// A slice takes elements in its first K generations.
		elements := float64(a.K) * float64(a.Generation)
		if age < a.K {
			elements = (part + float64(age)) * float64(a.Generation)
		}
		set := powMinus(1/float64(a.SliceBits), elements)
		found += runs[a.K-1] * set
		none := 0.0
		for j := a.K - 1; j >= 0; j-- {
			none += runs[j]
			if j > 0 {
				runs[j] = runs[j-1] * set
			}
		}
		runs[0] = none * (1 - set)
	}
	return min(found, 1)
}
