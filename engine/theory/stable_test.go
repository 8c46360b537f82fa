// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"math"
	"testing"
)

// The closed form against the sums as the paper prints them, Eq. 1 to 5 and 9 to 14.
func TestStableClosedFormsAreThePrintedSums(t *testing.T) {
	atLeast := func(count, trials int, p float64) float64 { // Eq. 2
		return 1 - binomialUpTo(count-1, float64(trials), p)
	}
	for _, s := range []Stable{{50, 2, 4, 1}, {50, 3, 10, 3}, {40, 1, 40, 2}, {200, 4, 30, 7}} {
		p, k := float64(s.P)/float64(s.Cells), float64(s.K)/float64(s.Cells)
		for _, n := range []int{0, 1, 2, 7, 30, 200} {
			sum := 0.0
			for l := s.Max; l < n; l++ {
				sum += atLeast(s.Max, l, p) * math.Pow(1-k, float64(l)) * k
			}
			rest := math.Pow(1-k, float64(n))
			if got := value[float64](t)(s.ZerosAfter(n)); math.Abs(got-sum-rest) > 1e-12 {
				t.Errorf("%+v: zeros after %d: %g, want %g", s, n, got, sum+rest)
			}
			dead := 0.0
			if n >= s.Max {
				dead = sum + atLeast(s.Max, n, p)*rest
			}
			want := 1 - math.Pow(1-dead, float64(s.K))
			if got := value[float64](t)(s.FNR(n)); math.Abs(got-want) > 1e-12 {
				t.Errorf("%+v: FNR at gap %d: %g, want %g", s, n, got, want)
			}
		}
	}
}

func TestStableConvergence(t *testing.T) {
	s := Stable{1e5, 2, 4, 1}
	z := value[float64](t)(s.Zeros())
	previous := 1.0
	for n := 0; n < 200000; n += 5000 {
		got := value[float64](t)(s.ZerosAfter(n))
		near(t, "zeros", got, z+(1-z)*math.Exp(-6*float64(n)/1e5), 1e-4)
		if got > previous || got < z-1e-12 {
			t.Errorf("zeros rise from %g to %g or fall below %g", previous, got, z)
		}
		previous = got
	}
	near(t, "Eq. 7", 1/(1+1/(4e-5*(1/2e-5-1))), z, 1e-12)
	for gap, last := 0, 0.0; gap < 1e6; gap = 2*gap + 1 {
		fnr := value[float64](t)(s.FNR(gap))
		if fnr < last {
			t.Errorf("FNR falls to %g at gap %d", fnr, gap)
		}
		last = fnr
	}
	// After a long time a duplicate is like a new element.
	near(t, "late hit", 1-value[float64](t)(s.FNR(1e9)), value[float64](t)(s.FPS()), 1e-9)
}

func TestStableMiss(t *testing.T) {
	for _, c := range []struct {
		p    int
		want float64
	}{{4, .134}, {5, .094}, {8, .043}} {
		fps := value[float64](t)(StableMissFPS(c.p, 2))
		near(t, "FPS", fps, c.want, .006)
	}
	near(t, "K=1", value[float64](t)(StableMissFPS(10, 1)), .1, 1e-12)
}

// TestStableSetRate checks the terms of Eq. 18, and that a cell that is set more
// often is zero less often.
func TestStableSetRate(t *testing.T) {
	s := Stable{1000, 2, 5, 1}
	near(t, "mean", s.SetRate(0, 0), .002, 1e-12)
	near(t, "own share", s.SetRate(.1, 0), .1+.9*.002, 1e-12)
	near(t, "phi", s.SetRate(0, .01)-s.SetRate(0, 0), .01*math.Sqrt(.002*.998), 1e-9)
	near(t, "plain", value[float64](t)(s.FNRAt(300, s.SetRate(0, 0))), value[float64](t)(s.FNR(300)), 1e-12)
	if more := value[float64](t)(s.FNRAt(300, s.SetRate(0, .01))); more >= value[float64](t)(s.FNR(300)) {
		t.Errorf("a cell that is set more often is zero with a chance of %g", more)
	}
}
