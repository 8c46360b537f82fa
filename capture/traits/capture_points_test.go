// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

func TestCapturePoints(t *testing.T) {
	b := &capture.Batch{Sections: make([]capture.Section, 1), Interfaces: []capture.Interface{
		{LinkType: capture.LinkEthernet, CapturePoint: 0},
		{LinkType: capture.LinkLinuxSLL2, CapturePoint: 1},
		{LinkType: capture.LinkLinuxSLL2, CapturePoint: 7},
	}}
	add := func(iface, index uint32, length int) {
		data := binary.BigEndian.AppendUint32(make([]byte, 4, 20), index)
		f := capture.Frame{Interface: iface, Data: uint32(len(b.Buf)), CapLen: uint32(length)}
		b.Frames = append(b.Frames, f)
		b.Buf = append(b.Buf, append(data, make([]byte, 12)...)[:length]...)
	}
	add(0, 0, 20)
	add(0, 9, 20) // Ethernet: no index
	add(1, 2, 20)
	add(1, 3, 20)
	add(2, 2, 20)
	add(1, 2, 20)
	add(2, 5, 7) // truncated before the index
	add(0, 0, 20)
	add(0, 0, 6) // truncated before the type
	add(1, 2, 8) // truncated behind the index
	add(0, 0, 20)
	b.Buf = append(b.Buf, make([]byte, 64)...)
	want := []uint32{0, 0, 1, 2, 3, 1, 4, 0, 0, 1, 0}
	p := NewCapturePoints(nil)
	for range 2 {
		got := make([]uint32, len(want))
		p.Number(got[:3], b, 0)
		p.Number(got[3:], b, 3)
		if !slices.Equal(got, want) {
			t.Errorf("points %v, want %v", got, want)
		}
	}
}

// TestCapturePointsResume checks that points keep their earlier numbers, in whatever
// order they come now.
func TestCapturePointsResume(t *testing.T) {
	batch := func(indices ...uint32) *capture.Batch {
		b := &capture.Batch{Interfaces: []capture.Interface{{LinkType: capture.LinkLinuxSLL2}}}
		for _, index := range indices {
			b.Frames = append(b.Frames, capture.Frame{Data: uint32(len(b.Buf)), CapLen: 20})
			b.Buf = append(binary.BigEndian.AppendUint32(append(b.Buf, 0, 0, 0, 0), index), make([]byte, 12)...)
		}
		return b
	}
	numbers := func(p *CapturePoints, indices ...uint32) []uint32 {
		dst := make([]uint32, len(indices))
		p.Number(dst, batch(indices...), 0)
		return dst
	}
	before := NewCapturePoints(nil)
	numbers(before, 7, 5, 9)
	list := before.List()
	numbers(before, 8)
	if want := []CapturePoint{{}, {Index: 7}, {Index: 5}, {Index: 9}}; !slices.Equal(list, want) {
		t.Fatalf("%v, want %v", list, want)
	}
	for _, c := range []struct {
		list []CapturePoint
		want []uint32 // of 5, 6, 7 and 9
	}{
		{list, []uint32{2, 4, 1, 3}},
		{[]CapturePoint{{}, {Index: 7}, {}, {Index: 9}}, []uint32{4, 5, 1, 3}},
		{[]CapturePoint{{}, {Index: 7}, {Index: 5}, {Index: 7}}, []uint32{2, 4, 3, 5}},
		{make([]CapturePoint, 2*MaxCapturePoints), []uint32{MaxCapturePoints, MaxCapturePoints, MaxCapturePoints, MaxCapturePoints}},
	} {
		if got := numbers(NewCapturePoints(c.list), 5, 6, 7, 9); !slices.Equal(got, c.want) {
			t.Errorf("%v after %v, want %v", got, c.list[:min(len(c.list), 4)], c.want)
		}
	}
}

// TestCapturePointsBounded names a new interface in each frame.
func TestCapturePointsBounded(t *testing.T) {
	p := NewCapturePoints(nil)
	b := &capture.Batch{
		Buf:        make([]byte, 20),
		Frames:     []capture.Frame{{CapLen: 20}},
		Interfaces: []capture.Interface{{LinkType: capture.LinkLinuxSLL2}},
	}
	var dst [1]uint32
	for i := range uint32(2 * MaxCapturePoints) {
		binary.BigEndian.PutUint32(b.Buf[4:], i)
		p.Number(dst[:], b, 0)
	}
	if len(p.numbers) > MaxCapturePoints || dst[0] != MaxCapturePoints {
		t.Errorf("%d points kept, the last is number %d", len(p.numbers), dst[0])
	}
	if p.Shared() != MaxCapturePoints {
		t.Errorf("%d frames of points without a number, want %d", p.Shared(), MaxCapturePoints)
	}
}

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
	names := NewNames(nil, nil)
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
