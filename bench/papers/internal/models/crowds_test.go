// SPDX-License-Identifier: Apache-2.0

package models

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/sizing"
	"github.com/flowdedup/flowdedup/engine/window"
)

// plainRows is a table in the plainest form: elements have a random row and a random
// fingerprint, and the ones that are reported distinct push out the oldest or a random one.
type plainRows struct {
	rows   [][]uint64
	cells  int
	values uint64 // that fingerprints take
	oldest bool
	random *rand.Rand
}

// place is where an element belongs.
type place struct {
	row   int
	print uint64
	came  bool
}

// misses returns the share of the repeats of members that are reported distinct.
func (p *plainRows) misses(elements []int, members int) float64 {
	places := make([]place, members)
	for i := range places {
		places[i] = place{row: p.random.IntN(len(p.rows)), print: p.random.Uint64N(p.values)}
	}
	missed, repeats := 0.0, 0.0
	for _, e := range elements {
		at := &places[e]
		seen := slices.Contains(p.rows[at.row], at.print)
		if !seen {
			p.insert(&p.rows[at.row], at.print)
		}
		if at.came {
			repeats++
			if !seen {
				missed++
			}
		}
		at.came = true
	}
	return missed / repeats
}

func (p *plainRows) insert(row *[]uint64, print uint64) {
	if len(*row) == p.cells {
		leaves := 0
		if !p.oldest {
			leaves = p.random.IntN(p.cells)
		}
		*row = slices.Delete(*row, leaves, leaves+1)
	}
	*row = append(*row, print)
}

// TestPopulations compares quotient tables with plain ones, for memory of half of a fixed
// population to four times of it: predictions are within 15 % of the mean of 16 runs, and 5
// standard errors of it (1 in 5000). If members come with unequal frequency, they are within
// 25 % of random evictions.
func TestPopulations(t *testing.T) {
	if testing.Short() {
		t.Skip("long: rates are low")
	}
	const members, runs = 6000, 16
	for _, c := range []struct {
		cells, width, turns int
		unequal             bool
		fits                []float64 // cells for each member
	}{
		{8, 8, 4, false, []float64{0.5, 0.75, 1, 1.5, 2, 3}},
		{8, 8, 20, false, []float64{0.5, 0.75, 1, 1.5, 2, 3}},
		{32, 16, 4, false, []float64{0.5, 0.75, 1, 1.25}},
		{32, 16, 20, false, []float64{0.5, 0.75, 1, 1.25}},
		{4, 16, 4, false, []float64{0.5, 1, 2, 4}},
		{4, 16, 20, false, []float64{0.5, 1, 2, 4}},
		{8, 64, 20, false, []float64{0.5, 1, 2}},
		{8, 8, 20, true, []float64{0.25, 0.5, 1}},
		{4, 16, 20, true, []float64{0.25, 0.5, 1}},
	} {
		random := rand.New(rand.NewPCG(21, uint64(c.turns)))
		draw := func() int { return random.IntN(members) }
		if c.unequal {
			zipf := rand.NewZipf(random, 1.1, 10, members-1)
			draw = func() int { return int(zipf.Uint64()) }
		}
		elements, digests := make([]int, members*c.turns), make([]digest.Digest, members*c.turns)
		track := sizing.NewTracker(window.Window{None: true}, false, sizing.MaxTracked)
		for i := range elements {
			elements[i] = draw()
			digests[i] = digest.Digest{uint64(elements[i]) * 0x9E3779B97F4A7C15, uint64(elements[i])}
			track.Add(digests[i], 0)
		}
		n := float64(len(elements))
		q := Question{Question: sizing.Question{Key: sizing.Other, FPR: 0.1, Elements: n, Length: n, Distinct: track.DistinctShare(), Gaps: track.Gaps()}, Fixed: Parameters{Cells: c.cells, CellBits: c.width}, Lives: lives(digests)}
		for _, fits := range c.fits {
			q.MemoryBits = int(fits*members) * c.width / lineBits * lineBits
			for _, method := range []string{"qht", "qqht"} {
				if c.unequal && method == "qqht" {
					continue
				}
				p := planned(t, q, method)
				mean, squares := 0.0, 0.0
				for range runs {
					table := plainRows{
						rows: make([][]uint64, p.Parameters["rows"]), cells: c.cells, values: math.MaxUint64 >> (64 - c.width),
						oldest: method == "qqht", random: random,
					}
					fnr := table.misses(elements, members)
					mean, squares = mean+fnr/runs, squares+fnr*fnr/runs
				}
				off := 0.15
				if c.unequal {
					off = 0.25
				}
				slack := off*mean + 5*math.Sqrt((squares-mean*mean)/(runs-1))
				if math.Abs(p.FNR-mean) > slack {
					t.Errorf("%s of %dx%d, %d times a population (unequal: %v) of which it fits %g: predicted %.4g, measured %.4g",
						method, c.cells, c.width, c.turns, c.unequal, fits, p.FNR, mean)
				}
			}
		}
	}
}
