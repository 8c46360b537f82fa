package engine

import (
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// SlidingSet counts the distinct elements of the last W in a map of last sightings: exact up
// to collisions of 128 bits at every instant, and the measure for Sliding. It believes all
// times. It is not safe for concurrent use.
type SlidingSet struct {
	window int64
	last   map[digest.Digest]int64
}

// NewSlidingSet returns an empty set for a window.
func NewSlidingSet(window time.Duration) *SlidingSet {
	return &SlidingSet{int64(window), map[digest.Digest]int64{}}
}

// TestAndSet is as that of Sliding. Elements without a time are not seen and not remembered.
func (s *SlidingSet) TestAndSet(seen []uint64, d []digest.Digest, times []int64) {
	if seen != nil {
		clearBits(seen, len(d))
	}
	for i, t := range times[:len(d)] {
		if t == calendar.NoTime {
			continue
		}
		last, known := s.last[d[i]]
		if known && seen != nil && uint64(max(t, last))-uint64(min(t, last)) <= uint64(s.window) {
			seen[i/64] |= 1 << (i % 64)
		}
		if !known || t > last {
			s.last[d[i]] = t
		}
	}
}

// Count returns the number of elements whose last sighting is within (now-W, now], and
// forgets those before: now is not to go back. It takes a look at each element that is
// remembered.
func (s *SlidingSet) Count(now int64) Counts {
	n := uint64(0)
	for d, t := range s.last {
		switch {
		case t > now:
		case uint64(now)-uint64(t) < uint64(s.window):
			n++
		default:
			delete(s.last, d)
		}
	}
	return Counts{Distinct: n, Low: n, High: n, MemoryBytes: mapBytes(len(s.last), 24), Method: "exact"}
}

// Advance does nothing: see Count.
func (s *SlidingSet) Advance(int64) {}

// Reset forgets all elements.
func (s *SlidingSet) Reset() { clear(s.last) }

// Close gives the memory back.
func (s *SlidingSet) Close() error {
	s.last = nil
	return nil
}
