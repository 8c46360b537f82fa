// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"math"
	"testing"
)

func TestStablePMatchesThePaper(t *testing.T) {
	for _, c := range []struct {
		k, top int
		fps    float64
		exact  float64
	}{{2, 1, .1, 4.32}, {3, 1, .01, 10.92}, {6, 15, .01, 141.27}} {
		near(t, "exact P", value[float64](t)(StablePExact(1<<30, c.k, c.top, c.fps)), c.exact, .0011)
	}
	// The result of the paper's rounding down.
	near(t, "K=2 P=4", value[float64](t)(Stable{1 << 30, 2, 4, 1}.FPS()), .111, .002)
	near(t, "K=3 P=10", value[float64](t)(Stable{1 << 30, 3, 10, 1}.FPS()), .0123, .003)
}

func TestStablePIsTheSmallestThatKeepsTheBound(t *testing.T) {
	for _, fps := range []float64{.3, .1, .01, 1e-4} {
		for k := 1; k < 8; k++ {
			for _, top := range []int{1, 3, 15} {
				const cells = 1 << 24
				p := value[int](t)(StableP(cells, k, top, fps))
				if got := value[float64](t)(Stable{cells, k, p, top}.FPS()); got > fps*(1+1e-9) {
					t.Errorf("K=%d P=%d Max=%d: FPS %g above %g", k, p, top, got, fps)
				}
				if p > 1 && value[float64](t)(Stable{cells, k, p - 1, top}.FPS()) <= fps*(1-1e-9) {
					t.Errorf("K=%d Max=%d fps %g: P=%d is not the smallest", k, top, fps, p)
				}
			}
		}
	}
}

// The K that the paper's section 4.1 and its repetition by simulation find.
func TestStableBestK(t *testing.T) {
	for _, c := range []struct {
		top       int
		fps       float64
		gap       int
		low, high int
	}{{1, .2, 1e4, 1, 2}, {1, .1, 1e4, 2, 2}, {1, .01, 1e4, 3, 3}, {3, .1, 1e4, 2, 3}, {3, .01, 1e4, 5, 6}, {15, .01, 1e5, 6, 6}} {
		best := value[Stable](t)(StableBestK(1e6, c.top, c.fps, c.gap))
		if best.K < c.low || best.K > c.high {
			t.Errorf("Max %d, fps %g: best is %+v, want K from %d to %d", c.top, c.fps, best, c.low, c.high)
		}
	}
}

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

func TestMeanFNR(t *testing.T) {
	s := Stable{Cells: 5000, K: 2, P: 5, Max: 1}
	gaps := []Gap{{0, 1}, {100, 2}, {3000, 5}}
	want := (2*value[float64](t)(s.FNR(100)) + 5*value[float64](t)(s.FNR(3000))) / 8 // none at gap 0
	near(t, "mean", value[float64](t)(s.MeanFNR(gaps)), want, 1e-12)
	for i := range gaps {
		gaps[i].Weight *= 1e300
	}
	near(t, "mean of large weights", value[float64](t)(s.MeanFNR(gaps)), want, 1e-12)
}

// TestStableByCellBits tries every K and P: no filter that keeps the bound may miss
// fewer than the one chosen.
func TestStableByCellBits(t *testing.T) {
	const bits, fps = 600, 0.1
	gaps := []Gap{{5, 3}, {20, 2}, {60, 1}}
	choices := value[[]StableChoice](t)(StableByCellBits(bits, 3, fps, gaps))
	if len(choices) != 3 {
		t.Fatalf("%d choices, want 3", len(choices))
	}
	lowest := math.Inf(1)
	for i, c := range choices {
		if c.CellBits != i+1 || c.Max != 1<<c.CellBits-1 || c.Cells != bits/c.CellBits {
			t.Errorf("choice %d is %+v", i, c)
		}
		if got := value[float64](t)(c.FPS()); got > fps {
			t.Errorf("%+v: false positive rate %g, want at most %g", c, got, fps)
		}
		least := math.Inf(1)
		for k := 1; k <= 12; k++ {
			for p := 1; p <= c.Cells; p++ {
				s := Stable{c.Cells, k, p, c.Max}
				if value[float64](t)(s.FPS()) <= fps {
					least = min(least, value[float64](t)(s.MeanFNR(gaps)))
				}
			}
		}
		near(t, "fewest misses", c.FNR, least, 1e-12)
		lowest = min(lowest, least)
	}
	best := value[StableChoice](t)(StableBestMax(bits, 3, fps, gaps))
	near(t, "best of all", best.FNR, lowest, 1e-12)
}

// TestStableBestMax checks DR06's claim about its Figure 2: the shorter the gaps and the
// smaller the rate allowed, the larger the best Max.
func TestStableBestMax(t *testing.T) {
	const bits = 100_000
	at := func(fps float64, gap int) int {
		return value[StableChoice](t)(StableBestMax(bits, 3, fps, []Gap{{gap, 1}})).CellBits
	}
	for _, fps := range []float64{0.2, 0.1, 0.01, 0.001} {
		before := 3
		for gap := 30; gap <= 30_000; gap = gap * 3 / 2 {
			d := at(fps, gap)
			if d > before {
				t.Errorf("fps %g: %d bits are best at gap %d, %d at shorter ones", fps, d, gap, before)
			}
			before = d
			if before == 1 {
				break // beyond it differences vanish
			}
		}
		if before != 1 {
			t.Errorf("fps %g: %d bits are best at long gaps, want 1", fps, before)
		}
	}
	if short, shorter := at(0.1, 10_000), at(0.1, 300); short >= shorter {
		t.Errorf("%d bits are best at gap 10000, %d at 300", short, shorter)
	}
	if loose, strict := at(0.2, 1000), at(0.001, 1000); loose > strict {
		t.Errorf("%d bits are best for a rate of 20 %%, %d for 0.1 %%", loose, strict)
	}
	// No duplicate is ever missed: any filter will do, so the simplest.
	best := value[StableChoice](t)(StableBestMax(bits, 3, 0.1, []Gap{{0, 1}}))
	if best.CellBits != 1 || best.K != 1 || best.FNR != 0 {
		t.Errorf("best for gap 0 is %+v", best)
	}
}
