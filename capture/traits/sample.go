// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// Sample has values by hash, at first of all hashes. Each time that it is full, it goes on with
// half of the hashes. Hashes that others can choose need a secret. The memory is taken with
// the first value.
type Sample[T any] struct {
	most   int
	ids    []uint64 // 0 for none; twice as many as values at most, so that searches are short
	values []T
	n      int
	level  uint // how many of the highest bits of an id must be 0
}

// NewSample returns a sample of up to most values; most is a power of two.
func NewSample[T any](most int) Sample[T] { return Sample[T]{most: most} }

// Find returns the value of a hash that is not 0, a new value if it is unknown. It returns nil
// if the hash is not in the sample. The value stays in its place until the next call.
func (s *Sample[T]) Find(id uint64) *T {
	for id>>(64-s.level) == 0 {
		if s.ids == nil {
			s.ids, s.values = make([]uint64, 2*s.most), make([]T, 2*s.most)
		}
		at := s.at(id)
		switch {
		case s.ids[at] != 0:
			return &s.values[at]
		case s.n < s.most:
			s.n++
			s.ids[at] = id
			return &s.values[at]
		}
		s.halve()
	}
	return nil
}

// at returns the place of an id, or the empty place where it belongs.
func (s *Sample[T]) at(id uint64) uint64 {
	mask := uint64(len(s.ids) - 1)
	at := id & mask
	for s.ids[at] != 0 && s.ids[at] != id {
		at = (at + 1) & mask
	}
	return at
}

// halve drops about every second value.
func (s *Sample[T]) halve() {
	old := *s
	*s = Sample[T]{most: s.most, ids: make([]uint64, len(s.ids)), values: make([]T, len(s.values)), level: s.level + 1}
	for i, id := range old.ids {
		if id != 0 && id>>(64-s.level) == 0 {
			at := s.at(id)
			s.ids[at], s.values[at] = id, old.values[i]
			s.n++
		}
	}
}

// Each calls f with each value.
func (s *Sample[T]) Each(f func(T)) {
	for i, id := range s.ids {
		if id != 0 {
			f(s.values[i])
		}
	}
}

// clear forgets all values, and takes any hash again.
func (s *Sample[T]) clear() {
	clear(s.ids)
	clear(s.values)
	s.n, s.level = 0, 0
}

// Sampler samples the packets of one batch at a time. One goroutine at a time may use it.
type Sampler struct {
	reader  *reader
	mask    uint64 // packets are sampled if these bits of their digest are 0
	samples []sample
}

// NewSampler returns a Sampler for packets whose digests cover the datagram that d finds.
func NewSampler(d *headers.Decoder) *Sampler { return &Sampler{reader: newReader(d)} }

// Reset begins a batch of this number of packets, and decides which of them are sampled.
// Packets of a large batch must have more bits 0 in their digests, so a packet that a large
// batch samples would be sampled in a small batch too.
func (s *Sampler) Reset(packets int) {
	s.samples = s.samples[:0]
	s.mask = max(sampleEvery, uint64(1)<<bits.Len(uint(packets/samplesPerBatch))) - 1
}

// Add samples the packets of b that have the given digests. The first of them is number
// from.
func (s *Sampler) Add(b *capture.Batch, from int, digests []digest.Digest) {
	for i := range digests {
		if digests[i][1]&s.mask == 0 {
			traits := s.reader.read(b, from+i)
			s.samples = append(s.samples, sample{
				digest: digests[i], time: b.Frames[from+i].Time, place: s.reader.sums.Point(traits.Point), frame: uint32(from + i), traits: traits,
			})
		}
	}
}
