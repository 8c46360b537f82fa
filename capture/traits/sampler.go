// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

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
