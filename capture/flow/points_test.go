package flow

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

func TestPoints(t *testing.T) {
	b := &capture.Batch{Interfaces: []capture.Interface{
		{LinkType: capture.LinkEthernet, Point: 0},
		{LinkType: capture.LinkLinuxSLL2, Point: 1},
		{LinkType: capture.LinkLinuxSLL2, Point: 7},
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
	add(2, 5, 7) // cut before the index
	add(0, 0, 20)
	b.Buf = append(b.Buf, make([]byte, 64)...)
	want := []uint32{0, 0, 1, 2, 3, 1, 4, 0}
	p := NewPoints()
	for range 2 {
		got := make([]uint32, len(want))
		p.Gather(got[:3], b, 0)
		p.Gather(got[3:], b, 3)
		if !slices.Equal(got, want) {
			t.Errorf("points %v, want %v", got, want)
		}
	}
}

// TestPointsBounded names an interface of its own in each frame.
func TestPointsBounded(t *testing.T) {
	p := NewPoints()
	b := &capture.Batch{
		Buf:        make([]byte, 20),
		Frames:     []capture.Frame{{CapLen: 20}},
		Interfaces: []capture.Interface{{LinkType: capture.LinkLinuxSLL2}},
	}
	var dst [1]uint32
	for i := range uint32(2 * maxPoints) {
		binary.BigEndian.PutUint32(b.Buf[4:], i)
		p.Gather(dst[:], b, 0)
	}
	if len(p.numbers) > maxPoints || dst[0] != maxPoints {
		t.Errorf("%d places kept, the last is number %d", len(p.numbers), dst[0])
	}
}
