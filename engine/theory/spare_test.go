// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// spareAgesOf runs rows with spare lines for n elements, and returns the ages in windows at
// which spare lines lose elements, and the share of elements that find their line full.
func spareAgesOf(s SpareRows, load float64, n int) (lost []float64, full float64) {
	rng := rand.New(rand.NewPCG(5, 5))
	lines, spare, now := make([][]float64, s.Share), []float64(nil), 0.0
	for range n {
		now += rng.ExpFloat64() / (load * float64(s.Share))
		l := &lines[rng.IntN(s.Share)]
		if len(*l) == s.Cells {
			oldest := (*l)[0]
			*l = (*l)[1:]
			if now-oldest <= 1+s.Slack {
				full++
				if len(spare) == s.Cells {
					lost = append(lost, now-spare[0])
					spare = spare[1:]
				}
				spare = append(spare, oldest)
				if s.OldestFirst {
					slices.Sort(spare)
				}
			}
		}
		*l = append(*l, now)
	}
	return lost, full / float64(n)
}

// TestSpareRows compares the model with a simulation, from few to nearly all that are lost.
func TestSpareRows(t *testing.T) {
	const n = 1_000_000
	for _, s := range []SpareRows{{Cells: 12, Share: 12, Slack: 0.1}, {Cells: 15, Share: 12, Slack: 0.125}, {Cells: 6, Share: 12, Slack: 0.25},
		{Cells: 6, Share: 12, OldestFirst: true}, {Cells: 6, Share: 12, Slack: 0.25, OldestFirst: true}} {
		off := 0.05
		if s.OldestFirst {
			off = 0.12
		}
		for _, part := range []float64{0.55, 0.65, 0.8, 1, 1.3, 2.5} {
			load := part * float64(s.Cells)
			ages, full := spareAgesOf(s, load, n)
			lost := s.Lost(load)
			if want := s.Full(load); math.Abs(full-want) > 0.02*want+0.001 {
				t.Errorf("%+v, load %v: full %v, want %v", s, load, full, want)
			}
			for _, windows := range []float64{0.7, 0.9, 1, 1.05} {
				got := 0.0
				for _, age := range ages {
					if age <= windows {
						got++
					}
				}
				got /= n
				want := lost(windows)
				// Lines share the fate of a spare line, so there are fewer trials than elements.
				if slack := off*want + 5*math.Sqrt(want*20/n); math.Abs(got-want) > slack {
					t.Errorf("%+v, load %v: %v lost after %v windows, want %v", s, load, got, windows, want)
				}
			}
		}
	}
}

// TestSpareRowsEdges has loads without losses, and that losses only rise with age and load.
func TestSpareRowsEdges(t *testing.T) {
	for _, s := range []SpareRows{{Cells: 12, Share: 12, Slack: 0.125}, {Cells: 6, Share: 12, Slack: 0.125, OldestFirst: true}} {
		testSpareRowsEdges(t, s)
	}
}

func testSpareRowsEdges(t *testing.T, s SpareRows) {
	if got := s.Lost(0)(1); got != 0 {
		t.Errorf("%v are lost without a load", got)
	}
	before := 0.0
	for _, load := range []float64{1, 4, 7, 10, 20, 24, 30, 100} {
		lost, younger := s.Lost(load), 0.0
		for _, windows := range []float64{0, 0.3, 0.7, 1, 1.1} {
			got := lost(windows)
			if got < younger || got > 1+1e-9 || windows == 0 && got != 0 {
				t.Errorf("load %v: %v are lost after %v windows, after %v before", load, got, windows, younger)
			}
			younger = got
		}
		if now := lost(1); now < before-1e-3 {
			t.Errorf("load %v: %v are lost, %v with less", load, now, before)
		} else {
			before = now
		}
	}
}
