package engine

import (
	"github.com/RoaringBitmap/roaring/v2"
	"github.com/flowdedup/flowdedup/asm/digest"
)

// SetV4 remembers IPv4 addresses in a Roaring bitmap (Lemire and others, Software:
// Practice and Experience, 2018): exact, and the smallest where addresses lie in
// dense networks. Addresses are not permuted, so an address that opens a new
// network of 2^16 costs a search and a copy in a sorted list of networks.
type SetV4 struct {
	bitmap *roaring.Bitmap
	count  uint64
}

var _ Counter[uint32] = (*SetV4)(nil)

// NewSetV4 returns an empty set.
func NewSetV4() *SetV4 {
	return &SetV4{bitmap: roaring.New()}
}

// TestAndSet is as Counter says.
func (s *SetV4) TestAndSet(seen []uint64, addrs []uint32) {
	clearBits(seen, len(addrs))
	for i, addr := range addrs {
		if s.bitmap.CheckedAdd(addr) {
			s.count++
		} else {
			seen[i/64] |= 1 << (i % 64)
		}
	}
}

// Counts is as Counter says. The memory is that of the bitmap's containers.
func (s *SetV4) Counts() Counts {
	return exactCounts(s.count, int(s.bitmap.GetSizeInBytes()))
}

// Close is as Counter says.
func (s *SetV4) Close() error {
	s.bitmap = nil
	return nil
}

// Set remembers digests in a map: exact up to collisions of 128 bits, and the
// measure for Landmark.
type Set struct {
	digests map[digest.Digest]struct{}
}

var _ Counter[digest.Digest] = (*Set)(nil)

// NewSet returns an empty set.
func NewSet() *Set {
	return &Set{digests: map[digest.Digest]struct{}{}}
}

// TestAndSet is as Counter says.
func (s *Set) TestAndSet(seen []uint64, digests []digest.Digest) {
	clearBits(seen, len(digests))
	before := len(s.digests)
	for i, d := range digests {
		s.digests[d] = struct{}{}
		if len(s.digests) == before {
			seen[i/64] |= 1 << (i % 64)
		}
		before = len(s.digests)
	}
}

// Counts is as Counter says. The memory is an estimate.
func (s *Set) Counts() Counts {
	n := len(s.digests)
	return exactCounts(uint64(n), mapBytes(n, 16))
}

// Close is as Counter says.
func (s *Set) Close() error {
	s.digests = nil
	return nil
}

func exactCounts(n uint64, memory int) Counts {
	return Counts{Distinct: n, Low: n, High: n, MemoryBytes: memory, Method: "exact"}
}
