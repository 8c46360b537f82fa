// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"cmp"
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

// TimerConfig says which Bloom filter of timers to build.
type TimerConfig struct {
	Timers int // m, from 1 to 2^32
	K      int // hash functions, from 1 to 1024
	Window int // w in time units, from 1 to half of the largest int
	Equal  int // k', timers that have to be equal, from 0 to K; 0 and 1 require nothing
}

// validate checks all fields, with a window of at least the given number of units.
func (c TimerConfig) validate(least int) error {
	return cmp.Or(
		requireRange("window", c.Window, least, math.MaxInt/2),
		requireRange("timers", c.Timers, 1, maxTimers),
		requireRange("K", c.K, 1, maxHashes),
		requireRange("equal timers", c.Equal, 0, c.K),
	)
}

// TimerBloom is the sliding Bloom filter of KNPS, section 4: m timers, shared by k hash
// functions, in place of a Bloom filter's bits. An event is a duplicate if none of its k
// timers is zero and, with the equal timers heuristic, at least k' of them are equal,
// since one event most probably set these. A distinct event sets its timers to w. In each
// time unit every timer above zero loses one.
//
// Without the heuristic every event that was reported distinct in the latest w units, the
// present unit included, is found again. The heuristic misses an event when others have
// set too many of its timers since.
//
// It is also the vertical sliding filter: its slices are ranges of the timers. One clock
// drives all of them, so they act as one filter. [TimerSlices] is the horizontal filter.
//
// Interpretation:
//
//   - Timers of duplicates are not set ("only if an event is distinct"), so an event that
//     keeps coming is reported distinct once in w units. This is Definition 4, whose
//     window counts from deliveries.
//   - An event of t units ago sets its timers to w - t, as printed for slices that
//     receive it late. It never lowers a timer, which would forget another event before
//     its time. If t is w or more, it sets none.
//   - "At least k' equal" is about the largest group of equal timers. If several hash
//     functions agree on a timer, it counts as often. This package makes them from two
//     values by double hashing, so two events share all k timers with probability m^-2.
//     From about k' = 3 on this causes all remaining false positives.
//   - Timers have ceil(log2(w+1)) bits; the printed ceil(log2(w)) has no code for zero if
//     w is a power of two.
//
// A timer is stored as the unit in which it reaches zero, so the passing of time costs
// nothing. The observable behavior is the same.
type TimerBloom struct {
	zeroAt  []uint64
	window  uint64
	now     uint64
	running int            // timers that are not zero
	due     map[uint64]int // how many of them reach zero in a unit; at most len(zeroAt) entries
	pos     []uint64
	equal   int
}

var _ TimedFilter = (*TimerBloom)(nil)

// NewTimerBloom returns a filter whose timers are all zero. It allocates eight bytes
// for each timer. Errors wrap [ErrParameter].
func NewTimerBloom(c TimerConfig) (*TimerBloom, error) {
	if err := c.validate(1); err != nil {
		return nil, err
	}
	return newTimerBloom(c), nil
}

// newTimerBloom is [NewTimerBloom] for a valid configuration.
func newTimerBloom(c TimerConfig) *TimerBloom {
	return &TimerBloom{
		zeroAt: make([]uint64, c.Timers), window: uint64(c.Window), due: make(map[uint64]int),
		pos: make([]uint64, c.K), equal: c.Equal,
	}
}

// TestAndSetAt implements [TimedFilter]. It takes O(k log k) and O(1) for each unit
// that passes.
func (b *TimerBloom) TestAndSetAt(d digest.Digest, unit uint64) (seen bool) {
	b.advance(unit)
	if b.test(d) {
		return true
	}
	b.set(d, unit)
	return false
}

// EqualTimers returns the size of the largest group of equal timers among the element's
// k, or 0 if a timer is zero. It makes unit the present, unless that is past, and inserts
// nothing.
func (b *TimerBloom) EqualTimers(d digest.Digest, unit uint64) int {
	b.advance(unit)
	return b.largestGroup(d)
}

// Bits implements [TimedFilter].
func (b *TimerBloom) Bits() int { return len(b.zeroAt) * bits.Len64(b.window) }

func (b *TimerBloom) test(d digest.Digest) (seen bool) { return b.largestGroup(d) >= max(1, b.equal) }

// locate finds the timers of an element. Their functions are independent of each other: slices
// may have some hundred timers only, where double hashing gives many elements the same timers.
func (b *TimerBloom) locate(d digest.Digest) { layout.Positions(b.pos, d, uint64(len(b.zeroAt))) }

// set sets the timers of an element of the given unit: to the window minus the units that
// have passed since. Timers that would reach zero later anyway stay.
func (b *TimerBloom) set(d digest.Digest, unit uint64) {
	b.locate(d)
	zeroAt := min(unit, b.now) + b.window
	if zeroAt <= b.now {
		return
	}
	for _, i := range b.pos {
		if old := b.zeroAt[i]; zeroAt > old {
			if old <= b.now {
				b.running++
			} else if b.due[old]--; b.due[old] == 0 {
				delete(b.due, old)
			}
			b.zeroAt[i] = zeroAt
			b.due[zeroAt]++
		}
	}
}

// since returns the latest unit in which the element may have been inserted. The filter
// must hold it.
func (b *TimerBloom) since(d digest.Digest) uint64 {
	b.locate(d)
	first := uint64(math.MaxUint64)
	for _, i := range b.pos {
		first = min(first, b.zeroAt[i])
	}
	return first - b.window
}

func (b *TimerBloom) occupied() int { return b.running }

// maxTimers bounds an array of timers. Each takes eight bytes, although the method
// accounts for fewer bits.
const maxTimers = maxBits / 64

// advance makes unit the present, unless that is past. The last unit is 2^64-1 minus the
// window; later units count as the last unit.
func (b *TimerBloom) advance(unit uint64) {
	unit = min(unit, math.MaxUint64-b.window)
	if unit <= b.now {
		return
	}
	if unit-b.now <= uint64(len(b.due)) {
		for b.now < unit {
			b.now++
			b.expire(b.now)
		}
		return
	}
	b.now = unit
	for zeroAt := range b.due {
		if zeroAt <= unit {
			b.expire(zeroAt)
		}
	}
}

func (b *TimerBloom) expire(unit uint64) {
	b.running -= b.due[unit]
	delete(b.due, unit)
}

// largestGroup is [TimerBloom.EqualTimers] in the present.
func (b *TimerBloom) largestGroup(d digest.Digest) (largest int) {
	b.locate(d)
	for j, i := range b.pos {
		b.pos[j] = b.zeroAt[i]
	}
	return layout.EqualGroup(b.pos, b.now)
}

// TimerSlices is the horizontal slicing of KNPS, Definition 1, of its filters with a
// window (section 4): an additional hash function H_S chooses the slice that tests and
// takes an event.
//
// Interpretation: sites share no clock but the units of the events. So the present of a
// slice is the latest unit that it has received, and an earlier event is late. If units
// never go back, this equals one clock for all slices.
type TimerSlices struct {
	slices []*TimerBloom
}

var _ TimedFilter = (*TimerSlices)(nil)

// NewTimerSlices returns c.Timers timers in the given number of slices, each of
// c.Timers / slices, rounded down. Errors wrap [ErrParameter].
func NewTimerSlices(c TimerConfig, slices int) (*TimerSlices, error) {
	if err := cmp.Or(c.validate(1), requireRange("slices", slices, 1, c.Timers)); err != nil {
		return nil, err
	}
	c.Timers /= slices
	s := &TimerSlices{slices: make([]*TimerBloom, slices)}
	for i := range s.slices {
		s.slices[i] = newTimerBloom(c)
	}
	return s, nil
}

// Slice returns the slice that the element belongs to, as [TimerSlices.Of] numbers them.
func (s *TimerSlices) Slice(d digest.Digest) *TimerBloom { return s.slices[s.Of(d)] }

// Of returns the number of the slice that the element belongs to. H_S takes the digest's
// first word, its low half before its high half. Hash functions of the slice mix both words,
// so that they are independent of it.
func (s *TimerSlices) Of(d digest.Digest) int {
	return int(scale(d[0]<<32|d[0]>>32, uint64(len(s.slices))))
}

// TestAndSetAt implements [TimedFilter].
func (s *TimerSlices) TestAndSetAt(d digest.Digest, unit uint64) (seen bool) {
	return s.Slice(d).TestAndSetAt(d, unit)
}

// Bits implements [TimedFilter]: of all slices.
func (s *TimerSlices) Bits() int { return len(s.slices) * s.slices[0].Bits() }
