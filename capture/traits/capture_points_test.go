// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"encoding/binary"
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
	b.Buf = append(b.Buf, make([]byte, 64)...)
	want := []uint32{0, 0, 1, 2, 3, 1, 4, 0}
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

// TestCapturePointsBounded names another interface in each frame.
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
