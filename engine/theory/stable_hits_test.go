package theory

import (
	"fmt"
	"testing"
)

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
