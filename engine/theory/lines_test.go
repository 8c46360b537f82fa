// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"fmt"
	"math"
	"testing"
)

// TestLineFilter compares with inclusion and exclusion over the clear cells, and lines as
// large as the filter with a partitioned Bloom filter.
func TestLineFilter(t *testing.T) {
	for _, f := range []LineFilter{{64, 1}, {64, 4}, {512, 8}, {9, 9}} {
		for _, load := range []float64{0, 1, 8, 100} {
			sum, empty := 0.0, 1-float64(f.K)/float64(f.Cells)
			for i := range f.K + 1 {
				clear := math.Exp(load * (math.Pow(empty, float64(i)) - 1))
				sum += math.Pow(-1, float64(i)) * binomialCoefficient(f.K, i) * clear
			}
			if got := value[float64](t)(f.FPR(load)); math.Abs(got-sum) > 1e-8*sum+1e-12 {
				t.Errorf("%+v, load %g: %g, want %g", f, load, got, sum)
			}
		}
	}
	near(t, "one line", value[float64](t)(LineFilter{8e5, 4}.FPR(1e5)), math.Pow(-math.Expm1(-.5), 4), 1e-3)
	near(t, "crowded lines", value[float64](t)(LineFilter{512, 8}.FPR(1e12)), 1, 1e-6)
	near(t, "fill", LineFilter{512, 1}.FPROfFill(.25), .25, 1e-6)
	for _, full := range []float64{1, -.1, 1.1, math.NaN()} {
		near(t, "FPR of no load", LineFilter{512, 8}.FPROfFill(full), 1, 0)
	}
}

func TestSplitBlockLines(t *testing.T) {
	for x := range 100 {
		// One bit in a word: the share of set bits. Two: both set, where the
		// second is the first once in 64.
		one := 1 - math.Pow(63.0/64, float64(x))
		n := float64(2 * x)
		two := 1 - 2*math.Pow(63.0/64, n) + math.Pow(63.0/64, n)/64 + math.Pow(62.0/64, n)*63/64
		for rounds, want := range map[int]float64{1: math.Pow(one, 8), 2: math.Pow(two, 8)} {
			if got := lineFPRs[rounds-1]()[x]; math.Abs(got-want) > 1e-12*want+1e-30 {
				t.Errorf("%d rounds, %d elements: %g, want %g", rounds, x, got, want)
			}
		}
	}
	for rounds := 1; rounds <= MaxSplitRounds; rounds++ {
		before := -1.0
		for x, p := range lineFPRs[rounds-1]() {
			// Far up rounding stops the growth.
			if p < before-1e-14 || p < 0 || p > 1+1e-9 {
				t.Fatalf("%d rounds, %d elements: %g after %g", rounds, x, p, before)
			}
			before = p
		}
	}
}

func TestSplitBlockLoads(t *testing.T) {
	for rounds := 1; rounds <= MaxSplitRounds; rounds++ {
		b := SplitBlock{rounds}
		for _, load := range []float64{1e-6, 0.1, 1, 5, 20} {
			if got := b.LoadOfDensity(b.Density(load)); math.Abs(got-load) > 1e-9*load {
				t.Errorf("%d rounds: load %g comes back as %g", rounds, load, got)
			}
		}
		for _, fpr := range []float64{0.5, 1e-3, 1e-9, 1e-20} {
			if got := b.FPR(b.Load(fpr)); math.Abs(got-fpr) > 1e-6*fpr {
				t.Errorf("%d rounds: rate %g at the load for %g", rounds, got, fpr)
			}
		}
	}
	if got := (SplitBlock{2}).FPR((SplitBlock{2}).LoadOfDensity(1)); !(got > 0.99 && got <= 1+1e-9) {
		t.Errorf("a filter full of ones has a rate of %g", got)
	}
}

func TestBestSplitBlock(t *testing.T) {
	for _, c := range []struct {
		fpr    float64
		rounds int
		bits   float64
	}{{1e-2, 1, 10.1}, {1e-3, 1, 15.7}, {1e-4, 2, 22.9}, {1e-6, 2, 39.0}, {1e-8, 3, 64.9}, {1e-9, 3, 81.1}, {1e-10, 3, 101.6}, {1e-12, 3, 161.9}} {
		b, load, err := BestSplitBlock(c.fpr)
		if err != nil || b.Rounds != c.rounds || math.Abs(512/load-c.bits) > 0.06 {
			t.Errorf("rate %g: %+v, %.2f bits an element, %v; want %+v", c.fpr, b, 512/load, err, c)
		}
	}
}

func TestTimedRowFPR(t *testing.T) {
	// Printed as .049 %, .012 %, 3.1 %, 1.57 % and 1.03 % for these full rows elsewhere.
	for _, c := range []struct {
		cells, bits int
		want        float64
	}{{32, 16, 4.883e-4}, {8, 16, 1.2207e-4}, {8, 8, .031373}, {4, 8, .015686}, {42, 12, .010256}, {8, 64, 8 / math.Exp2(64)}} {
		near(t, fmt.Sprintf("%+v", c), value[float64](t)(TimedRowFPR(c.cells, c.bits, 1000)), c.want, 1e-4)
	}
	// Of a mean of 2, one cell or both are occupied: E[min(X,2)] = P(X>=1) + P(X>=2).
	near(t, "two cells", value[float64](t)(TimedRowFPR(2, 2, 2)), (2-4*math.Exp(-2))/3, 1e-12)
}

func TestAgePartitionedLimits(t *testing.T) {
	// One slice of each kind: neither must have the bit.
	a := AgePartitioned{K: 1, L: 1, SliceBits: 10, Generation: 1}
	// In the mean over a generation the younger slice fills from empty.
	mean := value[float64](t)(AgePartitioned{K: 1, L: 1, SliceBits: 10, Generation: 3}.FPR())
	empty := math.Pow(.9, 3)
	near(t, "mean", mean, 1-empty*(1-empty)/(-3*math.Log(.9)), 1e-9)
	// Of three slices with the same load two neighbors must have the bit.
	full := value[float64](t)(AgePartitioned{K: 2, L: 1, SliceBits: 10, Generation: 3}.FullFPR())
	young, old := 1-math.Pow(.9, 3), 1-math.Pow(.9, 6)
	near(t, "K = 2", full, old*(young+old-young*old), 1e-12)
	near(t, "K = L = 1", value[float64](t)(a.FullFPR()), 1-.9*.9, 1e-12)
	if p := value[float64](t)(AgePartitioned{K: 4, L: 9, SliceBits: 10}.FPR()); p != 0 {
		t.Errorf("FPR of an empty filter is %g", p)
	}
	if p := value[float64](t)(AgePartitioned{K: 4, L: 9, SliceBits: 1, Generation: 5}.FullFPR()); p != 1 {
		t.Errorf("FPR of a full filter is %g", p)
	}
}
