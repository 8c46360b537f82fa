// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// TestBins checks that each delay lies in its bin, up to the error of the histogram, and
// that bins follow each other.
func TestBins(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		h := NewHistogram(longest)
		low, high := uint64(longest), uint64(0)
		total := uint64(0)
		for range 1 + random.IntN(100) {
			delay := random.Uint64N(1 << random.IntN(34))
			weight := 1 + random.Uint64N(16)
			h.Add(delay, weight)
			delay = min(delay, uint64(longest))
			low, high, total = min(low, delay), max(high, delay), total+weight
		}
		bins, sum := h.Bins(), uint64(0)
		for i, b := range bins {
			sum += b.Count
			if b.From >= b.To || i > 0 && b.From != bins[i-1].To {
				t.Fatalf("bin %+v follows %+v", b, bins[max(i-1, 0)])
			}
		}
		if first, last := bins[0], bins[len(bins)-1]; sum != total || h.Count() != total ||
			float64(first.From) > float64(low) || float64(first.To) < float64(low)*(1-RelativeError) ||
			float64(last.To) < float64(high)*(1-RelativeError) || float64(last.From) > float64(high)*(1+RelativeError) {
			t.Errorf("%d delays from %d to %d: %d in bins from %+v to %+v", total, low, high, sum, first, last)
		}
	}
	if bins := NewHistogram(0).Bins(); len(bins) != 0 {
		t.Errorf("without delays: %v", bins)
	}
}

// TestMatrix counts pairs of points, up to a bound.
func TestMatrix(t *testing.T) {
	names := NewNames(nil)
	b := &capture.Batch{Sections: make([]capture.Section, 1), Buf: make([]byte, 60)}
	for i := range 2 * mostCells {
		b.Interfaces = append(b.Interfaces, capture.Interface{LinkType: capture.LinkEthernet, Name: string(rune('a' + i%26))})
		b.Frames = append(b.Frames, capture.Frame{CapLen: 60, WireLen: 60, Interface: uint32(i)})
	}
	var m matrix
	for i := range b.Frames {
		n := names.Number(uint64(i), b, i)
		if n != uint32(i+1) || names.Number(uint64(i), b, i) != n || names.Name(n) != string(rune('a'+i%26)) {
			t.Fatalf("point %d has number %d and name %s", i, n, names.Name(n))
		}
		for range 2 {
			m.add(1, n, 100)
		}
	}
	m.add(1, 3, 7)
	cells := m.list(names)
	// The names of points repeat after 26.
	if len(cells) != 26 || cells[0].Count != 7 || cells[0].First != "a" || cells[0].Copy != "c" || cells[0].Delay.P50 != 100 || cells[25].Count != 4 {
		t.Errorf("%d cells, the first %+v", len(cells), cells[0])
	}
}
