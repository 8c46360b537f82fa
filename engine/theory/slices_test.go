// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"fmt"
	"math"
	"testing"
)

// Measurements of KNPS's configuration: 40 slices, 8 of them failed, k = 8, 2 %.
func TestSlicedFailures(t *testing.T) {
	s := Sliced{Bits: 1 << 20, K: 8, Slices: 40}
	for _, c := range []struct {
		k1, atLeast int
		fpr, fnr    float64
	}{{1, 0, .2160, 0}, {1, 1, .016, .2}, {1, 8, .016, .2}, {8, 0, .05174, 0}, {8, 3, .0509, .0013}, {8, 4, .0488, .0102}, {8, 5, .042, .057}, {8, 8, .00336, .8322}} {
		fpr, fnr := pair(t)(s.SplitHybrid(c.k1, 8, .02, c.atLeast))
		near(t, fmt.Sprintf("%+v: FPR", c), fpr, c.fpr, .03)
		near(t, fmt.Sprintf("%+v: FNR", c), fnr, c.fnr, .06)
	}
}

// TestTolerance: the rates are met with as many slices, and not with one less. The paper's
// example: for 4 failed sites and at most 15 %, more than 30 horizontal slices and less
// than 20 vertical ones.
func TestTolerance(t *testing.T) {
	for _, c := range []struct{ k, least, most int }{{1, 31, 40}, {8, 5, 19}} {
		slices, misses := value[int](t)(Tolerance(4, c.k, .02, .15)), value[int](t)(MissTolerance(4, c.k, .05))
		if slices < c.least || slices > c.most {
			t.Errorf("k = %d: %d slices", c.k, slices)
		}
		for _, less := range []int{0, 1} {
			fpr, _ := pair(t)(Sliced{1 << 20, c.k, slices - less}.SplitHybrid(c.k, 4, .02, 0))
			_, fnr := pair(t)(Sliced{1 << 20, c.k, misses - less}.SplitHybrid(c.k, 4, .02, c.k))
			if (fpr <= .15) != (less == 0) || (fnr <= .05*(1+1e-12)) != (less == 0) {
				t.Errorf("k = %d, %d slices less: FPR %g, %g missed", c.k, less, fpr, fnr)
			}
		}
	}
}

// TestSplitLimits compares with the formulas for even spread: equal for vertical
// slices, and the more above it for the others the fewer choices there are.
func TestSplitLimits(t *testing.T) {
	for _, slices := range []int{1, 10, 1000} {
		s := Sliced{Bits: 100_000, K: 4, Slices: slices}
		for _, n := range []int{0, 1, 500, 20_000} {
			even := math.Pow(powMinus(1/float64(s.Bits), float64(s.K*n)), float64(s.K))
			vertical := value[float64](t)(s.SplitFPR(4, n))
			near(t, "vertical", vertical, even, 1e-9)
			two := value[float64](t)(s.SplitFPR(2, n))
			one := value[float64](t)(s.SplitFPR(1, n))
			if two < vertical*(1-1e-9) || one < two*(1-1e-9) {
				t.Errorf("%d slices, n = %d: k1 = 4, 2, 1 give %g, %g, %g", slices, n, vertical, two, one)
			}
		}
	}
	if full := value[float64](t)(Sliced{Bits: 8, K: 2, Slices: 8}.SplitFPR(1, 1_000_000)); full != 1 {
		t.Errorf("slices of one bit: %g", full)
	}
	if empty := value[float64](t)(Sliced{Bits: 8, K: 2, Slices: 8}.SplitFPR(1, 0)); empty != 0 {
		t.Errorf("empty slices of one bit: %g", empty)
	}
}

// TestPipelinedAccesses: parallel tests ask the different slices of K bits; of two slices a
// second one is asked if one of two bits lies there and the first is set.
func TestPipelinedAccesses(t *testing.T) {
	for _, s := range []Sliced{{100, 1, 1}, {100, 4, 1}, {100, 4, 3}, {100, 5, 50}} {
		n := float64(s.Slices)
		near(t, "parallel", value[float64](t)(s.PipelinedAccesses(1)), n*(1-math.Pow(1-1/n, float64(s.K))), 1e-12)
	}
	near(t, "two bits", value[float64](t)(Sliced{100, 2, 2}.PipelinedAccesses(.3)), 1+.5*.3, 1e-12)
}

func TestFairness(t *testing.T) {
	for _, c := range []struct {
		loads []int
		want  float64
	}{{[]int{5, 5, 5}, 1}, {[]int{7, 0, 0, 0}, .25}, {[]int{1, 2, 3}, 36. / 42}} {
		near(t, fmt.Sprint(c.loads), value[float64](t)(Fairness(c.loads)), c.want, 1e-12)
	}
}

// The sizes that KNPS's evaluation gives for k = 4 and false positive rates of 2, 5
// and 8 %, of 5700 synthetic elements and of Yahoo's 2049, lead back to them. They
// are printed to three digits.
func TestBloomThresholds(t *testing.T) {
	rate := func(m, n int) float64 { return math.Pow(-math.Expm1(-4*float64(n)/float64(m)), 4) }
	for _, c := range []struct {
		n   float64
		fpr float64
		m   int
	}{
		{5700, .02, 48400}, {5700, .05, 35600}, {5700, .08, 30000},
		{2049, .02, 17400}, {2049, .05, 12800}, {2049, .08, 10800},
	} {
		capacity := value[int](t)(Dynamic{c.m, 4, c.fpr}.Capacity())
		near(t, "capacity", float64(capacity), c.n, .006)
		// A filter that took its capacity has the rate, by the density of its bits.
		near(t, "rate", rate(c.m, capacity), c.fpr, .006)
	}
	for _, fpr := range []float64{1e-9, .01, .08, .9} {
		n := value[int](t)(Dynamic{1e9, 4, fpr}.Capacity())
		near(t, "rate of many bits", rate(1e9, n), fpr, 1e-6)
	}
}
