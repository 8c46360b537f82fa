package dedup

import (
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// TestByInput counts packets and copies by the input of their interface.
func TestByInput(t *testing.T) {
	c := newByInput([]string{"a", "b", "c"})
	b := &capture.Batch{
		Sections:   []capture.Section{{Input: 0}, {Input: 2}, {Input: 0}},
		Interfaces: []capture.Interface{{Section: 0}, {Section: 1}, {Section: 2}, {Section: 1}},
	}
	want := byInput{{Input: "a"}, {Input: "b"}, {Input: "c"}}
	drop := make([]uint64, 3)
	for i := range 150 {
		at := uint32(i*i/7) % 4
		b.Frames = append(b.Frames, capture.Frame{Interface: at})
		n := &want[[]int{0, 2, 0, 2}[at]]
		n.Packets++
		if i%3 == 0 {
			drop[i/64] |= 1 << (i % 64)
			n.Duplicates++
		}
	}
	c.add(b, drop)
	c.add(&capture.Batch{}, nil)
	if !slices.Equal(c, want) {
		t.Errorf("%v, want %v", c, want)
	}
	one := newByInput([]string{"a"})
	one.add(b, drop)
	if one != nil {
		t.Errorf("counts of one input: %v", one)
	}
}
