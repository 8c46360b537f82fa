package multikey

import (
	"slices"
	"testing"
)

// TestImpliedBy chooses for each key the one that implies most, and none that has several
// elements a packet.
func TestImpliedBy(t *testing.T) {
	for _, c := range []struct {
		name    string
		implies [][]int // the keys that each one implies, itself among them
		double  []int   // keys of two elements a packet
		want    impliedBy
		direct  []int
	}{
		{"one implies all", [][]int{{0}, {1}, {0, 1, 2}}, nil, impliedBy{2, 2, 2}, []int{2}},
		{"each implies itself", [][]int{{0}, {1}}, nil, impliedBy{0, 1}, []int{0, 1}},
		{"two elements", [][]int{{0}, {1}}, []int{0, 1}, impliedBy{-1, -1}, []int{0, 1}},
		{"some imply some", [][]int{{0}, {0, 1}, {2}}, []int{0}, impliedBy{1, 1, 2}, []int{1, 2}},
		{"the one of most", [][]int{{0}, {0, 1, 2}, {0, 2}}, nil, impliedBy{1, 1, 1}, []int{1}},
	} {
		cfg := &Config{
			Keys:    make([]Key, len(c.implies)),
			Implies: func(i, j int) bool { return slices.Contains(c.implies[i], j) },
		}
		for i := range cfg.Keys {
			cfg.Keys[i].PerPacket = 1
			if slices.Contains(c.double, i) {
				cfg.Keys[i].PerPacket = 2
			}
		}
		if got := newImpliedBy(cfg); !slices.Equal(got, c.want) || !slices.Equal(got.direct(), c.direct) {
			t.Errorf("%s: %v, direct %v, want %v, direct %v", c.name, got, got.direct(), c.want, c.direct)
		}
	}
}

// TestImplied leaves out the elements of implied packets, whether each packet has one element
// or not, and none of a batch for which that does not hold.
func TestImplied(t *testing.T) {
	for _, c := range []struct {
		packets []uint32 // of the elements
		seen    uint64
		valid   bool
		rest    []uint32 // packets
		want    []uint32 // elements from 1 on
	}{
		{[]uint32{0, 1, 2, 3}, 0b0110, true, []uint32{0, 3}, []uint32{3}},
		{[]uint32{0, 1, 2, 3}, 0b0110, false, []uint32{0, 1, 2, 3}, []uint32{1, 2, 3}},
		{[]uint32{1, 3}, 0b01, true, []uint32{0, 2, 3}, []uint32{1}},
		{[]uint32{1, 3}, 0b10, true, []uint32{0, 1, 2}, nil},
	} {
		var s implied
		s.reset(4)
		s.add([]uint64{c.seen}, c.packets)
		s.finish(c.valid)
		if got := s.without(nil, c.packets, 1, len(c.packets)); !slices.Equal(s.notImplied, c.rest) || !slices.Equal(got, c.want) {
			t.Errorf("%+v: rest %v, elements %v", c, s.notImplied, got)
		}
	}
}
