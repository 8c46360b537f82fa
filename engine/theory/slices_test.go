package theory

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Measurements of KNPS's configuration: 40 slices of which 8 fail, k = 8, 2 %.
func TestSlicedFailures(t *testing.T) {
	s := Sliced{Bits: 1 << 20, K: 8, Slices: 40}
	near(t, "Eq. 5", value[float64](t)(s.HorizontalFailedFPR(8, .02)), .2160, .001)
	near(t, "Eq. 6", value[float64](t)(s.VerticalFailedFPR(8, .02)), .05174, .001)
	for _, c := range []struct {
		atLeast  int
		fpr, fnr float64
	}{{3, .0509, .0013}, {4, .0488, .0102}, {5, .042, .057}} {
		fpr, fnr, err := s.VerticalHybrid(8, .02, c.atLeast)
		if err != nil {
			t.Fatal(err)
		}
		near(t, fmt.Sprintf("at least %d: FPR", c.atLeast), fpr, c.fpr, .03)
		near(t, fmt.Sprintf("at least %d: FNR", c.atLeast), fnr, c.fnr, .06)
	}
}

func TestSlicedHybridAgainstSimulation(t *testing.T) {
	const trials, p = 200000, .3
	s := Sliced{Bits: 1000, K: 4, Slices: 10}
	r := rand.New(rand.NewPCG(5, 0))
	bit := .7400828 // 0.3^(1/4)
	for atLeast := 0; atLeast <= s.K; atLeast++ {
		reported, lost := 0, 0
		for range trials {
			live, set := 0, true
			for range s.K {
				if r.IntN(s.Slices) >= 3 {
					live++
					set = set && r.Float64() < bit
				}
			}
			if set && live >= atLeast {
				reported++
			}
			if live < atLeast {
				lost++
			}
		}
		fpr, fnr, err := s.VerticalHybrid(3, p, atLeast)
		if err != nil {
			t.Fatal(err)
		}
		plausible(t, fmt.Sprintf("FPR, at least %d", atLeast), reported, trials, fpr, 0)
		plausible(t, fmt.Sprintf("FNR, at least %d", atLeast), lost, trials, fnr, 0)
	}
	lenient, _, _ := s.VerticalHybrid(3, p, 0)
	near(t, "at least 0", lenient, value[float64](t)(s.VerticalFailedFPR(3, p)), 1e-12)
	for _, p := range []float64{0, 1} {
		fpr, _, err := s.VerticalHybrid(0, p, 2)
		if err != nil || fpr != p {
			t.Errorf("no failures: FPR is %g, want %g, error %v", fpr, p, err)
		}
	}
}

// The paper's example: for 4 failed sites and at most 15 %, more than 30 horizontal
// slices and less than 20 vertical ones.
func TestTolerance(t *testing.T) {
	horizontal := value[int](t)(HorizontalTolerance(4, .02, .15))
	vertical := value[int](t)(VerticalTolerance(4, 8, .02, .15))
	if horizontal <= 30 || vertical >= 20 {
		t.Errorf("%d horizontal slices, %d vertical", horizontal, vertical)
	}
	for _, less := range []int{0, 1} {
		h := value[float64](t)(Sliced{1 << 20, 8, horizontal - less}.HorizontalFailedFPR(4, .02))
		v := value[float64](t)(Sliced{1 << 20, 8, vertical - less}.VerticalFailedFPR(4, .02))
		if (h <= .15) != (less == 0) || (v <= .15) != (less == 0) {
			t.Errorf("%d slices less: %g and %g", less, h, v)
		}
	}
}

func TestHorizontalIsNeverBelowVertical(t *testing.T) {
	for _, slices := range []int{1, 10, 1000} {
		h := value[float64](t)(Sliced{10000, 4, slices}.HorizontalFPR(1000))
		v := value[float64](t)(BloomFPR(10000, 4, 1000))
		if h < v*(1-1e-12) {
			t.Errorf("%d slices: %g below %g", slices, h, v)
		}
	}
}

func TestTimers(t *testing.T) {
	for window, want := range map[int]int{1: 1, 2: 2, 3: 2, 4: 3, 255: 8, 256: 9} {
		if bits := value[int](t)(TimerBits(window)); bits != want {
			t.Errorf("%d bits for a window of %d, want %d", bits, window, want)
		}
	}
	near(t, "equal timers", value[float64](t)(AllTimersEqualFPR(1000, 2)), 4e-6, .01)
}
