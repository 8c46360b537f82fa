// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"math/bits"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// chunkLen is how many sightings get memory at once.
const chunkLen = 1 << 10

type chunk [chunkLen]inputPacket

// recent holds sightings in the order in which they came, and finds the latest of an identity. It
// is a queue of chunks with a hash table of chains. A chain has the latest sighting of each
// identity, so equal packets do not make it longer. Its end is a sighting that was forgotten: no
// entry is ever deleted. Places are counted from 0.
type recent struct {
	chunks []*chunk // the first has the oldest place
	spare  *chunk   // for the next places
	first  uint64   // the oldest place that is remembered
	next   uint64   // the place of the next sighting
	heads  []uint64 // the place of the latest sighting in a chain, plus 1
	odd    uint64   // a random odd number, so that nobody can prepare identities that share a chain
	warmed uint64   // the OR of warm's reads, so that no compiler leaves them out
}

// newRecent returns a queue with a table for n sightings, which grows.
func newRecent(n uint64) recent {
	return recent{heads: make([]uint64, max(chunkLen, 8<<bits.Len64(n))), odd: rand.Uint64() | 1}
}

// len returns how many sightings are remembered.
func (r *recent) len() uint64 { return r.next - r.first }

// at returns a sighting by its place.
func (r *recent) at(place uint64) *inputPacket {
	return &r.chunks[place/chunkLen-r.first/chunkLen][place%chunkLen]
}

// head returns the head of the chain of an identity.
func (r *recent) head(id *digest.Digest) *uint64 {
	hash := (id[0] ^ bits.RotateLeft64(id[1], 32)) * r.odd
	return &r.heads[hash>>(64-bits.TrailingZeros(uint(len(r.heads))))]
}

// warm touches the memory that finding the identities of a batch will touch. These loads overlap,
// while the loads of one search after another wait for each other.
func (r *recent) warm(ids []digest.Digest) {
	for i := range ids {
		if place := *r.head(&ids[i]); place > r.first {
			r.warmed |= r.at(place - 1).identity[0]
		}
	}
}

// find returns what names the latest sighting of an identity: the head of the chain, or the link in
// the sighting before it. It is the end of the chain if there is none.
func (r *recent) find(id *digest.Digest) *uint64 {
	link := r.head(id)
	for *link > r.first {
		s := r.at(*link - 1)
		if s.identity == *id {
			break
		}
		link = &s.link
	}
	return link
}

// last returns the place of the latest sighting of an identity, plus 1. Values up to first are no
// place.
func (r *recent) last(id *digest.Digest) uint64 { return *r.find(id) }

// put remembers a sighting, which it returns. Its field before is the place of the
// latest sighting of its identity, plus 1.
func (r *recent) put(s *inputPacket) *inputPacket {
	if r.len() == uint64(len(r.heads)) {
		r.widen()
	}
	if r.next/chunkLen-r.first/chunkLen == uint64(len(r.chunks)) {
		if r.spare == nil {
			r.spare = new(chunk)
		}
		r.chunks, r.spare = append(r.chunks, r.spare), nil
	}
	r.next++
	k := r.at(r.next - 1)
	*k = *s
	k.before = r.chain(k, r.next)
	return k
}

// chain puts a sighting at the head of its chain. It takes the sighting of the same identity out of
// the chain, and returns its place, plus 1, else 0.
func (r *recent) chain(s *inputPacket, place uint64) (before uint64) {
	if link := r.find(&s.identity); *link > r.first {
		before = *link
		*link = r.at(before - 1).link
	}
	head := r.head(&s.identity)
	s.link, *head = *head, place
	return before
}

// widen doubles the table.
func (r *recent) widen() {
	r.heads = make([]uint64, 2*len(r.heads))
	for place := r.first; place < r.next; place++ {
		r.chain(r.at(place), place+1)
	}
}

// drop forgets the oldest sighting.
func (r *recent) drop() {
	if r.first++; r.first%chunkLen == 0 {
		r.spare = r.chunks[0]
		r.chunks = append(r.chunks[:0], r.chunks[1:]...)
	}
}
