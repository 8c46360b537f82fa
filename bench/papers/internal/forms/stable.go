// SPDX-License-Identifier: Apache-2.0

// Package forms holds closed forms, recurrences and best parameters of the papers that their tables
// need, but no program: package theory has the others, and the papers' short names. Arguments have to
// be in the domains that the functions state.
//
//	paper                  file
//	DR06                   stable.go, windows.go
//	BDNB12                 biased.go
//	MAE05                  windows.go
//	GLN19                  quotient.go, quotient_stream.go
//	KNPS                   distributed.go, timers.go
//	rows, rivals           rows.go
package forms

import (
	"fmt"
	"math"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// StableP returns the P at which the bound on the false positive rate is fps or less:
// DR06, Eq. 17, rounded up. The paper's examples round down (4.32 to 4), which puts their
// bound above the rate asked for. Domain: cells > k >= 1, top >= 1, 0 < fps < 1. It is an
// error if more than cells decrements are needed.
func StableP(cells, k, top int, fps float64) (int, error) {
	exact := StablePExact(cells, k, top, fps)
	if exact > float64(cells) {
		return 0, fmt.Errorf("a false positive rate of %g needs %.4g decrements for each element, but there are %d cells: %w",
			fps, exact, cells, theory.ErrDomain)
	}
	// An exact whole number may come out a rounding error above itself.
	p := max(1, int(math.Ceil(exact*(1-1e-12))))
	return min(p, cells), nil
}

// StablePExact returns DR06, Eq. 17, before it is rounded to a whole number:
//
//	1 / ((1/(1-fps^(1/k))^(1/top) - 1) (1/k - 1/cells))
//
// Domain: cells > k >= 1, top >= 1, 0 < fps < 1.
func StablePExact(cells, k, top int, fps float64) float64 {
	// (1-x)^(-1/top) - 1 without cancellation, which small x would suffer from.
	odds := math.Expm1(-math.Log1p(-math.Pow(fps, 1/float64(k))) / float64(top))
	return 1 / (odds * (1/float64(k) - 1/float64(cells)))
}

// StableBestK returns the K with the smallest false negative rate at the given gap among
// the values that keep the false positive rate at fps or less, and its P (DR06, section
// 4.1). In the paper's Observation 1 this K depends only on top and fps. It does not
// depend on the number of cells. But it depends on the gap: with top = 1 and fps = 0.2 it
// is 1 up to gaps at which 0.7 are missed, and 4 where 0.8 are; with top = 3 and fps =
// 0.01 it is 6 where 0.01 are missed, and 4 from 0.08 on. Domain: cells >= 2, top >= 1, 0
// < fps < 1, gap >= top. It is an error if no K reaches fps, or if the gap is so short that
// rounding errors hide the rates.
func StableBestK(cells, top int, fps float64, gap int) (theory.Stable, error) {
	best, found := bestStableK(cells, top, fps, []Gap{{Elements: gap, Weight: 1}})
	switch {
	case !found:
		return best.Stable, fmt.Errorf("no K reaches a false positive rate of %g: %w", fps, theory.ErrDomain)
	case best.FNR < equalRates:
		return best.Stable, fmt.Errorf("a gap of %d hardly ever leads to a miss, no K stands out: %w", gap, theory.ErrDomain)
	}
	return best.Stable, nil
}

// Gap is a value of a stream's gap distribution: the number of elements between a
// duplicate and the element's last occurrence.
type Gap struct {
	Elements int     // at least 0; 0 if an element is repeated at once
	Weight   float64 // number or share of the duplicates with this gap; at least 0
}

// StableChoice is a filter with cells of CellBits bits and the miss rate to expect.
type StableChoice struct {
	theory.Stable
	CellBits int     // d; Max is 2^d - 1
	FNR      float64 // see [MeanFNR]
}

// largestStableK bounds the search for K. The best K is below 10 for all rates
// that DR06 treats (Observation 1).
const largestStableK = 32

// equalRates is a difference of rates that comes from rounding.
const equalRates = 1e-12

// MeanFNR returns the share of duplicates that are reported as distinct, for duplicates
// with the given gaps: the mean of [theory.Stable.FNR], which is DR06, Eq. 15 divided by the
// number of duplicates. (Eq. 16 has a single average gap instead, which is not known in
// advance.) Weights need not add up to 1. Its time grows with Max times the number of
// gaps. Domain: at least one gap with a weight above 0, a finite sum of weights.
func MeanFNR(s theory.Stable, gaps []Gap) float64 {
	total, mean := 0.0, 0.0
	for _, g := range gaps {
		total += g.Weight
	}
	for _, g := range gaps {
		mean += g.Weight / total * result.Must(s.FNR(g.Elements))
	}
	return min(mean, 1)
}

// StableByCellBits returns, for each d from 1 to cellBits, the filter of bits/d cells
// with Max = 2^d - 1 that misses the fewest duplicates with these gaps among the filters
// that keep the false positive rate at fps or less (DR06, section 4.1, "The setting of
// Max"). Every d has its own best K; [StableP] gives P. It leaves out values of d for
// which no filter reaches fps. Of filters with equal misses it takes the one with the
// smallest K.
//
// Larger cells keep elements for a time that varies less: they miss fewer at short gaps
// and more at long ones. They take longer, since P grows with Max. The paper considers
// cellBits = 3, and advises d = 1 if the gaps are unknown.
//
// Its time grows with 2^cellBits times the number of gaps. A histogram with some dozens
// of values is enough. Domain: bits >= 2 cellBits, 1 <= cellBits <= 16, 0 < fps < 1, gaps as
// for [MeanFNR].
func StableByCellBits(bits, cellBits int, fps float64, gaps []Gap) (choices []StableChoice) {
	for d := 1; d <= cellBits; d++ {
		best, found := bestStableK(bits/d, 1<<d-1, fps, gaps)
		if best.CellBits = d; found {
			choices = append(choices, best)
		}
	}
	return choices
}

// bestStableK tries all K for cells up to top. found is false if none reaches fps.
func bestStableK(cells, top int, fps float64, gaps []Gap) (best StableChoice, found bool) {
	for k := 1; k <= min(largestStableK, cells-1); k++ {
		p, err := StableP(cells, k, top, fps)
		if err != nil {
			continue // more decrements than cells: too small for this rate
		}
		s := theory.Stable{Cells: cells, K: k, P: p, Max: top}
		if fnr := MeanFNR(s, gaps); !found || fnr < best.FNR-equalRates {
			best, found = StableChoice{Stable: s, FNR: fnr}, true
		}
	}
	return best, found
}

// StableBestMax returns the best of [StableByCellBits], with the same domain, if a filter
// reaches fps. Of equals it takes the one with the smallest cells, which updates fastest.
func StableBestMax(bits, cellBits int, fps float64, gaps []Gap) StableChoice {
	choices := StableByCellBits(bits, cellBits, fps, gaps)
	best := choices[0]
	for _, c := range choices[1:] {
		if c.FNR < best.FNR-equalRates {
			best = c
		}
	}
	return best
}
