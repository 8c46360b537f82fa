// SPDX-License-Identifier: Apache-2.0

package forms

import (
	"fmt"
	"math"
	"testing"
)

func TestBloomApproximation(t *testing.T) {
	for _, m := range []int{1, 10, 1000, 1e9} {
		for k := 1; k < 10; k++ {
			n := m/10 + 1
			exact, approx := BloomFPR(m, k, n), BloomFPRApprox(m, k, n)
			if approx > exact {
				t.Errorf("m=%d k=%d: approximation %g above %g", m, k, approx, exact)
			}
			if m >= 1000 {
				near(t, "approximation", approx, exact, 10*float64(k)/float64(m))
			}
		}
	}
	if zero := BloomFPR(1, 3, 0); zero != 0 {
		t.Errorf("FPR of an empty filter is %g", zero)
	}
}

func TestBloomOptimalKIsTheMinimum(t *testing.T) {
	for perElement := 1; perElement < 60; perElement++ {
		best := BloomOptimalK(perElement*1000, 1000)
		lowest := BloomFPRApprox(perElement*1000, best, 1000)
		for k := 1; k < 50; k++ {
			if BloomFPRApprox(perElement*1000, k, 1000) < lowest {
				t.Errorf("%d bits for each element: k=%d is better than %d", perElement, k, best)
			}
		}
	}
	near(t, "0.6185^(m/n)", BloomFPRApprox(16000, BloomOptimalK(16000, 1000), 1000), math.Pow(.6185, 16), .01)
}

// TestJumpingApart: one cell of an element is set in the complete sub-windows, in the
// latest, or in both together; with one sub-window there are no complete ones.
func TestJumpingApart(t *testing.T) {
	for _, j := range []Jumping{{1000, 1, 4, 100}, {5000, 1, 7, 300}, {1000, 3, 1, 100}} {
		near(t, fmt.Sprintf("%+v", j), j.ApartRate(), j.SteadyRate(), 1e-9)
	}
	// Two functions, by hand: a quarter of the cells is set in one complete sub-window.
	j := Jumping{Cells: 1 << 20, D: 2, SubWindows: 2, SubWindow: int(math.Round((1 << 19) * math.Log(4./3)))}
	latest := LandmarkRate(1<<20, 2, j.SubWindow)
	near(t, "two functions", j.ApartRate(), 1./16+15./16*latest, 1e-5)
}

// TestJumpingBeginsAsLandmark: with one sub-window, or in the first window, it is a
// landmark window, and in all others steady. The rates differ by the rounding of cells.
func TestJumpingBeginsAsLandmark(t *testing.T) {
	const n = 1 << 18
	for d := 1; d <= 100; d += 7 {
		halfFull := func(q int) Jumping { // with at most half of the cells set
			return Jumping{int(float64(d) * float64(q) * n / math.Ln2), d, q, n}
		}
		want := math.Exp2(-float64(d)) / LandmarkBoundRatio(d)
		near(t, "first window", halfFull(7).RateFromEmpty(1), want, 1e-4)
		near(t, "one sub-window from empty", halfFull(1).RateFromEmpty(9), want, 1e-4)
		near(t, "one sub-window steady", halfFull(1).SteadyRate(), want, 1e-4)
		steady := halfFull(4).SteadyRate()
		near(t, "8 windows", halfFull(4).RateFromEmpty(8), (4*want+7*steady)/11, 1e-4)
	}
}

// TestJumpingRates checks that the steady rate is the mean over the last 1/Q of the load,
// by the midpoint rule, and that the rates are in order.
func TestJumpingRates(t *testing.T) {
	for _, j := range []Jumping{
		{1000, 1, 1, 100}, {1000, 3, 2, 100}, {50000, 9, 4, 1000}, {3000, 2, 100, 10},
		{100, 2, 4, 5000}, {10_000, 19, 1, 1}, {10_000, 19, 1, 1e6},
		{1 << 30, 8, 3, 1 << 20}, {1 << 30, 5, 1 << 30, 1}, {7, 1, math.MaxInt32, 1},
	} {
		const steps = 20000
		mean, q := 0.0, float64(j.SubWindows)
		for i := range steps {
			x := (q - 1 + (float64(i)+.5)/steps) / q
			mean += bloomLimit(j.load()*x, j.D) / steps
		}
		steady := j.SteadyRate()
		near(t, fmt.Sprintf("%+v: steady", j), steady, mean, 1e-6)
		apart, bound := j.ApartRate(), bloomLimit(j.load(), j.D)
		empty, later := j.RateFromEmpty(1), j.RateFromEmpty(1000)
		if !(apart <= steady*(1+1e-9) && empty <= later && later <= steady*(1+1e-9) && steady <= bound) {
			t.Errorf("%+v: apart %g, from empty %g and %g, steady %g, bound %g", j, apart, empty, later, steady, bound)
		}
	}
}

// Bound over measured rate at m/d = n/ln(2), as the paper's experiment measured again.
func TestLandmarkBoundRatio(t *testing.T) {
	for d, want := range map[int]float64{1: 1.8, 2: 2.5, 3: 3.3, 4: 4.0, 5: 4.7, 6: 5.4, 8: 6.8, 9: 7.5, 10: 8.2, 12: 9.6, 16: 12.4} {
		got := LandmarkBoundRatio(d)
		if math.Abs(got-want) > .0501 {
			t.Errorf("ratio for d=%d is %.3f, want %.1f", d, got, want)
		}
	}
	if got := LandmarkBoundRatio(1000); math.IsNaN(got) || math.IsInf(got, 0) {
		t.Errorf("ratio for d=1000 is %g", got)
	}
}

// TestLandmarkRateIsThePrintedSum compares n times the rate with the sum of section
// 5.2.2. The rate is the limit of long windows: the sum belongs to a step function below
// it, which differs by at most half of its last term.
func TestLandmarkRateIsThePrintedSum(t *testing.T) {
	for _, c := range [][3]int{{1000, 1, 100}, {1000, 3, 100}, {5000, 4, 700}, {2000, 2, 50000}, {20000, 10, 1000}} {
		m, d, n := c[0], c[1], c[2]
		sum, last := 0.0, 0.0
		for i := range n {
			last = math.Pow(-math.Expm1(-float64(d)*float64(i)/float64(m)), float64(d))
			sum += last
		}
		got := float64(n) * LandmarkRate(m, d, n)
		if got < sum || got > sum+last {
			t.Errorf("m=%d d=%d n=%d: %.9g errors, want %.9g to %.9g", m, d, n, got, sum, sum+last)
		}
	}
}
