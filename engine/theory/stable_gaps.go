package theory

import (
	"fmt"
	"math"
)

// Gap is one value of a stream's gap distribution: how many elements come
// between a duplicate and the element's last occurrence.
type Gap struct {
	Elements int     // at least 0; 0 if an element is repeated at once
	Weight   float64 // how many duplicates have this gap, or their share; at least 0
}

// StableChoice is a filter with cells of CellBits bits and the miss rate to expect.
type StableChoice struct {
	Stable
	CellBits int     // d; Max is 2^d - 1
	FNR      float64 // see [Stable.MeanFNR]
}

// maxStableCellBits bounds d: a larger Max would need some hundred thousand
// decrements for each element.
const maxStableCellBits = 16

// largestStableK bounds the search for K. The best K is below 10 for all rates
// that DR06 treats (Observation 1).
const largestStableK = 32

// equalRates is a difference of rates that comes from rounding.
const equalRates = 1e-12

// MeanFNR returns the share of duplicates that are reported as distinct, for duplicates
// with the given gaps: the mean of [Stable.FNR], which is DR06, Eq. 15 divided by the
// number of duplicates. (Eq. 16 has a single average gap instead, which is not known in
// advance.) Weights need not add up to 1. Its time grows with Max times the number of
// gaps. Domain: at least one gap with a weight above 0, a finite sum of weights.
func (s Stable) MeanFNR(gaps []Gap) (float64, error) {
	total, err := totalWeight(gaps)
	if err != nil {
		return 0, err
	}
	mean := 0.0
	for _, g := range gaps {
		fnr, err := s.FNR(g.Elements)
		if err != nil {
			return 0, err
		}
		mean += g.Weight / total * fnr
	}
	return min(mean, 1), nil
}

func totalWeight(gaps []Gap) (total float64, err error) {
	for i, g := range gaps {
		if err := requireAtLeast(fmt.Sprintf("gap %d", i), g.Elements, 0); err != nil {
			return 0, err
		}
		if !(g.Weight >= 0) {
			return 0, fmt.Errorf("theory: weight of gap %d is %g, must be 0 or more: %w", i, g.Weight, ErrDomain)
		}
		total += g.Weight
	}
	if !(total > 0) || math.IsInf(total, 1) {
		return 0, fmt.Errorf("theory: weights of gaps add up to %g, must be finite and above 0: %w", total, ErrDomain)
	}
	return total, nil
}

// StableByCellBits returns, for each d from 1 to cellBits, the filter of bits/d cells
// with Max = 2^d - 1 that misses the fewest duplicates with these gaps among those that
// keep the false positive rate at fps or less (DR06, section 4.1, "The setting of Max").
// Every d has its own best K; P is that of [StableP]. It leaves out values of d for which
// no filter reaches fps. Of filters with equal misses it takes the one with the smallest
// K.
//
// Larger cells keep elements for a time that varies less: they miss fewer at short gaps
// and more at long ones. They take longer, since P grows with Max. The paper considers
// cellBits = 3, and advises d = 1 if the gaps are unknown.
//
// Its time grows with 2^cellBits times the number of gaps. A histogram with some dozens
// of values is enough. Domain: bits >= 2, 1 <= cellBits <= 16, 0 < fps < 1, gaps as for
// [Stable.MeanFNR]. It is also an error if no filter reaches fps.
func StableByCellBits(bits, cellBits int, fps float64, gaps []Gap) ([]StableChoice, error) {
	if err := requireAtLeast("bits", bits, 2); err != nil {
		return nil, err
	}
	if cellBits < 1 || cellBits > maxStableCellBits {
		return nil, fmt.Errorf("theory: cell bits are %d, must be from 1 to %d: %w", cellBits, maxStableCellBits, ErrDomain)
	}
	if err := requireRate("fps", fps); err != nil {
		return nil, err
	}
	if _, err := totalWeight(gaps); err != nil {
		return nil, err
	}
	var choices []StableChoice
	for d := 1; d <= cellBits; d++ {
		best, found, err := bestStableK(bits/d, 1<<d-1, fps, gaps)
		if err != nil {
			return nil, err
		}
		if best.CellBits = d; found {
			choices = append(choices, best)
		}
	}
	if len(choices) == 0 {
		return nil, fmt.Errorf("theory: no stable Bloom filter of %d bits has a false positive rate of %g or less: %w", bits, fps, ErrDomain)
	}
	return choices, nil
}

// bestStableK tries all K for cells up to top. found is false if none reaches fps.
func bestStableK(cells, top int, fps float64, gaps []Gap) (best StableChoice, found bool, err error) {
	for k := 1; k <= min(largestStableK, cells-1); k++ {
		p, err := StableP(cells, k, top, fps)
		if err != nil {
			continue // more decrements than cells: too small for this rate
		}
		s := Stable{Cells: cells, K: k, P: p, Max: top}
		fnr, err := s.MeanFNR(gaps)
		if err != nil {
			return StableChoice{}, false, err
		}
		if !found || fnr < best.FNR-equalRates {
			best, found = StableChoice{Stable: s, FNR: fnr}, true
		}
	}
	return best, found, nil
}

// StableBestMax returns the best of [StableByCellBits], with the same domain. Of equals
// it takes the one with the smallest cells, which updates fastest.
func StableBestMax(bits, cellBits int, fps float64, gaps []Gap) (StableChoice, error) {
	choices, err := StableByCellBits(bits, cellBits, fps, gaps)
	if err != nil {
		return StableChoice{}, err
	}
	best := choices[0]
	for _, c := range choices[1:] {
		if c.FNR < best.FNR-equalRates {
			best = c
		}
	}
	return best, nil
}
