// SPDX-License-Identifier: Apache-2.0

package sliding

import (
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/permute"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/internal/bitset"
	"github.com/flowdedup/flowdedup/engine/internal/mem"
	"github.com/flowdedup/flowdedup/engine/internal/rowtable"
)

// Map counts the distinct elements of the last W in a map of last sightings. It is exact
// at every instant up to collisions of 128 bits, and the reference for Rows. It believes
// all times. It is not safe for concurrent use.
type Map struct {
	window int64
	last   map[digest.Digest]int64
}

// NewMap returns an empty set for a window.
func NewMap(window time.Duration) *Map {
	return &Map{int64(window), map[digest.Digest]int64{}}
}

// TestAndSet is as Rows.TestAndSet. Elements without a time are neither seen nor
// remembered.
func (s *Map) TestAndSet(seen []uint64, d []digest.Digest, times []int64) {
	if seen != nil {
		bitset.Clear(seen, len(d))
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
// forgets those before: now must not go back. It looks at each element.
func (s *Map) Count(now int64) engine.Counts {
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
	return engine.Counts{Distinct: n, Low: n, High: n, MemoryBytes: mem.MapBytes(len(s.last), 24), Method: "exact"}
}

// Advance does nothing, as Count forgets.
func (s *Map) Advance(int64) {}

// Reset forgets all elements.
func (s *Map) Reset() { clear(s.last) }

// Close returns the memory.
func (s *Map) Close() error {
	s.last = nil
	return nil
}

// Addresses makes digests of IPv4 addresses for Rows. Each address has a digest of its
// own, so Rows never takes one for another. Addresses is not safe for concurrent use.
type Addresses struct {
	bijection *permute.Bijection
	words     [rowtable.Step]uint32
}

// NewAddresses returns the digests of a key.
func NewAddresses(key [16]byte) *Addresses {
	return &Addresses{bijection: permute.NewBijection(key)}
}

// Sum sets d[i] to the digest of addrs[i], the first octet in the top byte. It panics if
// d is shorter than addrs. Only the low half of a digest is of use.
func (a *Addresses) Sum(d []digest.Digest, addrs []uint32) {
	d = d[:len(addrs)]
	for at := 0; at < len(addrs); at += rowtable.Step {
		n := min(rowtable.Step, len(addrs)-at)
		a.bijection.Permute(a.words[:n], addrs[at:at+n])
		for i, word := range a.words[:n] {
			// The first 32 bits choose the line and identify the address, the last bits
			// choose samples.
			d[at+i] = digest.Digest{uint64(word)<<32 | uint64(word)}
		}
	}
}
