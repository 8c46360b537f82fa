// SPDX-License-Identifier: Apache-2.0

package forms

import (
	"fmt"
	"testing"
)

// GLN19, Table 1 and the artificial stream of Table 5, measured again: 65536 bits, 100000
// elements with 4.62 % duplicates, K/S near a quarter. The paper's columns are headed S =
// 2^s, but their rates belong to 2^s-1.
func TestQuotientFPRMatchesThePaper(t *testing.T) {
	const distinct = 95380
	for _, c := range []struct {
		k, bits int
		want    float64
	}{{1, 2, .2255}, {2, 3, .2338}, {4, 4, .2352}, {8, 5, .2368}, {16, 6, .2370}} {
		q := Quotient{Rows: 65536 / (c.k * c.bits), K: c.k, S: 1<<c.bits - 1}
		near(t, fmt.Sprintf("%+v", q), q.fpr(distinct), c.want, .008)
	}
}

// TestQuotientFNR compares with Theorem 4.2 as printed, before its terms are brought together.
func TestQuotientFNR(t *testing.T) {
	q, u := Quotient{1000, 4, 15}, 5000.0
	a, b, c := 11.0/(4*14999), 4.0/15, 1-1.0/4000
	want := 1 - b - (1-b)/(u-(u-1)*(1-a)) + a*b/((1-a-c)*(u-(u-1)*(1-a))) - a*b/((1-a-c)*(u-(u-1)*c))
	near(t, "FNR", q.FNR(5000), want, 1e-9)
	near(t, "FNR of a large universe", q.FNR(1<<31-1), 1-b, 1e-5)
}

// Long streams have the limits of the closed forms, and the first elements no errors.
func TestStreamRatesLimits(t *testing.T) {
	q, long := Quotient{100, 4, 15}, UniformStream{Elements: 1 << 30, Universe: 1 << 20}
	_, fnr := q.StreamRates(QHT, long)
	near(t, "FNR of QHT", fnr, q.FNR(long.Universe), 1e-3)
	const wantFNR = 14. * 14 * 14 * 14 / (15 * 15 * 15 * 15)
	for variant := QHT; variant <= QQHT; variant++ {
		fpr, fnr := q.StreamRates(variant, long)
		if variant.duplicates() {
			near(t, "FPR with duplicates", fpr, 1-wantFNR, 2e-3)
			near(t, "FNR with duplicates", fnr, wantFNR, 2e-3)
		}
		fpr, fnr = Quotient{1 << 30, 4, 15}.StreamRates(variant, UniformStream{1000, 1 << 30})
		if !(fpr >= 0 && fpr < 1e-6 && fnr >= 0 && fnr < 1e-12) {
			t.Errorf("variant %d: rates %g and %g before any row is full", variant, fpr, fnr)
		}
	}
}

// With one cell all four are the same filter.
func TestStreamRatesOfOneCell(t *testing.T) {
	for _, s := range []UniformStream{{100, 1 << 20}, {1e6, 1 << 22}, {1e8, 1 << 20}} {
		q := Quotient{10_000, 1, 7}
		fpr, fnr := q.StreamRates(QHT, s)
		for _, variant := range []QuotientVariant{QHTD, QQHTD, QQHT} {
			otherFPR, otherFNR := q.StreamRates(variant, s)
			near(t, fmt.Sprintf("%+v: FPR of variant %d", s, variant), otherFPR, fpr, .011)
			near(t, fmt.Sprintf("%+v: FNR of variant %d", s, variant), otherFNR, fnr, .011)
		}
	}
}

// GLN19, Table 4: 150e6 elements from 2^24 and 2^27, 3 bits, one cell.
func TestStreamRatesMatchThePaper(t *testing.T) {
	for _, c := range []struct {
		bits, universe int
		fpr, fnr       float64
	}{
		{8e6, 1 << 24, .1202, .7074}, {1e6, 1 << 24, .1400, .8380}, {1e5, 1 << 24, .1426, .8553},
		{8e6, 1 << 27, .1386, .8152}, {1e6, 1 << 27, .1424, .8518}, {1e4, 1 << 27, .1428, .8572},
	} {
		q, s := Quotient{c.bits / 3, 1, 7}, UniformStream{150e6, c.universe}
		fpr, fnr := q.StreamRates(QHT, s)
		near(t, fmt.Sprintf("FPR at %d bits", c.bits), fpr, c.fpr, .002)
		near(t, fmt.Sprintf("FNR at %d bits", c.bits), fnr, c.fnr, .001)
		share := s.Duplicates() / 150e6
		near(t, "share of duplicates", share, map[int]float64{1 << 24: .8882, 1 << 27: .3979}[c.universe], .0002)
	}
}

// At the ends of the domain rates are shares of 1, and never NaN.
func TestStreamRatesAreShares(t *testing.T) {
	for _, rows := range []int{1, 1 << 30} {
		for _, size := range [][2]int{{1, 2}, {2, 2}, {1, 1 << 30}, {12, 12}, {12, 1 << 16}} {
			for _, s := range []UniformStream{{2, 2}, {2, 1 << 30}, {1 << 30, 2}, {1 << 30, 1 << 30}, {1 << 30, 1000}} {
				for variant := QHT; variant <= QQHT; variant++ {
					fpr, fnr := Quotient{rows, size[0], size[1]}.StreamRates(variant, s)
					if !(fpr >= 0 && fpr <= 1 && fnr >= 0 && fnr <= 1) {
						t.Errorf("%d rows, K and S %d, %+v, variant %d: %v and %v", rows, size, s, variant, fpr, fnr)
					}
				}
			}
		}
	}
}
