// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"math"
	"testing"
)

func TestEqualTimersLimits(t *testing.T) {
	const m, k, n = 100_000, 8, 9_000
	off := value[float64](t)(EqualTimers{m, k, 1}.FPR(n))
	near(t, "k' = 1", off, value[float64](t)(BloomFPR(m, k, n)), .002)
	one := math.Pow(-math.Expm1(-float64(k)/m), k)
	near(t, "k' = k, one element", value[float64](t)(EqualTimers{m, k, k}.FPR(1)), one, .001)
	fpr := off
	for atLeast := 2; atLeast <= k; atLeast++ {
		lower := value[float64](t)(EqualTimers{m, k, atLeast}.FPR(n))
		if !(lower < fpr && lower > 0) {
			t.Errorf("%d equal: FPR %g after %g", atLeast, lower, fpr)
		}
		fpr = lower
	}
	if fpr > n*one {
		t.Errorf("k' = k: FPR %g above that of %d lone elements, %g", fpr, n, n*one)
	}
	for _, e := range []EqualTimers{{1, 1, 1}, {1, 64, 64}, {1 << 30, 64, 1}} {
		if fpr := value[float64](t)(e.FPR(3)); !(fpr >= 0 && fpr <= 1) {
			t.Errorf("%+v: FPR %g", e, fpr)
		}
	}
	if fpr := value[float64](t)(EqualTimers{9, 2, 1}.FPR(0)); fpr != 0 {
		t.Errorf("nothing held: FPR %g", fpr)
	}
}

// The sizes that KNPS's evaluation gives for k = 4 and false positive rates of 2, 5
// and 8 %, of 5700 synthetic elements and of Yahoo's 2049, lead back to them. They
// are printed to three digits.
func TestBloomThresholds(t *testing.T) {
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
		near(t, "rate", value[float64](t)(BloomFPRApprox(c.m, 4, capacity)), c.fpr, .006)
	}
	for _, fpr := range []float64{1e-9, .01, .08, .9} {
		n := value[int](t)(Dynamic{1e9, 4, fpr}.Capacity())
		near(t, "rate of many bits", value[float64](t)(BloomFPRApprox(1e9, 4, n)), fpr, 1e-6)
	}
}

// TestDynamicAgainstCount lays a window of held elements over filters that take
// Capacity each, at every phase, and counts.
func TestDynamicAgainstCount(t *testing.T) {
	d := Dynamic{Bits: 200, K: 3, FPR: .1}
	capacity := value[int](t)(d.Capacity())
	for _, held := range []int{1, 7, capacity, capacity + 1, 5*capacity + 3} {
		filters := 0
		for newest := 1; newest <= capacity; newest++ {
			parts := map[int]int{} // by filter, elements in the window
			for age := range held {
				parts[(age+capacity-newest)/capacity]++
			}
			filters += len(parts)
		}
		mean := float64(filters) / float64(capacity)
		near(t, "filters", value[float64](t)(d.CardinalityFilters(held)), mean, 1e-9)
	}
}
