package theory

import (
	"errors"
	"math"
	"testing"
)

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

// TestStableBestMax checks what DR06 says of its Figure 2: the shorter the gaps and the
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

func TestStableGapsDomain(t *testing.T) {
	s := Stable{Cells: 100, K: 2, P: 4, Max: 1}
	good := []Gap{{10, 1}}
	nan, inf := math.NaN(), math.Inf(1)
	for name, gaps := range map[string][]Gap{
		"none": nil, "negative": {{-1, 1}}, "weight": {{1, -1}, {2, 5}}, "NaN": {{1, nan}},
		"infinite": {{1, inf}}, "no weight": {{1, 0}}, "sum": {{1, math.MaxFloat64}, {2, math.MaxFloat64}},
	} {
		if _, err := s.MeanFNR(gaps); !errors.Is(err, ErrDomain) {
			t.Errorf("%s: MeanFNR's error is %v", name, err)
		}
		if _, err := StableBestMax(100, 1, 0.1, gaps); !errors.Is(err, ErrDomain) {
			t.Errorf("%s: StableBestMax's error is %v", name, err)
		}
	}
	for name, c := range map[string]struct {
		bits, cellBits int
		fps            float64
	}{
		"bits": {1, 1, 0.1}, "cell bits": {100, 0, 0.1}, "large cells": {100, 17, 0.1},
		"fps": {100, 1, 0}, "fps NaN": {100, 1, nan}, "too small": {2, 1, 1e-9},
	} {
		if _, err := StableByCellBits(c.bits, c.cellBits, c.fps, good); !errors.Is(err, ErrDomain) {
			t.Errorf("%s: StableByCellBits' error is %v", name, err)
		}
	}
	if _, err := (Stable{Cells: 2, K: 2, P: 1, Max: 1}).MeanFNR(good); !errors.Is(err, ErrDomain) {
		t.Errorf("filter: error is %v", err)
	}
	// Cells that are too wide for the memory are left out, the others stay.
	choices := value[[]StableChoice](t)(StableByCellBits(30, 16, 0.2, good))
	if last := choices[len(choices)-1]; last.CellBits >= 16 || len(choices) < 2 {
		t.Errorf("%d choices, the last %+v", len(choices), last)
	}
}
