// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestPopulation expects more misses in fuller lines, and none without members. Package sizing
// compares rates with filters.
func TestPopulation(t *testing.T) {
	for _, rows := range []SpareRows{{Cells: 6, Share: 12, OldestFirst: true}, {Cells: 15, Share: 12, Slack: 0.13}} {
		for _, turns := range []float64{1, 30} {
			before := -1.0
			for _, load := range []float64{0, 0.7, 1, 1.4} {
				p := Population{Rows: rows, Members: load * float64(rows.Cells) * (1 + turns) / turns, Turns: turns}
				rate := p.MissRate()
				if !(rate > before && rate < 1) || load == 0 && rate != 0 {
					t.Errorf("%+v: %v are missed, %v with fewer members", p, rate, before)
				}
				before = rate
			}
		}
	}
}

// TestExcess compares the distribution with members that fall into lines at random, and expects
// drawn lines to have the excess that was asked for.
func TestExcess(t *testing.T) {
	const cells, lines, members, n = 6, 12, 5.5, 100_000
	e := newExcess(cells, lines, members)
	rng := rand.New(rand.NewPCG(3, 3))
	counts := make([]float64, len(e.tails))
	for range n {
		sum := 0
		for range lines {
			count := 0
			for at := rng.ExpFloat64(); at < members; at += rng.ExpFloat64() {
				count++
			}
			sum += max(0, count-cells)
		}
		for i := 0; i <= sum; i++ {
			counts[i]++
		}
	}
	for i, want := range e.tails {
		if got := counts[i] / n; math.Abs(got-want) > 5*math.Sqrt(want*(1-want)/n)+3.0/n {
			t.Errorf("excess of %d or more: %v, want %v", i, got, want)
		}
	}
	for want := 1; want < 60; want++ {
		sum := 0
		for _, m := range e.lines(rng, want) {
			sum += m - cells
		}
		if sum != want {
			t.Errorf("lines with an excess of %d, want %d", sum, want)
		}
	}
}
