// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"github.com/RoaringBitmap/roaring/v2"
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/bitset"
	"github.com/flowdedup/flowdedup/engine/internal/mem"
)

// RoaringIPv4 remembers IPv4 addresses in a Roaring bitmap (Lemire and others, Software:
// Practice and Experience, 2018). It is exact, and the smallest where addresses lie in
// dense networks. The first address of a network of 2^16 costs a search and a copy in a
// sorted list of networks, as addresses are not permuted.
type RoaringIPv4 struct {
	bitmap *roaring.Bitmap
	count  uint64
}

var _ engine.Counter[uint32] = (*RoaringIPv4)(nil)

// NewRoaringIPv4 returns an empty set.
func NewRoaringIPv4() *RoaringIPv4 {
	return &RoaringIPv4{bitmap: roaring.New()}
}

// TestAndSet is as engine.Counter says.
func (s *RoaringIPv4) TestAndSet(seen []uint64, addrs []uint32) {
	bitset.Clear(seen, len(addrs))
	for i, addr := range addrs {
		if s.bitmap.CheckedAdd(addr) {
			s.count++
		} else {
			seen[i/64] |= 1 << (i % 64)
		}
	}
}

// Counts is as engine.Counter says. The memory is the size of the bitmap's containers.
func (s *RoaringIPv4) Counts() engine.Counts {
	return exactCounts(s.count, int(s.bitmap.GetSizeInBytes()))
}

// Close is as engine.Counter says.
func (s *RoaringIPv4) Close() error {
	s.bitmap = nil
	return nil
}

// DigestMap remembers digests in a map. It is exact up to collisions of 128 bits, and the
// reference for DigestRows and ScalableBloom.
type DigestMap struct {
	digests map[digest.Digest]struct{}
}

var _ engine.Counter[digest.Digest] = (*DigestMap)(nil)

// NewDigestMap returns an empty set.
func NewDigestMap() *DigestMap {
	return &DigestMap{digests: map[digest.Digest]struct{}{}}
}

// TestAndSet is as engine.Counter says.
func (s *DigestMap) TestAndSet(seen []uint64, digests []digest.Digest) {
	bitset.Clear(seen, len(digests))
	before := len(s.digests)
	for i, d := range digests {
		s.digests[d] = struct{}{}
		if len(s.digests) == before {
			seen[i/64] |= 1 << (i % 64)
		}
		before = len(s.digests)
	}
}

// Counts is as engine.Counter says. The memory is an estimate.
func (s *DigestMap) Counts() engine.Counts {
	n := len(s.digests)
	return exactCounts(uint64(n), mem.MapBytes(n, 16))
}

// Close is as engine.Counter says.
func (s *DigestMap) Close() error {
	s.digests = nil
	return nil
}

func exactCounts(n uint64, memory int) engine.Counts {
	return engine.Counts{Distinct: n, Low: n, High: n, MemoryBytes: memory, Method: "exact"}
}
