package theory

import (
	"errors"
	"math"
	"testing"
)

func requireDomainErrors(t *testing.T, failures map[string]error) {
	t.Helper()
	for name, err := range failures {
		if !errors.Is(err, ErrDomain) {
			t.Errorf("%s: error is %v, want %v", name, err, ErrDomain)
		}
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
		near(t, "capacity", value[float64](t)(BloomCapacity(c.m, 4, c.fpr)), c.n, .006)
		density := value[float64](t)(BloomDensity(c.m, 4, c.fpr)) / float64(c.m)
		near(t, "rate of the density", math.Pow(density, 4), c.fpr, 1e-12)
		// A filter that took its capacity has the density on average.
		filled := powMinus(1/float64(c.m), 4*c.n)
		near(t, "density when full", filled, density, .006)
	}
}

// TestDynamicAgainstCount lays a window of held elements over filters that take
// Capacity each, at every phase, and counts.
func TestDynamicAgainstCount(t *testing.T) {
	d := Dynamic{Bits: 200, K: 3, FPR: .1}
	capacity := value[int](t)(d.Capacity())
	for _, held := range []int{1, 7, capacity, capacity + 1, 5*capacity + 3} {
		filters, sum := 0, 0.0
		for newest := 1; newest <= capacity; newest++ {
			parts := map[int]int{} // by filter, elements in the window
			for age := range held {
				parts[(age+capacity-newest)/capacity]++
			}
			var rates []float64
			for _, part := range parts {
				rates = append(rates, value[float64](t)(BloomFPRApprox(d.Bits, d.K, part)))
			}
			none := 1.0
			for _, rate := range rates {
				none *= 1 - rate
			}
			filters, sum = filters+len(parts), sum+1-none
		}
		near(t, "mean FPR", value[float64](t)(d.MeanFPR(held)), sum/float64(capacity), 1e-9)
		mean := float64(filters) / float64(capacity)
		near(t, "filters", value[float64](t)(d.CardinalityFilters(held)), mean, 1e-9)
	}
}

func TestDynamicDomain(t *testing.T) {
	good := Dynamic{Bits: 200, K: 3, FPR: .1}
	failure := func(_ any, err error) error { return err }
	requireDomainErrors(t, map[string]error{
		"density m":    failure(BloomDensity(0, 1, .1)),
		"density rate": failure(BloomDensity(9, 1, 1)),
		"K":            failure(Dynamic{Bits: 200, FPR: .1}.Capacity()),
		"no element":   failure(Dynamic{Bits: 8, K: 4, FPR: .001}.MeanFPR(1)),
		"rounded FPR":  failure(Dynamic{Bits: 8, K: 1 << 30, FPR: math.Nextafter(1, 0)}.Capacity()),
		"held":         failure(good.MeanFPR(-1)),
		"nothing held": failure(good.CardinalityFilters(0)),
	})
}
