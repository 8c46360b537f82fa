// SPDX-License-Identifier: Apache-2.0

package forms

import "math"

// BloomFPR returns the false positive rate of a Bloom filter of m bits shared by
// k hash functions after n distinct elements:
//
//	(1 - (1-1/m)^(k n))^k
//
// (DR06, section 2.3; KNPS, Eq. 1.) It assumes that the k probed bits are independent;
// the true rate is higher by a share in the order of k/m. Domain: m >= 1, k >= 1, n >= 0.
func BloomFPR(m, k, n int) float64 {
	return math.Pow(powMinus(1/float64(m), float64(k)*float64(n)), float64(k))
}

// BloomFPRApprox returns (1-e^(-k n/m))^k, the limit of [BloomFPR] for large m. It is
// never above that and within O(1/m) of it (KNPS, Eq. 2; MAE05, section 5.1). Domain: m
// >= 1, k >= 1, n >= 0.
func BloomFPRApprox(m, k, n int) float64 {
	return bloomLimit(float64(k)*float64(n)/float64(m), k)
}

// bloomLimit is the false positive rate at a given number of settings per bit.
func bloomLimit(settings float64, k int) float64 {
	return math.Pow(-math.Expm1(-settings), float64(k))
}

// BloomOptimalK returns the whole k for which [BloomFPRApprox] is smallest: one of the
// two neighbors of ln(2) m/n, at least 1 (DR06, section 2.3). Rounding to the nearest
// would sometimes give the worse neighbor. Domain: m >= 1, n >= 1.
func BloomOptimalK(m, n int) int {
	low := max(1, int(math.Ln2*float64(m)/float64(n)))
	load := float64(n) / float64(m)
	if logBloomLimit(load, low+1) < logBloomLimit(load, low) {
		return low + 1
	}
	return low
}

// logBloomLimit is the logarithm of the false positive rate. The rate itself underflows
// at some thousand bits for each element. load is n/m.
func logBloomLimit(load float64, k int) float64 {
	return float64(k) * math.Log(-math.Expm1(-float64(k)*load))
}

// LandmarkRate returns the false positive rate over a whole landmark window in the
// limit of a long one: the mean over x in [0,1] of (1-e^(-d n x/m))^d (MAE05,
// section 5.2.2 over n). It is the rate of the full filter, [BloomFPRApprox],
// averaged while it fills. Domain: m >= 1, d >= 1, n >= 1.
func LandmarkRate(m, d, n int) float64 {
	return Jumping{Cells: m, D: d, SubWindows: 1, SubWindow: n}.SteadyRate()
}

// meanFilling returns the integral over x in [0,1] of (1-e^(-load x))^d. By parts, the
// integral for d-1 minus the integral for d is q^d/(load d) with q = 1-e^-load. So it is
// 1 minus the first d terms of a series that adds up to 1, or the sum of the other terms,
// which keeps the digits of small results.
func meanFilling(load float64, d int) float64 {
	q := -math.Expm1(-load)
	if q > 0.99 {
		sum, power := 1.0, 1.0
		for j := 1; j <= d; j++ {
			power *= q
			sum -= power / (load * float64(j))
		}
		return max(0, sum)
	}
	sum, power := 0.0, math.Pow(q, float64(d))
	for j := d + 1; ; j++ {
		power *= q
		term := power / (load * float64(j))
		sum += term
		if term <= sum*1e-17 {
			return sum
		}
	}
}

// LandmarkBoundRatio returns how many times the bound 2^-d of MAE05, section 5.1, is
// above the error rate of a landmark window, when m/d = n/ln(2): 1.8 for d = 1, 4
// for d = 4, 8.2 for d = 10, 12.4 for d = 16. The paper's "4 to 8 times" (section
// 6.2) is right for d from 4 to 9 or 10. Domain: 1 <= d <= 1000.
func LandmarkBoundRatio(d int) float64 {
	return math.Exp2(-float64(d)) / meanFilling(math.Ln2, d)
}

// Jumping is a jumping window (MAE05, sections 3.3 and 5.2.4): sub-windows of n elements.
// A query covers the latest, which is still being filled, and the SubWindows-1 before it.
// All elements are distinct. A cell is zero or not, so bits and counters give the same.
type Jumping struct {
	Cells      int // m, at least 1
	D          int // hash functions, from 1 to 1000
	SubWindows int // Q, at least 1
	SubWindow  int // n, at least 1
}

// load returns how often all Q n elements together set a cell.
func (j Jumping) load() float64 {
	return float64(j.D) * float64(j.SubWindows) * float64(j.SubWindow) / float64(j.Cells)
}

// SteadyRate returns the false positive rate after the first Q sub-windows, in the limit
// of long ones: the mean over x from (Q-1)/Q to 1 of (1-e^(-d Q n x/m))^d. The filter
// swings between these two loads, since a sub-window is subtracted before the next is
// filled.
func (j Jumping) SteadyRate() float64 {
	return meanRefilling(j.load(), j.D, j.SubWindows)
}

// RateFromEmpty returns the false positive rate from an empty filter over the given
// number of overlapping windows, Q + windows - 1 sub-windows. The first Q fill the filter
// as a landmark window does; the others have [Jumping.SteadyRate]. Domain: windows >= 1.
func (j Jumping) RateFromEmpty(windows int) float64 {
	q := float64(j.SubWindows)
	filling := q / (q + float64(windows-1))
	return filling*meanFilling(j.load(), j.D) + (1-filling)*meanRefilling(j.load(), j.D, j.SubWindows)
}

// ApartRate returns [Jumping.SteadyRate] for a filter in which an element is a duplicate
// only if all its cells are set in the filter of the complete sub-windows, or all are set
// in the latest one's: a + (1-a) b, where a is the rate of a filter of n elements,
// and b the rate of a landmark window of n. For large d it is well below SteadyRate,
// because different sub-windows no longer complete each other.
func (j Jumping) ApartRate() float64 {
	latest := j.load() / float64(j.SubWindows)
	complete := bloomLimit(latest*float64(j.SubWindows-1), j.D)
	return complete + (1-complete)*meanFilling(latest, j.D)
}

// meanRefilling returns the mean over x from (q-1)/q to 1 of (1-e^(-load x))^d. It is
// clamped to the values at the ends: for a large q the difference of the two integrals
// has few digits left.
func meanRefilling(load float64, d, q int) float64 {
	before := 1 - 1/float64(q)
	mean := float64(q) * meanFilling(load, d)
	if before > 0 {
		mean -= float64(q-1) * meanFilling(load*before, d)
	}
	return min(max(mean, bloomLimit(load*before, d)), bloomLimit(load, d))
}
