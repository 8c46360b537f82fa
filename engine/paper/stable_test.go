package paper

import (
	"math"
	"testing"

	"github.com/flowdedup/flowdedup/engine/theory"
)

// TestStablePoint holds filters in their stable state against Theorem 3 and Eq. 8,
// with distinct elements only, which is the uniform stream that reaches the bound.
//
// Neighbouring cells share decrements, and the state of one moment that of the next,
// so a single run has no simple confidence. Independent runs have: the mean of 20
// of them must be within 7.3 of its standard errors of the closed form (Student's
// t with 19 degrees of freedom: chance below 1e-6) and a further 1 % for the
// closed forms' own terms of order K/m and (variance of the zeros), which small
// filters have.
func TestStablePoint(t *testing.T) {
	for _, c := range []StableConfig{
		{CellBits: 1, K: 2, P: 4},
		{CellBits: 1, K: 3, P: 10},
		{CellBits: 1, K: 1, P: 1},
		{CellBits: 2, K: 4, P: 26},
		{CellBits: 3, K: 2, P: 20},
		{CellBits: 5, K: 3, P: 150},
	} {
		c.Cells = 4000
		model := theory.Stable{Cells: c.Cells, K: c.K, P: c.P, Max: 1<<c.CellBits - 1}
		wantZeros, err := model.Zeros()
		if err != nil {
			t.Fatal(err)
		}
		wantFPS, err := model.FPS()
		if err != nil {
			t.Fatal(err)
		}
		var zeros, fps [20]float64
		for run := range zeros {
			c.Seed = uint64(run)
			// 16 times the time of the exponential convergence.
			warm := 16 * c.Cells * model.Max / (c.K + c.P)
			zeros[run], fps[run] = stableRates(t, c, warm, 8000)
		}
		requireMean(t, c, "share of zeros", zeros[:], wantZeros)
		requireMean(t, c, "false positive rate", fps[:], wantFPS)
	}
}

// stableRates returns the mean share of zeros and the rate of false positives
// among measured distinct elements, after warm others.
func stableRates(t *testing.T, c StableConfig, warm, measured int) (zeros, fps float64) {
	f, err := NewStable(c)
	if err != nil {
		t.Fatal(err)
	}
	const every = 800
	positives := 0
	for i := range warm + measured {
		seen := f.TestAndSet(digestOf(c.Seed<<32 | uint64(i)))
		if i >= warm && seen {
			positives++
		}
		if i >= warm && (i-warm)%every == 0 {
			zeros += f.Zeros() * every / float64(measured)
		}
	}
	return zeros, float64(positives) / float64(measured)
}

// requireMean is a t-test, with 1 % of want allowed besides.
func requireMean(t *testing.T, c StableConfig, what string, runs []float64, want float64) {
	t.Helper()
	n, mean, squares := float64(len(runs)), 0.0, 0.0
	for _, x := range runs {
		mean += x / n
	}
	for _, x := range runs {
		squares += (x - mean) * (x - mean)
	}
	standardError := math.Sqrt(squares / (n - 1) / n)
	t.Logf("d %d, K %d, P %d: %s %.5f, standard error %.5f, closed form %.5f",
		c.CellBits, c.K, c.P, what, mean, standardError, want)
	if math.Abs(mean-want) > 7.3*standardError+0.01*want {
		t.Errorf("%+v: %s %.5f, standard error %.5f, want %.5f", c, what, mean, standardError, want)
	}
}

// TestStableDecaysOnHits repeats one element: decrements go on, so other cells
// decay though every report but the first is "seen".
func TestStableDecaysOnHits(t *testing.T) {
	f, err := NewStable(StableConfig{Cells: 1000, CellBits: 1, K: 2, P: 3, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for id := range uint64(200) {
		f.TestAndSet(digestOf(id))
	}
	misses := 0
	for range 20_000 {
		if !f.TestAndSet(digestOf(0)) {
			misses++
		}
	}
	// What is left are the element's two cells: all others had 60 decrements
	// each, on average, and survive with e^-60.
	if zeros := math.Round(f.Zeros() * 1000); zeros != 998 || misses > 1 {
		t.Errorf("%v zeros, want 998; %d misses, want at most 1", zeros, misses)
	}
}

// TestStableWraps decrements all cells at once, wherever the run begins.
func TestStableWraps(t *testing.T) {
	f, err := NewStable(StableConfig{Cells: 77, CellBits: 2, K: 1, P: 77, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(77) {
		f.cells.put(i, 3)
	}
	for left := range uint64(4) {
		for i := range uint64(77) {
			if got := f.cells.get(i); got != 3-left {
				t.Fatalf("cell %d is %d, want %d", i, got, 3-left)
			}
		}
		f.decay()
	}
	if f.Bits() != 154 {
		t.Errorf("%d bits, want 154", f.Bits())
	}
}
