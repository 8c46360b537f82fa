package theory

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// Bound over measured rate for 4 sub-windows, as simulations of the paper's experiment
// have it: 8 windows from an empty filter on, and the steady state. They are given with
// three digits, and are as exact as 1 %.
func TestJumpingBoundRatio(t *testing.T) {
	for _, c := range []struct {
		d                 int
		fromEmpty, steady float64
	}{{1, 1.28, 1.10}, {4, 1.87, 1.44}, {8, 2.68, 1.99}, {16, 4.36, 3.2}} {
		j := halfFull(c.d, 4)
		bound := math.Exp2(-float64(c.d))
		near(t, fmt.Sprintf("d=%d from empty", c.d), bound/value[float64](t)(j.RateFromEmpty(8)), c.fromEmpty, .015)
		near(t, fmt.Sprintf("d=%d steady", c.d), bound/value[float64](t)(j.SteadyRate()), c.steady, .015)
	}
}

// halfFull is a window of q sub-windows of which half of the cells are set at most.
func halfFull(d, q int) Jumping {
	const n = 1 << 18
	return Jumping{Cells: int(float64(d) * float64(q) * n / math.Ln2), D: d, SubWindows: q, SubWindow: n}
}

// TestJumpingBeginsAsLandmark: with one sub-window, or in the first window, it is a
// landmark window. The rates differ by the rounding of cells.
func TestJumpingBeginsAsLandmark(t *testing.T) {
	for d := 1; d <= 100; d += 7 {
		want := math.Exp2(-float64(d)) / value[float64](t)(LandmarkBoundRatio(d))
		near(t, "first window", value[float64](t)(halfFull(d, 7).RateFromEmpty(1)), want, 1e-4)
		near(t, "one sub-window from empty", value[float64](t)(halfFull(d, 1).RateFromEmpty(9)), want, 1e-4)
		near(t, "one sub-window steady", value[float64](t)(halfFull(d, 1).SteadyRate()), want, 1e-4)
	}
}

// TestJumpingRates checks that the steady rate is the mean over the last 1/Q of the load,
// by the midpoint rule, and that the rates are in order.
func TestJumpingRates(t *testing.T) {
	for _, j := range []Jumping{
		{1000, 1, 1, 100}, {1000, 3, 2, 100}, {50000, 9, 4, 1000}, {3000, 2, 100, 10},
		{100, 2, 4, 5000}, {1 << 30, 8, 3, 1 << 20}, {1 << 30, 5, 1 << 30, 1}, {7, 1, math.MaxInt32, 1},
	} {
		const steps = 20000
		mean, q := 0.0, float64(j.SubWindows)
		for i := range steps {
			x := (q - 1 + (float64(i)+.5)/steps) / q
			mean += bloomLimit(j.load()*x, j.D) / steps
		}
		steady := value[float64](t)(j.SteadyRate())
		near(t, fmt.Sprintf("%+v: steady", j), steady, mean, 1e-6)
		apart, bound := value[float64](t)(j.ApartRate()), bloomLimit(j.load(), j.D)
		empty, later := value[float64](t)(j.RateFromEmpty(1)), value[float64](t)(j.RateFromEmpty(1000))
		if !(apart <= steady*(1+1e-9) && empty <= later && later <= steady*(1+1e-9) && steady <= bound) {
			t.Errorf("%+v: apart %g, from empty %g and %g, steady %g, bound %g", j, apart, empty, later, steady, bound)
		}
	}
}

// TestJumpingAgainstSimulation compares both steady rates with a table that holds, for
// each cell, the sub-window of its latest setting and that of the latest one before. The
// slack is for terms of the order of d/m and for the loads of single runs, which vary by
// sqrt(1/m).
func TestJumpingAgainstSimulation(t *testing.T) {
	const runs, windows = 4, 100
	r := rand.New(rand.NewPCG(8, 1))
	for _, j := range []Jumping{{5771, 1, 4, 1000}, {23083, 4, 4, 1000}, {20000, 3, 7, 700}} {
		var steady, apart, fromEmpty int
		for range runs {
			cells := newJumpingCells(j)
			for sub := j.SubWindows; sub < 2*j.SubWindows+windows-1; sub++ {
				for range j.SubWindow {
					together, either := cells.testAndSet(r, sub)
					fromEmpty += together
					if sub >= 2*j.SubWindows {
						steady += together
						apart += either
					}
				}
			}
		}
		elements := runs * j.SubWindow
		name := fmt.Sprintf("%+v: ", j)
		plausible(t, name+"steady", steady, elements*(windows-1), value[float64](t)(j.SteadyRate()), .01)
		plausible(t, name+"apart", apart, elements*(windows-1), value[float64](t)(j.ApartRate()), .01)
		want := value[float64](t)(j.RateFromEmpty(windows))
		plausible(t, name+"from empty", fromEmpty, elements*(j.SubWindows+windows-1), want, .01)
	}
}

// jumpingCells holds for each cell the sub-window of its latest setting, and that of
// the latest in an earlier sub-window; 0 is before all.
type jumpingCells struct {
	Jumping
	latest, earlier []int
	chosen          []int
}

func newJumpingCells(j Jumping) *jumpingCells {
	return &jumpingCells{j, make([]int, j.Cells), make([]int, j.Cells), make([]int, j.D)}
}

// testAndSet returns 1 or 0 for a new element: together, if each of its cells is set in
// some queried sub-window; either, if all are set in the complete sub-windows, or all in
// sub.
func (c *jumpingCells) testAndSet(r *rand.Rand, sub int) (together, either int) {
	together, complete, current := 1, 1, 1
	for i := range c.chosen {
		cell := r.IntN(c.Cells)
		c.chosen[i] = cell
		before := c.latest[cell]
		if before == sub {
			before = c.earlier[cell]
		} else {
			current = 0
		}
		if before <= sub-c.SubWindows {
			complete = 0
			if c.latest[cell] != sub {
				together = 0
			}
		}
	}
	for _, cell := range c.chosen {
		if c.latest[cell] != sub {
			c.earlier[cell], c.latest[cell] = c.latest[cell], sub
		}
	}
	return together, max(complete, current)
}

func TestJumpingErrors(t *testing.T) {
	err2 := func(_ float64, err error) error { return err }
	for name, err := range map[string]error{
		"cells":       err2(Jumping{0, 1, 1, 1}.SteadyRate()),
		"D":           err2(Jumping{1, 0, 1, 1}.SteadyRate()),
		"many D":      err2(Jumping{1, math.MaxInt, 1, 1}.SteadyRate()),
		"sub-windows": err2(Jumping{1, 1, 0, 1}.ApartRate()),
		"sub-window":  err2(Jumping{1, 1, 1, 0}.RateFromEmpty(1)),
		"windows":     err2(Jumping{1, 1, 1, 1}.RateFromEmpty(0)),
	} {
		if !errors.Is(err, ErrDomain) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

// Bound over measured rate at m/d = n/ln(2), as the paper's experiment measured again.
func TestLandmarkBoundRatio(t *testing.T) {
	for d, want := range map[int]float64{1: 1.8, 2: 2.5, 3: 3.3, 4: 4.0, 5: 4.7, 6: 5.4, 8: 6.8, 9: 7.5, 10: 8.2, 12: 9.6, 16: 12.4} {
		got := value[float64](t)(LandmarkBoundRatio(d))
		if math.Abs(got-want) > .0501 {
			t.Errorf("ratio for d=%d is %.3f, want %.1f", d, got, want)
		}
	}
	if got := value[float64](t)(LandmarkBoundRatio(1000)); math.IsNaN(got) || math.IsInf(got, 0) {
		t.Errorf("ratio for d=1000 is %g", got)
	}
}

// TestLandmarkRateIsThePrintedSum compares n times the rate with the sum of section 5.2.2.
// The rate is the limit of long windows: the sum is that of a step function below it,
// which differs by half of its last term at most.
func TestLandmarkRateIsThePrintedSum(t *testing.T) {
	for _, c := range [][3]int{{1000, 1, 100}, {1000, 3, 100}, {5000, 4, 700}, {2000, 2, 50000}, {20000, 10, 1000}} {
		m, d, n := c[0], c[1], c[2]
		sum, last := 0.0, 0.0
		for i := range n {
			last = math.Pow(-math.Expm1(-float64(d)*float64(i)/float64(m)), float64(d))
			sum += last
		}
		got := float64(n) * value[float64](t)(LandmarkRate(m, d, n))
		if got < sum || got > sum+last {
			t.Errorf("m=%d d=%d n=%d: %.9g errors, want %.9g to %.9g", m, d, n, got, sum, sum+last)
		}
	}
}

func TestLandmarkRateStaysBelowTheFullFilter(t *testing.T) {
	for d := 1; d < 20; d++ {
		last := 0.0
		for n := 1; n < 1e6; n *= 3 {
			rate, full := value[float64](t)(LandmarkRate(10000, d, n)), value[float64](t)(BloomFPRApprox(10000, d, n))
			if rate > full || rate < last {
				t.Errorf("d=%d n=%d: rate %g, full %g, before %g", d, n, rate, full, last)
			}
			last = rate
		}
	}
}
