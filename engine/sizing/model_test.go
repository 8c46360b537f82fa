// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"math"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/sizing/sizingtest"
	"github.com/flowdedup/flowdedup/engine/theory"
	"github.com/flowdedup/flowdedup/engine/window"
)

// load measures the stream from the given element on.
func load(s sizingtest.Stream, from int) (distinct float64, gaps Gaps) {
	var h histogram
	distinct, shares := s.Load(from)
	for i, share := range shares {
		h.add(float64(i+1), share)
	}
	return distinct, h.result()
}

// planned returns the candidate of a method, without its need if there is a memory: others take time.
func planned(t *testing.T, q Question, method string) Candidate {
	t.Helper()
	r, err := NewRequest(q)
	if err != nil {
		t.Fatal(err)
	}
	m := &methods[slices.IndexFunc(methods, func(m Method) bool { return m.Name == method })]
	if q.MemoryBits == 0 {
		return r.plan(m)
	}
	d, err := m.predictor(true)(r, q.MemoryBits)
	if err != nil {
		t.Fatal(err)
	}
	return Candidate{Method: m, Design: d}
}

// rates runs a candidate's filter, in some bytes, over elements from which a question about packets has
// its load, and returns what it says of itself and its rates: see sizingtest.PacketRates.
func rates(t *testing.T, c Candidate, q Question, bytes int, elements []digest.Digest, from int) (says engine.PacketStats, fpr, fnr, copies float64) {
	t.Helper()
	w := window.Window{Packets: int64(q.Elements)}
	if q.Kind == Unbounded {
		w = window.Window{None: true}
	}
	f, err := c.Method.filter(w, q.Refresh, c.Design, bytes)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fpr, fnr, _, copies = sizingtest.PacketRates(f, elements, int(q.Elements), 0, from, q.Refresh)
	return f.Stats(), fpr, fnr, copies
}

// TestDistinctAmong compares D with the mean number of distinct elements in runs of a
// stream.
func TestDistinctAmong(t *testing.T) {
	s := sizingtest.NewStream(200_000, 0.5, 1<<10, 5)
	distinct, gaps := load(s, 1<<12)
	for _, length := range []int{1, 2, 3, 10, 100, 1000, 10_000} {
		sum, stretches := 0.0, 0.0
		for at := 1 << 12; at+length < len(s.Gap); at += max(length, 97) {
			for i, g := range s.Gap[at : at+length] {
				if g == 0 || g > i {
					sum++
				}
			}
			stretches++
		}
		want := sum / stretches
		if got := distinctAmong(distinct, gaps, float64(length)); math.Abs(got/want-1) > 0.02 {
			t.Errorf("among %d elements: %.4g different, the stream has %.4g", length, got, want)
		}
	}
}

// TestCellAgainstStable compares the model of cells with the closed form of the stable
// Bloom filter for a stream of new elements.
func TestCellAgainstStable(t *testing.T) {
	l := newLoad(1, logGaps(1<<20))
	for _, filter := range []theory.Stable{
		{Cells: 10_000, K: 1, P: 5, Max: 1},
		{Cells: 10_000, K: 3, P: 12, Max: 3},
		{Cells: 1_000_000, K: 6, P: 150, Max: 15},
	} {
		at := RatesOf(l, Cell{
			Setting:  float64(filter.K) / float64(filter.Cells),
			Clearing: float64(filter.P) / float64(filter.Cells), Top: filter.Max,
		}, filter.K)
		fps, err := filter.FPS()
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(at.FPR/fps-1) > 0.005 {
			t.Errorf("%+v: FPR %.5g, closed form %.5g", filter, at.FPR, fps)
		}
		m := at.Misses()
		for i, b := range l.Between {
			if b != math.Floor(b) || b < 300 || b > 1e7 {
				continue // the closed form is for whole numbers, and has discrete steps
			}
			want, err := filter.FNR(int(b))
			if err != nil {
				t.Fatal(err)
			}
			if want > 1e-9 && math.Abs(m[i]/want-1) > 0.02 {
				t.Errorf("%+v: FNR at %g is %.5g, closed form %.5g", filter, b, m[i], want)
			}
		}
	}
}

// TestFixedPoint expects the golden ratio. On a stream of new elements the share x of set
// bits of a BSBF with two arrays solves x^2 + x = 1: an insertion sets 2(1-x)/(1-x^2)
// bits on average and clears 2x.
func TestFixedPoint(t *testing.T) {
	l := newLoad(1, logGaps(1<<10))
	const s = 1 << 20
	r := FixedPoint(l, 2, 1.0/s, 1.0/s, func(at Rates) float64 { return at.DistinctReports(l) / s })
	if want := (math.Sqrt(5) - 1) / 2; math.Abs(r.Set-want) > 1e-3 {
		t.Errorf("share of set bits is %.5f, want %.5f", r.Set, want)
	}
	full := FixedPoint(l, 1, 1.0/s, 1.0/s, func(at Rates) float64 { return at.DistinctReports(l) / (2 * s) })
	if full.FPR != 1 || full.Set != 1 {
		t.Errorf("a filter that sets more than it clears has FPR %v", full.FPR)
	}
}
