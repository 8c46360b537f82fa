// SPDX-License-Identifier: Apache-2.0

package stable

import (
	"fmt"
	"math"

	"github.com/flowdedup/flowdedup/bench/papers/internal/forms"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/engine/theory"
)

const (
	// mostK is far above each K of Observation 1, which is "below 10 in all of our testing".
	mostK = 32
	// testCells is a size at which elements are missed at the gap of the test values.
	testCells = 10_000
)

// situation is what Observation 1 varies beside the filter.
type situation struct {
	gap        int
	share, phi float64
}

// testValues are the ones that the paper proposes to choose K by, whatever the stream is.
var testValues = situation{gap: 200, share: 1e-5}

// situations returns the combinations that section 4.1 lists.
func situations() (all []situation) {
	for _, gap := range []int{10, 100, 1000, 100_000, 10_000_000, 1_000_000_000} {
		for _, share := range []float64{0.5, 0.1, 0.01, 0.0001, 0.000001} {
			for _, phi := range []float64{0.001, 0.1, 1, 10, 100, 1000} {
				all = append(all, situation{gap, share, phi})
			}
		}
	}
	return all
}

// missesByK are the miss rates of K = 1, 2, ..., NaN where Eq. 19 has none. best is the K with
// the fewest, or 0 if there is none.
type missesByK struct {
	rates [mostK + 1]float64
	best  int
}

// counts reports whether the best K misses from 1 to 99 %: elsewhere no choice matters.
func (m *missesByK) counts() bool {
	return m.best > 0 && m.rates[m.best] >= 0.01 && m.rates[m.best] <= 0.99
}

// missesAt returns the rates of filters of some cells that keep the bound.
func (s setting) missesAt(cells int, at situation) missesByK {
	m := missesByK{}
	for k := 1; k <= mostK; k++ {
		m.rates[k] = math.NaN()
		p, err := forms.StableP(cells, k, s.top, s.fps)
		if err != nil {
			continue // more decrements than cells
		}
		model := theory.Stable{Cells: cells, K: k, P: p, Max: s.top}
		rate, err := model.FNRAt(at.gap, model.SetRate(at.share, at.phi))
		if err != nil {
			continue // cells would be set with a probability above 1
		}
		if m.rates[k] = rate; m.best == 0 || rate < m.rates[m.best] {
			m.best = k
		}
	}
	return m
}

// observation1 finds the best K on the grid of section 4.1, and what the K of the test values
// costs on it.
func observation1(o result.Options, t *result.Table) {
	sizes := []int{1000, 100_000, 10_000_000, 1_000_000_000}
	var settings []setting
	for d := 1; d <= 4; d++ {
		for _, fps := range []float64{0.2, 0.1, 0.01, 0.001} {
			settings = append(settings, setting{1<<d - 1, d, fps})
		}
	}
	t.Say(len(situations()), len(sizes), mostK, testCells)
	t.Columns = nil
	for _, cells := range sizes {
		t.Columns = append(t.Columns, fmt.Sprintf("m = %.0e: least K", float64(cells)), "most K")
	}
	t.Columns = append(t.Columns, "combinations that count", "K of the test values", "it misses more, at most", "in the mean")
	t.Rows = result.Map(o, settings, func(s setting) result.Row {
		row, count, most, sum := result.Row{Name: s.String()}, 0, 0.0, 0.0
		chosen := s.missesAt(testCells, testValues)
		for _, cells := range sizes {
			var bests []float64
			for _, at := range situations() {
				m := s.missesAt(cells, at)
				if !m.counts() {
					continue
				}
				bests, count = append(bests, float64(m.best)), count+1
				if more := m.rates[chosen.best]/m.rates[m.best] - 1; !math.IsNaN(more) {
					most, sum = max(most, more), sum+more
				}
			}
			row.Cells = append(row.Cells, extremes(bests)...)
		}
		return row.And("", float64(count), float64(chosen.best)).And("%", 100*most, 100*sum/float64(count))
	})
}

// extremes returns the least and the greatest number, or blank cells.
func extremes(all []float64) []result.Cell {
	if len(all) == 0 {
		return []result.Cell{{Blank: true}, {Blank: true}}
	}
	least, greatest := all[0], all[0]
	for _, x := range all {
		least, greatest = min(least, x), max(greatest, x)
	}
	return []result.Cell{result.Measured(least, ""), result.Measured(greatest, "")}
}
