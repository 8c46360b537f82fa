// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"math"
	"testing"
)

// TestLineFilter compares with inclusion and exclusion over the clear cells, and lines as
// large as the filter with a partitioned Bloom filter.
func TestLineFilter(t *testing.T) {
	for _, f := range []LineFilter{{64, 1}, {64, 4}, {512, 8}, {9, 9}} {
		for _, load := range []float64{0, 1, 8, 100} {
			sum, empty, signed := 0.0, 1-float64(f.K)/float64(f.Cells), 1.0
			for i := range f.K + 1 {
				clear := math.Exp(load * (math.Pow(empty, float64(i)) - 1))
				sum += signed * clear
				signed *= -float64(f.K-i) / float64(i+1) // (-1)^i C(K,i)
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
