package distinct

import (
	"math/bits"
	"slices"

	"github.com/flowdedup/flowdedup/capture/flow"
)

// settling says for each key which one settles it, itself or one that determines it, or -1
// for none. A packet is settled by a key that has come in the same step of the past before,
// if that step is part of one window. Then neither that key nor those that it determines are
// new, be it to the past or to the window.
//
// So most packets cost a look at one of their keys, and the others are not even made: all of
// them if one key is the flow.
type settling []int

// noneSettled is where no key settles any.
func noneSettled(keys []flow.KeyConfig) settling { return slices.Repeat(settling{-1}, len(keys)) }

// newSettling chooses for each key the one that settles most of all keys.
func newSettling(keys []flow.KeyConfig) settling {
	s, settles := noneSettled(keys), make([]int, len(keys))
	for by := range keys {
		for i := range keys {
			if perPacket(keys[by].Of) == 1 && keys[by].Determines(keys[i]) {
				settles[by]++
			}
		}
	}
	for i := range keys {
		for by := range keys {
			if settles[by] > 0 && keys[by].Determines(keys[i]) && (s[i] < 0 || settles[by] > settles[s[i]]) {
				s[i] = by
			}
		}
	}
	return s
}

// others says which keys one settles beside itself.
func (s settling) others(by int) (keys []int) {
	for i := range s {
		if s[i] == by && i != by {
			keys = append(keys, i)
		}
	}
	return keys
}

// early returns the keys that no other settles.
func (s settling) early() (keys []int) {
	for i, by := range s {
		if by == i || by < 0 {
			keys = append(keys, i)
		}
	}
	return keys
}

// settled tells which packets of a batch one key has settled.
type settled struct {
	bits    []uint64 // by packet
	rest    []uint32 // the other packets, ascending
	packets int
}

// reset begins a batch in which no packet is settled.
func (s *settled) reset(packets int) {
	words := (packets + 63) / 64
	s.bits = slices.Grow(s.bits[:0], words)[:words]
	clear(s.bits)
	s.packets = packets
}

// enter settles the packets of those elements whose bit in seen is set, given the packets
// of all elements.
func (s *settled) enter(seen []uint64, frames []uint32) {
	if len(frames) == s.packets { // element i is of packet i
		for w, word := range seen {
			s.bits[w] |= word
		}
		return
	}
	for w, word := range seen {
		for ; word != 0; word &= word - 1 {
			frame := frames[64*w+bits.TrailingZeros64(word)]
			s.bits[frame/64] |= 1 << (frame % 64)
		}
	}
}

// list makes rest, once all elements were entered. It is all packets unless valid.
func (s *settled) list(valid bool) {
	if !valid {
		clear(s.bits)
	}
	s.rest = s.rest[:0]
	for w, word := range s.bits {
		word = ^word
		if last := s.packets - 64*w; last < 64 {
			word &= 1<<last - 1
		}
		for ; word != 0; word &= word - 1 {
			s.rest = append(s.rest, uint32(64*w+bits.TrailingZeros64(word)))
		}
	}
}

// without appends the numbers of those of the elements from to end-1 whose packets are not
// settled, given the packets of all elements.
func (s *settled) without(elements []uint32, frames []uint32, from, end int) []uint32 {
	if len(frames) == s.packets {
		first, _ := slices.BinarySearch(s.rest, uint32(from))
		last, _ := slices.BinarySearch(s.rest, uint32(end))
		return append(elements, s.rest[first:last]...)
	}
	for i, frame := range frames[from:end] {
		if s.bits[frame/64]>>(frame%64)&1 == 0 {
			elements = append(elements, uint32(from+i))
		}
	}
	return elements
}
