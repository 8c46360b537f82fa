package theory

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestSplitHybridAgainstSimulation draws for each choice of slices whether it failed,
// and for each bit in working ones whether it is set.
func TestSplitHybridAgainstSimulation(t *testing.T) {
	const trials, p, failed = 50_000, .3, 3
	s := Sliced{Bits: 1000, K: 6, Slices: 10}
	bit := math.Pow(p, 1./6)
	r := rand.New(rand.NewPCG(9, 0))
	for _, k1 := range []int{1, 2, 3, 6} {
		for atLeast := 0; atLeast <= s.K; atLeast++ {
			reported, lost := 0, 0
			for range trials {
				live, set := 0, true
				for range k1 {
					if r.IntN(s.Slices) < failed {
						continue
					}
					for range s.K / k1 {
						live++
						set = set && r.Float64() < bit
					}
				}
				if live < atLeast {
					lost++
				} else if set {
					reported++
				}
			}
			fpr, fnr, err := s.SplitHybrid(k1, failed, p, atLeast)
			if err != nil {
				t.Fatal(err)
			}
			plausible(t, fmt.Sprintf("k1 = %d, at least %d: FPR", k1, atLeast), reported, trials, fpr, 0)
			plausible(t, fmt.Sprintf("k1 = %d, at least %d: FNR", k1, atLeast), lost, trials, fnr, 0)
		}
	}
}

// TestSplitHybridCases compares with the formulas for horizontal slices, and with the sum
// of the paper's text that lacks its binomial coefficient.
func TestSplitHybridCases(t *testing.T) {
	s := Sliced{Bits: 1000, K: 4, Slices: 10}
	fpr, fnr, err := s.HorizontalFailedAsDistinct(3, .02)
	if err != nil || math.Abs(fpr-.014) > 1e-15 || math.Abs(fnr-.3) > 1e-15 {
		t.Errorf("as distinct: %g and %g, error %v", fpr, fnr, err)
	}
	for _, atLeast := range []int{1, 2, 4} {
		splitFPR, splitFNR, err := s.SplitHybrid(1, 3, .02, atLeast)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "horizontal, as distinct: FPR", splitFPR, fpr, 1e-12)
		near(t, "horizontal, as distinct: FNR", splitFNR, fnr, 1e-12)
	}
	duplicate, _, err := s.SplitHybrid(1, 3, .02, 0)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "horizontal, as duplicate", duplicate, value[float64](t)(s.HorizontalFailedFPR(3, .02)), 1e-12)
	_, missed, err := s.VerticalHybrid(3, .02, s.K)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i, choose := range []float64{4, 6, 4, 1} {
		sum += choose * math.Pow(.3, float64(i+1)) * math.Pow(.7, float64(3-i))
	}
	near(t, "vertical, as distinct: FNR", missed, sum, 1e-12)
}

// TestMissTolerance checks that the rates are met with as many slices, and with one
// less they are not.
func TestMissTolerance(t *testing.T) {
	horizontal := value[int](t)(HorizontalMissTolerance(4, .05))
	vertical := value[int](t)(VerticalMissTolerance(4, 4, .05))
	if horizontal != 80 || vertical != 314 {
		t.Errorf("%d horizontal slices, want 80; %d vertical, want 314", horizontal, vertical)
	}
	for _, less := range []int{0, 1} {
		_, h, err := Sliced{1 << 20, 4, horizontal - less}.HorizontalFailedAsDistinct(4, .02)
		if err != nil {
			t.Fatal(err)
		}
		_, v, err := Sliced{1 << 20, 4, vertical - less}.VerticalHybrid(4, .02, 4)
		if err != nil {
			t.Fatal(err)
		}
		if (h <= .05*(1+1e-12)) != (less == 0) || (v <= .05*(1+1e-12)) != (less == 0) {
			t.Errorf("%d slices less: %g and %g", less, h, v)
		}
	}
	if one := value[int](t)(VerticalMissTolerance(0, 4, .05)); one != 1 {
		t.Errorf("%d slices without failures", one)
	}
}
