package theory

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// forgotten simulates one row among rows: whether an element that it holds is forgotten
// after gap insertions of others. left says after how many insertions into its row.
func forgotten(r *rand.Rand, rows, gap, left int) bool {
	for range gap {
		if r.IntN(rows) == 0 {
			if left--; left == 0 {
				return true
			}
		}
	}
	return false
}

func TestRowMissesAgainstSimulation(t *testing.T) {
	const trials = 40000
	r := rand.New(rand.NewPCG(12, 0))
	for _, c := range []struct{ rows, cells, gap int }{{1, 3, 2}, {1, 3, 3}, {10, 4, 30}, {10, 4, 55}, {50, 1, 20}, {7, 8, 40}} {
		row := Row{Rows: c.rows, Cells: c.cells, FingerprintBits: 16}
		lru := 0
		for range trials {
			if forgotten(r, c.rows, c.gap, c.cells) {
				lru++
			}
		}
		name := fmt.Sprintf("%+v", c)
		plausible(t, "LRU "+name, lru, trials, value[float64](t)(row.LRUMiss(c.gap)), 0)
	}
}

func TestRowFPR(t *testing.T) {
	// Printed as .049 %, .012 %, 3.1 %, 1.57 % and 1.03 % for these rows elsewhere.
	for _, c := range []struct {
		cells, bits int
		want        float64
	}{{32, 16, 4.883e-4}, {8, 16, 1.2207e-4}, {8, 8, .031373}, {4, 8, .015686}, {42, 12, .010256}, {8, 64, 8 / math.Exp2(64)}} {
		got := value[float64](t)(Row{Rows: 9, Cells: c.cells, FingerprintBits: c.bits}.FPR())
		near(t, fmt.Sprintf("%+v", c), got, c.want, 1e-4)
		near(t, "crowded timed row", value[float64](t)(TimedRowFPR(c.cells, c.bits, 1000)), got, 1e-9)
	}
}

func TestTimedRowsAgainstSimulation(t *testing.T) {
	const trials, rows = 100000, 1000
	r := rand.New(rand.NewPCG(13, 0))
	for _, c := range []struct {
		cells  int
		lambda float64
	}{{6, 3}, {32, 32}, {16, 8}, {1, .1}} {
		missed, matched := 0, 0.0
		for range trials {
			held := poissonDraw(r, c.lambda)
			if held >= c.cells {
				missed++
			}
			matched += float64(min(held, c.cells))
		}
		plausible(t, "miss", missed, trials, value[float64](t)(TimedRowMiss(c.cells, 2*c.lambda, .5)), 0)
		near(t, "FPR", value[float64](t)(TimedRowFPR(c.cells, 12, c.lambda)), matched/trials/4095, .02)
	}
	for _, age := range []float64{0, .3, 1} {
		// A row of one cell loses an element to any other.
		near(t, "one cell", value[float64](t)(TimedRowMiss(1, 2, age)), -math.Expm1(-2*age), 1e-12)
	}
}

// poissonDraw draws by counting exponential gaps.
func poissonDraw(r *rand.Rand, mean float64) int {
	n := 0
	for at := r.ExpFloat64(); at < mean; at += r.ExpFloat64() {
		n++
	}
	return n
}

func TestTailsKeepTheirDigits(t *testing.T) {
	// P(X >= 10) for a mean of 1e-3 is its first term but for a 1e-4 part of it.
	near(t, "Poisson", PoissonTail(10, 1e-3), 1e-30/3628800, 2e-3)
	near(t, "binomial", binomialFrom(10, 10, 1e-3), 1e-30, 1e-9)
	for _, count := range []int{1, 5, 9, 10, 11, 20} {
		near(t, "binomial", binomialFrom(count, 100, .1), 1-binomialUpTo(count-1, 100, .1), 1e-9)
		near(t, "limit", binomialFrom(count, 1e7, 1e-6), PoissonTail(count, 10), 1e-4)
	}
	if p := binomialFrom(1<<20, 1<<30, .5); p != 1 {
		t.Errorf("far below the mean: %g", p)
	}
}

func TestBlockedBloomAgainstSimulation(t *testing.T) {
	const lines, lineBits, k, load, probes = 4000, 64, 4, 8.0, 400000
	r := rand.New(rand.NewPCG(14, 0))
	bits := make([][k][lineBits / k]bool, lines)
	for range int(lines * load) {
		line := &bits[r.IntN(lines)]
		for part := range line {
			line[part][r.IntN(lineBits/k)] = true
		}
	}
	hits := 0
	for range probes {
		line, set := &bits[r.IntN(lines)], 0
		for part := range line {
			if line[part][r.IntN(lineBits/k)] {
				set++
			}
		}
		if set == k {
			hits++
		}
	}
	// One filling of 4000 lines spreads by some 2 %.
	plausible(t, "FPR", hits, probes, value[float64](t)(BlockedBloomFPR(lineBits, k, load)), .04)
	// Lines as large as the filter are a partitioned Bloom filter.
	near(t, "one line", value[float64](t)(BlockedBloomFPR(8e5, 4, 1e5)), math.Pow(-math.Expm1(-.5), 4), 1e-3)
	if p := value[float64](t)(BlockedBloomFPR(512, 8, 1e6)); p < .999999 {
		t.Errorf("FPR of crowded lines is %g", p)
	}
}

func TestRowErrors(t *testing.T) {
	good := Row{Rows: 1, Cells: 1, FingerprintBits: 1}
	err2 := func(_ float64, err error) error { return err }
	for name, err := range map[string]error{
		"rows":         err2(Row{0, 1, 8}.FPR()),
		"cells":        err2(Row{1, 0, 8}.FPR()),
		"many cells":   err2(Row{1, 4, 2}.FPR()),
		"bits":         err2(Row{1, 1, 65}.FPR()),
		"LRU gap":      err2(good.LRUMiss(-1)),
		"timed cells":  err2(TimedRowMiss(0, 1, 1)),
		"timed lambda": err2(TimedRowMiss(1, math.NaN(), 1)),
		"timed age":    err2(TimedRowMiss(1, 1, 1.1)),
		"timed FPR":    err2(TimedRowFPR(4, 2, 1)),
		"timed load":   err2(TimedRowFPR(1, 2, -1)),
		"blocked k":    err2(BlockedBloomFPR(8, 0, 1)),
		"blocked line": err2(BlockedBloomFPR(8, 9, 1)),
		"blocked load": err2(BlockedBloomFPR(8, 1, math.Inf(1))),
	} {
		if !errors.Is(err, ErrDomain) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

// TestRowRanges checks that values stay probabilities over a grid of extremes.
func TestRowRanges(t *testing.T) {
	for _, rows := range []int{1, 2, 1000, min(1<<40, math.MaxInt)} {
		for _, cells := range []int{1, 8, 255} {
			for _, gap := range []int{0, 1, 1000, min(1<<40, math.MaxInt)} {
				row := Row{Rows: rows, Cells: cells, FingerprintBits: 8}
				if lru := value[float64](t)(row.LRUMiss(gap)); !(lru >= 0 && lru <= 1) {
					t.Errorf("%+v, gap %d: LRU %g", row, gap, lru)
				}
			}
		}
	}
}
