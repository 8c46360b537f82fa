package paper

import (
	"fmt"
	"github.com/flowdedup/flowdedup/asm/digest"
)

// TimerSlices is the horizontal slicing of paper "One is Enough: Distributed Filtering
// for Duplicate Elimination" (Koloniari, Ntarmos, Pitoura, Souravlias, CIKM 2011),
// Definition 1, of its filters with a window (section 4) or of dynamic size
// (section 5): an additional hash function H_S chooses the one slice that an event is
// tested against and inserted in.
//
// Reading taken: sites share no clock but the units of the events. So the present of
// a slice is the latest unit that it was given, and an event is late if that one is
// later. Where units never go back, all slices might as well have one clock.
type TimerSlices[F TimedFilter] struct {
	slices []F
}

var (
	_ TimedFilter = (*TimerSlices[*TimerBloom])(nil)
	_ TimedFilter = (*TimerSlices[*Dynamic])(nil)
)

// NewTimerSlices returns c.Timers timers in the given number of slices, each of
// c.Timers / slices, rounded down. Errors wrap [ErrParameter].
func NewTimerSlices(c TimerConfig, slices int) (*TimerSlices[*TimerBloom], error) {
	if err := requireSlices(c, slices); err != nil {
		return nil, err
	}
	c.Timers /= slices
	return newTimerSlices(slices, func() (*TimerBloom, error) { return NewTimerBloom(c) })
}

// NewDynamicSlices returns slices that grow and shrink each for itself. A filter of a
// slice has c.Filter.Timers / slices positions, rounded down, and a slice at most
// c.MaxFilters filters. Errors wrap [ErrParameter].
func NewDynamicSlices(c DynamicConfig, slices int) (*TimerSlices[*Dynamic], error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	if err := requireSlices(c.Filter, slices); err != nil {
		return nil, err
	}
	c.Filter.Timers /= slices
	return newTimerSlices(slices, func() (*Dynamic, error) { return NewDynamic(c) })
}

func requireSlices(c TimerConfig, slices int) error {
	if err := requireRange("timers", c.Timers, 1, maxTimers); err != nil {
		return err
	}
	return requireRange("slices", slices, 1, c.Timers)
}

func newTimerSlices[F TimedFilter](slices int, build func() (F, error)) (*TimerSlices[F], error) {
	s := &TimerSlices[F]{slices: make([]F, slices)}
	for i := range s.slices {
		filter, err := build()
		if err != nil {
			return nil, fmt.Errorf("slice %d of %d: %w", i+1, slices, err)
		}
		s.slices[i] = filter
	}
	return s, nil
}

// Slice returns the slice that the element belongs to. H_S takes the low half of
// the digest's first word before its high half, of which hash functions of the
// slice are made, so that the two are independent.
func (s *TimerSlices[F]) Slice(d digest.Digest) F {
	return s.slices[scale(d[0]<<32|d[0]>>32, uint64(len(s.slices)))]
}

// Slices returns all slices. The caller must not change the array.
func (s *TimerSlices[F]) Slices() []F { return s.slices }

// TestAndSetAt implements [TimedFilter].
func (s *TimerSlices[F]) TestAndSetAt(d digest.Digest, unit uint64) (seen bool) {
	return s.Slice(d).TestAndSetAt(d, unit)
}

// Bits implements [TimedFilter]: of all slices.
func (s *TimerSlices[F]) Bits() int {
	bits := 0
	for _, slice := range s.slices {
		bits += slice.Bits()
	}
	return bits
}
