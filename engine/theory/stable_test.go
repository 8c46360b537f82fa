package theory

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func TestStablePMatchesThePaper(t *testing.T) {
	for _, c := range []struct {
		k, top int
		fps    float64
		exact  float64
		p      int
	}{{2, 1, .1, 4.32, 5}, {3, 1, .01, 10.92, 11}, {6, 15, .01, 141.27, 142}} {
		near(t, "exact P", value[float64](t)(StablePExact(1<<30, c.k, c.top, c.fps)), c.exact, .0011)
		if p := value[int](t)(StableP(1<<30, c.k, c.top, c.fps)); p != c.p {
			t.Errorf("P is %d, want %d", p, c.p)
		}
	}
	// What the paper's rounding down leads to.
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

// stableSim runs a filter over new elements and counts, once it is stable, the new
// elements it reports and the elements of gap elements ago that it has lost.
func stableSim(s Stable, elements, gap int, onMissOnly bool) (reported, lost, trials int) {
	r := rand.New(rand.NewPCG(1, uint64(s.P)))
	cells := make([]uint8, s.Cells)
	history := make([][]int, gap+1)
	hit := func(at []int) bool {
		for _, c := range at {
			if cells[c] == 0 {
				return false
			}
		}
		return true
	}
	for i := range elements {
		at := make([]int, s.K)
		for j := range at {
			at[j] = r.IntN(s.Cells)
		}
		seen := hit(at)
		if i >= elements/3 {
			trials++
			if seen {
				reported++
			}
			if !hit(history[i%(gap+1)]) {
				lost++
			}
		}
		if start := r.IntN(s.Cells); !onMissOnly || !seen {
			for j := range s.P {
				if c := &cells[(start+j)%s.Cells]; *c > 0 {
					*c--
				}
			}
		}
		for _, c := range at {
			cells[c] = uint8(s.Max)
		}
		history[i%(gap+1)] = at
	}
	return reported, lost, trials
}

func TestStableAgainstSimulation(t *testing.T) {
	for _, c := range []struct {
		s   Stable
		gap int
	}{{Stable{5000, 2, 4, 1}, 400}, {Stable{5000, 3, 11, 1}, 100}, {Stable{5000, 3, 13, 3}, 600}} {
		reported, lost, trials := stableSim(c.s, 150000, c.gap, false)
		plausible(t, fmt.Sprintf("%+v FPR", c.s), reported, trials, value[float64](t)(c.s.FPS()), .02)
		plausible(t, fmt.Sprintf("%+v FNR", c.s), lost, trials, value[float64](t)(c.s.FNR(c.gap)), .02)
	}
}

func TestStableMiss(t *testing.T) {
	for _, c := range []struct {
		p    int
		want float64
	}{{4, .134}, {5, .094}, {8, .043}} {
		fps := value[float64](t)(StableMissFPS(c.p, 2))
		near(t, "FPS", fps, c.want, .006)
		reported, _, trials := stableSim(Stable{5000, 2, c.p, 1}, 150000, 1, true)
		plausible(t, fmt.Sprintf("P=%d", c.p), reported, trials, fps, .02)
	}
	near(t, "K=1", value[float64](t)(StableMissFPS(10, 1)), .1, 1e-12)
}

// With as many decrements on hits it is the paper's filter, and for cells of one bit
// without any, and many cells, the one that decrements on misses only.
func TestStableHitsLimits(t *testing.T) {
	for _, s := range []Stable{{128, 4, 20, 3}, {128, 5, 90, 15}, {1000, 2, 5, 1}, {64, 1, 1, 1}} {
		got := value[float64](t)(StableHits{s, s.P}.FPS())
		near(t, fmt.Sprintf("%+v", s), got, value[float64](t)(s.FPS()), 1e-9)
	}
	for _, s := range []Stable{{1e9, 2, 5, 1}, {1e9, 3, 11, 1}, {1e9, 1, 10, 1}} {
		got := value[float64](t)(StableHits{s, 0}.FPS())
		near(t, fmt.Sprintf("%+v on misses", s), got, value[float64](t)(StableMissFPS(s.P, s.K)), 1e-6)
	}
}

// More decrements leave more zeros, and too few on misses alone leave none.
func TestStableHitsMonotone(t *testing.T) {
	last := -1.0
	for hitP := 0; hitP <= 40; hitP += 4 {
		zeros := value[float64](t)(StableHits{Stable{128, 3, 40, 7}, hitP}.Zeros())
		if zeros <= last {
			t.Errorf("HitP %d: %g zeros, %g with fewer decrements", hitP, zeros, last)
		}
		last = zeros
	}
	if zeros := value[float64](t)(StableHits{Stable{128, 3, 10, 7}, 0}.Zeros()); zeros > 1e-6 {
		t.Errorf("%g zeros, want none", zeros)
	}
}

func TestStableHitsAgainstSimulation(t *testing.T) {
	for _, s := range []Stable{{5000, 3, 13, 3}, {5000, 2, 9, 3}} {
		reported, _, trials := stableSim(s, 150_000, 1, true)
		plausible(t, fmt.Sprintf("%+v", s), reported, trials, value[float64](t)(StableHits{s, 0}.FPS()), .02)
	}
}

// TestStableSetRate checks the terms of Eq. 18, and that rates grow with what sets cells.
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
