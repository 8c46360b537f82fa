// SPDX-License-Identifier: Apache-2.0

package forms

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// near requires got to be within the relative tolerance of want.
func near(t *testing.T, name string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s is %.6g, want %.6g within %.2g %%", name, got, want, 100*tolerance)
	}
}

func TestStablePMatchesThePaper(t *testing.T) {
	for _, c := range []struct {
		k, top int
		fps    float64
		exact  float64
	}{{2, 1, .1, 4.32}, {3, 1, .01, 10.92}, {6, 15, .01, 141.27}} {
		near(t, "exact P", StablePExact(1<<30, c.k, c.top, c.fps), c.exact, .0011)
	}
	// The result of the paper's rounding down.
	near(t, "K=2 P=4", result.Must(theory.Stable{Cells: 1 << 30, K: 2, P: 4, Max: 1}.FPS()), .111, .002)
	near(t, "K=3 P=10", result.Must(theory.Stable{Cells: 1 << 30, K: 3, P: 10, Max: 1}.FPS()), .0123, .003)
}

func TestStablePIsTheSmallestThatKeepsTheBound(t *testing.T) {
	for _, fps := range []float64{.3, .1, .01, 1e-4} {
		for k := 1; k < 8; k++ {
			for _, top := range []int{1, 3, 15} {
				const cells = 1 << 24
				p := result.Must(StableP(cells, k, top, fps))
				if got := result.Must(theory.Stable{Cells: cells, K: k, P: p, Max: top}.FPS()); got > fps*(1+1e-9) {
					t.Errorf("K=%d P=%d Max=%d: FPS %g above %g", k, p, top, got, fps)
				}
				if p > 1 && result.Must(theory.Stable{Cells: cells, K: k, P: p - 1, Max: top}.FPS()) <= fps*(1-1e-9) {
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
		best := result.Must(StableBestK(1e6, c.top, c.fps, c.gap))
		if best.K < c.low || best.K > c.high {
			t.Errorf("Max %d, fps %g: best is %+v, want K from %d to %d", c.top, c.fps, best, c.low, c.high)
		}
	}
}

func TestMeanFNR(t *testing.T) {
	s := theory.Stable{Cells: 5000, K: 2, P: 5, Max: 1}
	gaps := []Gap{{0, 1}, {100, 2}, {3000, 5}}
	want := (2*result.Must(s.FNR(100)) + 5*result.Must(s.FNR(3000))) / 8 // none at gap 0
	near(t, "mean", MeanFNR(s, gaps), want, 1e-12)
	for i := range gaps {
		gaps[i].Weight *= 1e300
	}
	near(t, "mean of large weights", MeanFNR(s, gaps), want, 1e-12)
}

// TestStableByCellBits tries every K and P: no filter that keeps the bound may miss
// fewer than the one chosen.
func TestStableByCellBits(t *testing.T) {
	const bits, fps = 600, 0.1
	gaps := []Gap{{5, 3}, {20, 2}, {60, 1}}
	choices := StableByCellBits(bits, 3, fps, gaps)
	if len(choices) != 3 {
		t.Fatalf("%d choices, want 3", len(choices))
	}
	lowest := math.Inf(1)
	for i, c := range choices {
		if c.CellBits != i+1 || c.Max != 1<<c.CellBits-1 || c.Cells != bits/c.CellBits {
			t.Errorf("choice %d is %+v", i, c)
		}
		if got := result.Must(c.FPS()); got > fps {
			t.Errorf("%+v: false positive rate %g, want at most %g", c, got, fps)
		}
		least := math.Inf(1)
		for k := 1; k <= 12; k++ {
			for p := 1; p <= c.Cells; p++ {
				s := theory.Stable{Cells: c.Cells, K: k, P: p, Max: c.Max}
				if result.Must(s.FPS()) <= fps {
					least = min(least, MeanFNR(s, gaps))
				}
			}
		}
		near(t, "fewest misses", c.FNR, least, 1e-12)
		lowest = min(lowest, least)
	}
	best := StableBestMax(bits, 3, fps, gaps)
	near(t, "best of all", best.FNR, lowest, 1e-12)
}

// TestStableBestMax checks DR06's claim about its Figure 2: the shorter the gaps and the
// smaller the rate allowed, the larger the best Max.
func TestStableBestMax(t *testing.T) {
	const bits = 100_000
	at := func(fps float64, gap int) int {
		return StableBestMax(bits, 3, fps, []Gap{{gap, 1}}).CellBits
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
	best := StableBestMax(bits, 3, 0.1, []Gap{{0, 1}})
	if best.CellBits != 1 || best.K != 1 || best.FNR != 0 {
		t.Errorf("best for gap 0 is %+v", best)
	}
}

func TestQuotientMemoryRatio(t *testing.T) {
	near(t, "free empty code", QHTMemoryRatio(2, 1, false), 2./3, 1e-12)
	near(t, "empty code taken", QHTMemoryRatio(2, 1, true), 1, 1e-12)
	if s := SQFFingerprints(2, 1); s != 4 {
		t.Errorf("S is %d, want 4", s)
	}
	near(t, "limit", SQFSaturatedFPR(1, 2, 1), .1995, .001)
}

// Two elements of a filter are compared for all values of r bits.
func TestSQFMatch(t *testing.T) {
	for r := 0; r <= 6; r++ {
		for rPrime := 0; rPrime <= r; rPrime++ {
			counts := map[[2]int]int{}
			for x := range 1 << r {
				counts[[2]int{x & (1<<rPrime - 1), bits.OnesCount(uint(x))}]++
			}
			want := 0.0
			for _, n := range counts {
				want += math.Pow(float64(n)/math.Exp2(float64(r)), 2)
			}
			near(t, fmt.Sprintf("match for r=%d, r'=%d", r, rPrime), SQFMatch(r, rPrime), want, 1e-12)
			if s := SQFFingerprints(r, rPrime); s != len(counts) {
				t.Errorf("r=%d, r'=%d: %d fingerprints, want %d", r, rPrime, s, len(counts))
			}
		}
	}
}

func TestTimedRowFPR(t *testing.T) {
	// Printed as .049 %, .012 %, 3.1 %, 1.57 % and 1.03 % for these full rows elsewhere.
	for _, c := range []struct {
		cells, bits int
		want        float64
	}{{32, 16, 4.883e-4}, {8, 16, 1.2207e-4}, {8, 8, .031373}, {4, 8, .015686}, {42, 12, .010256}, {8, 64, 8 / math.Exp2(64)}} {
		near(t, fmt.Sprintf("%+v", c), TimedRowFPR(c.cells, c.bits, 1000), c.want, 1e-4)
	}
	// Of a mean of 2, one cell or both are occupied: E[min(X,2)] = P(X>=1) + P(X>=2).
	near(t, "two cells", TimedRowFPR(2, 2, 2), (2-4*math.Exp(-2))/3, 1e-12)
}

func TestAgePartitionedLimits(t *testing.T) {
	// One slice of each kind: neither must have the bit.
	a := AgePartitioned{K: 1, L: 1, SliceBits: 10, Generation: 1}
	// In the mean over a generation the younger slice fills from empty.
	mean := AgePartitioned{K: 1, L: 1, SliceBits: 10, Generation: 3}.FPR()
	empty := math.Pow(.9, 3)
	near(t, "mean", mean, 1-empty*(1-empty)/(-3*math.Log(.9)), 1e-7)
	// Of three slices with the same load two neighbors must have the bit.
	full := AgePartitioned{K: 2, L: 1, SliceBits: 10, Generation: 3}.FullFPR()
	young, old := 1-math.Pow(.9, 3), 1-math.Pow(.9, 6)
	near(t, "K = 2", full, old*(young+old-young*old), 1e-12)
	near(t, "K = L = 1", a.FullFPR(), 1-.9*.9, 1e-12)
	if p := (AgePartitioned{K: 4, L: 9, SliceBits: 10}).FPR(); p != 0 {
		t.Errorf("FPR of an empty filter is %g", p)
	}
	if p := (AgePartitioned{K: 4, L: 9, SliceBits: 1, Generation: 5}).FullFPR(); p != 1 {
		t.Errorf("FPR of a full filter is %g", p)
	}
}

func TestTimerBits(t *testing.T) {
	for window, want := range map[int]int{1: 1, 2: 2, 255: 8, 256: 9} {
		if got := TimerBits(window); got != want {
			t.Errorf("a window of %d: %d bits, want %d", window, got, want)
		}
	}
}

// TestTimerContent runs the definition: an element that was delivered is held back for
// the events of a window. 6 standard deviations of the mean over runs are allowed.
func TestTimerContent(t *testing.T) {
	const window, runs = 50, 4000
	chances := []float64{.4, .3, .1, .1, .05, .03, .02, 0}
	random := rand.New(rand.NewPCG(17, 0))
	sum, squares := 0.0, 0.0
	for range runs {
		held := content(chances, window, random)
		sum += held
		squares += held * held
	}
	mean := sum / runs
	deviation := math.Sqrt((squares/runs - mean*mean) / runs)
	want := TimerContent(chances, window)
	if math.Abs(mean-want) > 6*deviation {
		t.Errorf("holds %.4f +- %.4f elements, formula %.4f", mean, deviation, want)
	}
	near(t, "certain element", TimerContent([]float64{1}, window), 1, 1e-12)
}

// content returns how many elements are held in the steady state.
func content(chances []float64, window int, random *rand.Rand) (held float64) {
	deliveredAt := map[int]int{}
	const events = 600
	for event := range events {
		i := drawn(chances, random.Float64())
		if at, came := deliveredAt[i]; !came || event-at >= window {
			deliveredAt[i] = event
		}
	}
	for _, at := range deliveredAt {
		if events-1-at < window {
			held++
		}
	}
	return held
}

// drawn returns the element at which the sum of the chances exceeds u.
func drawn(chances []float64, u float64) int {
	for i, p := range chances {
		if u -= p; u < 0 {
			return i
		}
	}
	return 0 // a rounding error
}

// TestSplitFairness compares with Zipf's distribution with exponent 1 on 6100 elements, measured for
// 10 to 100 slices.
func TestSplitFairness(t *testing.T) {
	harmonic, squares := 0.0, 0.0
	for i := 1; i <= 6100; i++ {
		harmonic += 1 / float64(i)
		squares += 1 / float64(i*i)
	}
	for _, c := range []struct {
		slices               int
		horizontal, vertical float64
	}{{10, .86, .965}, {20, .74, .92}, {40, .58, .85}, {100, .35, .68}} {
		near(t, "horizontal", SplitFairness(c.slices, 1, squares/harmonic/harmonic), c.horizontal, .02)
		near(t, "vertical", SplitFairness(c.slices, 4, squares/harmonic/harmonic), c.vertical, .02)
	}
}

func TestTree(t *testing.T) {
	tree := Tree{Bits: 1000, K: 3, FanOut: []int{2, 5}}
	var rates []float64
	for _, n := range []int{300, 150, 30} {
		rates = append(rates, BloomFPRApprox(1000, 3, n))
	}
	for d, want := range []float64{rates[0], min(rates[0], 1-math.Pow(1-rates[1], 2)), 1 - math.Pow(1-rates[2], 10)} {
		near(t, "top-down", tree.SparseTopDownFPR(300, d), want, 1e-12)
	}
	if full := (Tree{Bits: 1, K: 1, FanOut: []int{2}}).SparseTopDownFPR(1<<30, 1); full != 1 {
		t.Errorf("full tree: %g", full)
	}
}

func TestPrintedFP(t *testing.T) {
	for _, m := range []int{0, 1, 100, 5000, 1e6} {
		one, four := Quotient{Rows: 1000, K: 1, S: 7}, Quotient{Rows: 1000, K: 4, S: 15}
		near(t, "K=1", one.NewElementFP(float64(m)), PrintedFP(one, m), 1e-3)
		if four.NewElementFP(float64(m)) < PrintedFP(four, m)*(1-1e-9) {
			t.Errorf("K=4, m=%d: printed rate is not the lower one", m)
		}
	}
	fpr, fnr := SaturatedWithDuplicates(4, 15)
	near(t, "saturated FPR", fpr, 1-14.*14*14*14/(15*15*15*15), 1e-12)
	near(t, "saturated sum", fpr+fnr, 1, 1e-12)
}

// TestDynamic lays a window of held elements over filters that take Capacity each, at every
// phase.
func TestDynamic(t *testing.T) {
	d := theory.Dynamic{Bits: 200, K: 3, FPR: .1}
	capacity := result.Must(d.Capacity())
	for _, held := range []int{1, 7, capacity, capacity + 1, 5*capacity + 3} {
		sum, filters := 0.0, 0
		for newest := 1; newest <= capacity; newest++ {
			parts := map[int]int{} // by filter, elements in the window
			for age := range held {
				parts[(age+capacity-newest)/capacity]++
			}
			filters += len(parts)
			none := 1.0
			for _, part := range parts {
				none *= 1 - BloomFPRApprox(d.Bits, d.K, part)
			}
			sum += 1 - none
		}
		near(t, "filters", CardinalityFilters(d, held), float64(filters)/float64(capacity), 1e-9)
		near(t, "mean FPR", DynamicMeanFPR(d, held), sum/float64(capacity), 1e-9)
	}
}

// TestOutOfReach expects errors where no filter keeps a rate, or no K stands out.
func TestOutOfReach(t *testing.T) {
	_, few := StableP(100, 1, 1, 1e-300)
	_, none := StableBestK(100, 3, 1e-300, 20)
	_, hidden := StableBestK(1e6, 15, .01, 30)
	for _, err := range []error{few, none, hidden} {
		if !errors.Is(err, theory.ErrDomain) {
			t.Errorf("error is %v, want %v", err, theory.ErrDomain)
		}
	}
	choices := StableByCellBits(30, 16, 0.2, []Gap{{10, 1}})
	if last := choices[len(choices)-1]; last.CellBits >= 16 || len(choices) < 2 {
		t.Errorf("cells that are too wide are not left out: %d choices, the last %+v", len(choices), last)
	}
}
