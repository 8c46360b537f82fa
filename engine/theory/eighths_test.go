// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestEighths draws lines with a Poisson number of elements, and counts how often all cells
// of one more are set.
func TestEighths(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const trials = 20_000
	for _, cells := range []int{32, 64, 128} {
		for k := 1; k <= 8; k++ {
			f := EighthsFilter{Cells: cells, K: k}
			for _, load := range []float64{0.5, 3, 9} {
				draw := func(do func(cell int)) {
					first, side := rng.IntN(8), 1-2*rng.IntN(2)
					for _, o := range eighthsOrder[:k] {
						do((first+side*o)&7*cells/8 + rng.IntN(cells/8))
					}
				}
				found := 0.0
				for range trials {
					var set [128]bool
					for at := rng.ExpFloat64(); at < load; at += rng.ExpFloat64() {
						draw(func(cell int) { set[cell] = true })
					}
					all := 1.0
					draw(func(cell int) {
						if !set[cell] {
							all = 0
						}
					})
					found += all
				}
				want, err := f.FPR(load)
				if err != nil {
					t.Fatal(err)
				}
				if got := found / trials; math.Abs(got-want) > 5*math.Sqrt(want/trials)+1e-6 {
					t.Errorf("%+v, load %v: %.4g, want %.4g", f, load, got, want)
				}
			}
		}
	}
}

// TestEighthsEnds looks at loads where the formula loses its digits, and beyond.
func TestEighthsEnds(t *testing.T) {
	for k := 1; k <= 8; k++ {
		f := EighthsFilter{Cells: 64, K: k}
		before := 0.0
		for load := 1e-9; load < 1e9; load *= 1.5 {
			fpr, err := f.FPR(load)
			if err != nil || fpr < before*(1-1e-6)-1e-14 || fpr <= 0 || fpr > 1 {
				t.Fatalf("K = %d, load %g: %g after %g, %v", k, load, fpr, before, err)
			}
			before = fpr
		}
		if f.FPROfFill(0) != 0 || f.FPROfFill(1) != 1 || f.FPROfFill(0.5) > 1 {
			t.Errorf("K = %d: of fills %g, %g", k, f.FPROfFill(0), f.FPROfFill(1))
		}
	}
	for _, f := range []EighthsFilter{{64, 0}, {64, 9}, {7, 1}} {
		if _, err := f.FPR(1); err == nil {
			t.Errorf("%+v has no error", f)
		}
	}
	if _, err := (EighthsFilter{64, 2}).FPR(-1); err == nil {
		t.Error("a negative load has no error")
	}
}
