// SPDX-License-Identifier: Apache-2.0

package models

import (
	"math"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/sizing"
	"github.com/flowdedup/flowdedup/engine/sizing/sizingtest"
	"github.com/flowdedup/flowdedup/engine/window"
)

// lruModel is rows of fingerprints in the plainest form.
type lruModel struct {
	rows  [][]uint64
	cells int
	mask  uint64
}

// TestAndSet implements paper.Filter.
func (m *lruModel) TestAndSet(d digest.Digest) bool {
	at := d[1] % uint64(len(m.rows))
	row, value := m.rows[at], d[0]&m.mask
	if value == 0 {
		value = m.mask // one code is for empty cells
	}
	for i, other := range row {
		if other == value {
			copy(row[1:i+1], row[:i])
			row[0] = value
			return true
		}
	}
	row = append([]uint64{value}, row...)
	m.rows[at] = row[:min(len(row), m.cells)]
	return false
}

// Bits implements paper.Filter.
func (m *lruModel) Bits() int { return 0 }

// TestAnyRows compares rows of any width with the plainest form of them.
func TestAnyRows(t *testing.T) {
	const elements, from = 120_000, 40_000
	s := sizingtest.NewStream(elements, 0.5, 1<<12, 11)
	distinct, gaps := load(s, from)
	for _, fpr := range []float64{0.1, 0.01} {
		c := planned(t, Question{Question: sizing.Question{MemoryBits: 20 * lineBits, FPR: fpr, Distinct: distinct, Gaps: gaps}}, "rows")
		rows := &lruModel{
			rows:  make([][]uint64, c.Parameters["lines"]*c.Parameters["rows of a line"]),
			cells: c.Parameters["cells"], mask: 1<<c.Parameters["cell bits"] - 1,
		}
		gotFPR, gotFNR := s.Rates(rows.TestAndSet, from)
		n := float64(elements - from)
		sizingtest.Near(t, "FPR", c.FPR, gotFPR, 0.05, n*distinct, false)
		sizingtest.Near(t, "FNR", c.FNR, gotFNR, 0.05, n*(1-distinct), false)
	}
}

// TestTimersAnchored compares windows that begin at an insertion with window.Timers, for a stream
// of repeats at random lags and for a fixed population.
func TestTimersAnchored(t *testing.T) {
	const elements, size, members = 200_000, 16_000, 5300
	lags := sizingtest.NewStream(elements, 0.6, size, 21)
	track := sizing.NewTracker(window.Window{Packets: size}, false, sizing.MaxTracked)
	for _, d := range lags.Elements {
		track.Add(d, 0)
	}
	for _, s := range []struct {
		elements []digest.Digest
		question sizing.Question
	}{
		{lags.Elements, sizing.Question{Distinct: track.DistinctShare(), Gaps: track.Gaps(), Length: elements}},
		{sizingtest.Population(elements, members, 5), sizing.Question{Different: members * -math.Expm1(-float64(size)/members)}},
	} {
		for _, load := range []float64{8, 4} { // of different elements in a line
			q := s.question
			q.Kind, q.Elements, q.FPR = sizing.Count, size, 0.5
			r, err := sizing.NewRequest(q)
			if err != nil {
				t.Fatal(err)
			}
			q.MemoryBits = int(r.Window/load) * lineBits
			c := planned(t, Question{Question: q}, "timers")
			timers, err := window.NewTimers(window.TimersConfig{
				Window: window.Window{Packets: size}, Memory: c.Bits / 8, K: c.Parameters["K"], TimerBits: c.Parameters["counter bits"],
			})
			if err != nil {
				t.Fatal(err)
			}
			fpr, fnr, news, _ := sizingtest.PacketRates(timers, s.elements, size, size/126+1, 2*size, false)
			timers.Close()
			if fnr != 0 {
				t.Errorf("timers have FNR %g", fnr)
			}
			if news > 1000 {
				sizingtest.Near(t, "FPR of timers", c.FPR, fpr, 0.1, news, true)
			}
		}
	}
}

// TestDecaying compares counters that run down with the reference, which sliding windows
// of timers share the model with: no miss within the window, and the FPR.
func TestDecaying(t *testing.T) {
	const elements, length = 60_000, 4000
	s := sizingtest.NewStream(elements, 0.7, length, 13)
	distinct, gaps := load(s, length)
	c := planned(t, Question{Question: sizing.Question{Kind: Jumping, Elements: length, Distinct: distinct, Gaps: gaps, MemoryBits: 30_000, FPR: 0.05}, Parts: 6}, "bdbf")
	filter, err := paper.NewBDBF(paper.BDBFConfig{Bits: c.Bits, CellBits: c.Parameters["counter bits"], K: c.Parameters["K"], Window: length})
	if err != nil {
		t.Fatal(err)
	}
	fpr, fnr := s.Rates(filter.TestAndSet, length)
	if fnr != 0 || c.FNR != 0 {
		t.Errorf("FNR %g, planned %g", fnr, c.FNR)
	}
	// Between a window and a window and a block of elements are remembered.
	sizingtest.Near(t, "FPR", c.FPR, fpr, 0.02, distinct*(elements-length), true)
	if fpr < c.FPR/2 {
		t.Errorf("FPR %g, far below the %g planned", fpr, c.FPR)
	}
}

// turning are Bloom filters that replace each other. Bit j of a place belongs to filter
// j.
type turning struct {
	places   []uint64
	k, turns int
	part, at int
}

// TestAndSet implements paper.Filter.
func (f *turning) TestAndSet(d digest.Digest) bool {
	now := f.at / f.part % f.turns
	if f.at%f.part == 0 {
		for i := range f.places {
			f.places[i] &^= 1 << now
		}
	}
	f.at++
	all := ^uint64(0)
	for i := range f.k {
		place := &f.places[(d[0]+uint64(i)*d[1])%uint64(len(f.places))]
		all &= *place
		*place |= 1 << now
	}
	return all != 0
}

// Bits implements paper.Filter.
func (f *turning) Bits() int { return len(f.places) * f.turns }

func TestJumping(t *testing.T) {
	const elements, length, parts = 60_000, 4000, 5
	s := sizingtest.NewStream(elements, 0.7, length, 17)
	distinct, gaps := load(s, length)
	c := planned(t, Question{Question: sizing.Question{Kind: Jumping, Elements: length, Distinct: distinct, Gaps: gaps, MemoryBits: 30_000, FPR: 0.02}, Parts: parts}, "jumping")
	f := &turning{places: make([]uint64, c.Parameters["m of each"]), k: c.Parameters["K"], turns: c.Parameters["filters"], part: length / parts}
	fpr, fnr := s.Rates(f.TestAndSet, length)
	if fnr != 0 || c.FNR != 0 {
		t.Errorf("FNR %g, planned %g", fnr, c.FNR)
	}
	// One of the filters is being filled, so the rate is below the bound by at most a
	// part.
	sizingtest.Near(t, "FPR", c.FPR, fpr, 0.05, distinct*(elements-length), true)
	if fpr < c.FPR*(parts-1)/(parts+1) {
		t.Errorf("FPR %g, far below the %g planned", fpr, c.FPR)
	}
}
