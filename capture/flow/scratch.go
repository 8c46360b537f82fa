package flow

import "math"

// Buffers up to scratchKeep bytes are kept for good. A larger one, which only
// batches with very large frames need, is given back after scratchKeepCalls
// calls that did not need it.
const (
	scratchKeep      = 4 << 20
	scratchKeepCalls = 64
)

// scratch is a buffer that grows to what is needed and shrinks again. Go's
// allocator aligns blocks as large as these to pages.
type scratch struct {
	buf   []byte
	small int // calls in a row that would have done with scratchKeep bytes
}

// get returns size bytes of arbitrary content.
func (s *scratch) get(size uint64) []byte {
	if size > math.MaxUint32 {
		panic("flow: Gather: more than 4 GiB of identities")
	}
	s.small++
	if size > scratchKeep {
		s.small = 0
	}
	need := uint64(cap(s.buf)) < size
	if need || cap(s.buf) > scratchKeep && s.small > scratchKeepCalls {
		const least = 64 << 10
		capacity := max(least, size)
		if capacity < scratchKeep { // leave room, so that growth is rare
			capacity = min(2*capacity, scratchKeep)
		}
		s.buf = nil // so that the collector may have it before the new one is made
		s.buf = make([]byte, capacity)
	}
	return s.buf[:size]
}
