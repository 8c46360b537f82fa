package theory

import (
	"errors"
	"math"
	"testing"
)

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
		if err != nil {
			t.Fatal(err)
		}
		rounds := b.Rounds()
		if rounds != c.rounds || math.Abs(512/load-c.bits) > 0.06 {
			t.Errorf("rate %g: %d rounds, %.2f bits an element; documented %d, %.1f", c.fpr, rounds, 512/load, c.rounds, c.bits)
		}
	}
}

func TestSplitBlockDomain(t *testing.T) {
	for _, rounds := range []int{-1, 0, MaxSplitRounds + 1} {
		if _, err := NewSplitBlock(rounds); !errors.Is(err, ErrDomain) {
			t.Errorf("%d rounds: %v", rounds, err)
		}
	}
	for _, fpr := range []float64{0, 1, -1, math.NaN()} {
		if _, _, err := BestSplitBlock(fpr); !errors.Is(err, ErrDomain) {
			t.Errorf("rate %g: %v", fpr, err)
		}
	}
	b := SplitBlock{2}
	for _, load := range []float64{math.NaN(), -1, 0} {
		if b.FPR(load) != 0 || b.Density(load) != 0 {
			t.Errorf("load %g: rate %g, density %g", load, b.FPR(load), b.Density(load))
		}
	}
}
