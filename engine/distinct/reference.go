// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/bitset"
	"github.com/flowdedup/flowdedup/engine/internal/mem"
)

// IPv4Map remembers IPv4 addresses in a map, from 26 bits of an address to the addresses that
// begin with them. It is exact, and the reference for IPv4Rows: it shares no code with it, and
// permutes nothing.
type IPv4Map struct {
	addrs map[uint32]uint64 // by the upper bits, a bit for each value of the lower ones
	count uint64
}

// mapBits is the number of lower bits of an address, which number the bits of a value.
const mapBits = 6

var _ engine.Counter[uint32] = (*IPv4Map)(nil)

// NewIPv4Map returns an empty set.
func NewIPv4Map() *IPv4Map {
	return &IPv4Map{addrs: map[uint32]uint64{}}
}

// TestAndSet is as engine.Counter says.
func (s *IPv4Map) TestAndSet(seen []uint64, addrs []uint32) {
	bitset.Clear(seen, len(addrs))
	for i, addr := range addrs {
		group, bit := addr>>mapBits, uint64(1)<<(addr%(1<<mapBits))
		known := s.addrs[group]
		if known&bit != 0 {
			seen[i/64] |= 1 << (i % 64)
			continue
		}
		s.addrs[group] = known | bit
		s.count++
	}
}

// Counts is as engine.Counter says. The memory is an estimate of some 21 to 41 bytes for each 64
// addresses that begin alike. A million addresses take 0.6 bytes each if they follow each other,
// and 38 if they lie at random or one in each /24.
func (s *IPv4Map) Counts() engine.Counts {
	return exactCounts(s.count, mem.MapBytes(len(s.addrs), 16))
}

// Close is as engine.Counter says.
func (s *IPv4Map) Close() error {
	s.addrs = nil
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

// Counts is as engine.Counter says. The memory is an estimate. A value of no size takes the
// 8 bytes that align the next key.
func (s *DigestMap) Counts() engine.Counts {
	n := len(s.digests)
	return exactCounts(uint64(n), mem.MapBytes(n, 24))
}

// Close is as engine.Counter says.
func (s *DigestMap) Close() error {
	s.digests = nil
	return nil
}

func exactCounts(n uint64, memory int) engine.Counts {
	return engine.Counts{Distinct: n, Low: n, High: n, MemoryBytes: memory, Method: "exact"}
}
