package theory

import (
	"fmt"
	"math"
)

// StableBestK returns the K with the smallest false negative rate at the given
// gap among those that keep the false positive rate at fps or less, and its P
// (DR06, section 4.1). The K found hardly depends on the gap as long as the rate is
// below 0.9, nor on the number of cells; that P is a whole number moves it by one at
// most. Domain: cells >= 2, top >= 1, 0 < fps < 1, gap >= top; an error too if no K
// reaches fps, and if the gap is so short that the rates drown in rounding errors.
func StableBestK(cells, top int, fps float64, gap int) (Stable, error) {
	if err := requireAtLeast("cells", cells, 2); err != nil {
		return Stable{}, err
	}
	if err := requireAtLeast("gap", gap, max(top, 1)); err != nil {
		return Stable{}, err
	}
	const largestK = 32 // the best K is below 7 for all rates that the paper treats
	best, lowest := Stable{}, math.Inf(1)
	var failure error
	for k := 1; k <= min(largestK, cells-1); k++ {
		p, err := StableP(cells, k, top, fps)
		if err != nil {
			failure = err
			continue
		}
		s := Stable{Cells: cells, K: k, P: p, Max: top}
		fnr, err := s.FNR(gap)
		if err != nil {
			return Stable{}, err
		}
		if fnr < lowest {
			best, lowest = s, fnr
		}
	}
	if best.K == 0 {
		return Stable{}, failure
	}
	if lowest < 1e-12 {
		return Stable{}, fmt.Errorf("theory: a gap of %d hardly ever leads to a miss, no K stands out: %w", gap, ErrDomain)
	}
	return best, nil
}
