package distinct

import (
	"slices"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/capture/flow"
)

// series are elements of one family in the order of their packets: what a counter
// gets, and what it was made of if sightings are told.
type series[E, K any] struct {
	items  []E
	frames []uint32 // the packet of each, counted from the batch's first
	keys   []K
	at     int // the first one that next has not returned
	picked []E
}

func (s *series[E, K]) reset() {
	s.items, s.frames, s.keys, s.at = s.items[:0], s.frames[:0], s.keys[:0], 0
}

// add makes room for elements of the given packets, which are counted from the one
// at base, and returns it.
func (s *series[E, K]) add(frames []uint32, base int) []E {
	n := len(s.items)
	s.items = slices.Grow(s.items, len(frames))[:n+len(frames)]
	s.frames = slices.Grow(s.frames, len(frames))[:n+len(frames)]
	numbers := s.frames[n:][:len(frames)]
	for i, f := range frames {
		numbers[i] = uint32(base) + f
	}
	return s.items[n:]
}

// next returns the range of elements of packets before to that it did not return
// before.
func (s *series[E, K]) next(to uint32) (from, end int) {
	from, end = s.at, len(s.frames)
	if end > from && s.frames[end-1] >= to {
		n, _ := slices.BinarySearch(s.frames[from:], to)
		end = from + n
	}
	s.at = end
	return from, end
}

// pick returns elements by their numbers, until it is called again.
func (s *series[E, K]) pick(elements []uint32) []E {
	s.picked = slices.Grow(s.picked[:0], len(elements))[:len(elements)]
	for i, element := range elements {
		s.picked[i] = s.items[element]
	}
	return s.picked
}

// elements are those of one key in a batch.
type elements struct {
	addr4 series[uint32, uint32] // bare IPv4 addresses
	v4    series[asm.Digest, [16]byte]
	v6    series[asm.Digest, [48]byte]
	mac   series[asm.Digest, [16]byte]
}

func (e *elements) reset() {
	e.addr4.reset()
	e.v4.reset()
	e.v6.reset()
	e.mac.reset()
}

// add enters keys of packets that are counted from the one at base.
func (e *elements) add(keys *flow.Keys, base int, d *digesters, told bool) {
	if len(keys.Addr4) > 0 {
		copy(e.addr4.add(keys.V4Frame, base), keys.Addr4)
		if told {
			e.addr4.keys = append(e.addr4.keys, keys.Addr4...)
		}
	}
	addDigests(&e.v4, keys.V4, keys.V4Frame, base, d.v4.Sum16, told)
	addDigests(&e.v6, keys.V6, keys.V6Frame, base, d.v6.Sum48, told)
	addDigests(&e.mac, keys.MAC, keys.MACFrame, base, d.mac.Sum16, told)
}

func addDigests[K any](s *series[asm.Digest, K], keys []K, frames []uint32, base int, sum func([]asm.Digest, []K), told bool) {
	if len(keys) == 0 {
		return
	}
	sum(s.add(frames, base), keys)
	if told {
		s.keys = append(s.keys, keys...)
	}
}

// renumber replaces the packets of the elements by those that are listed.
func (e *elements) renumber(packets []uint32) {
	for _, frames := range [][]uint32{e.addr4.frames, e.v4.frames, e.v6.frames, e.mac.frames} {
		for i, frame := range frames {
			frames[i] = packets[frame]
		}
	}
}

// skip passes over the elements of packets before to.
func (e *elements) skip(to uint32) {
	e.addr4.next(to)
	e.v4.next(to)
	e.v6.next(to)
	e.mac.next(to)
}
