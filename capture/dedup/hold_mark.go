// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
)

// marks is the input of HoldConfig.mark for a waiting batch.
type marks struct {
	digests []digest.Digest
	later   []uint32
	// before has for each packet the distance, in packets, back to the one in whose place it is
	// kept; 0 for none.
	before []uint32
}

// begin takes the digests of a batch.
func (m *marks) begin(digests []digest.Digest) {
	m.digests = append(m.digests[:0], digests...)
	m.later, m.before = capture.Resize(m.later, len(digests)), capture.Resize(m.before, len(digests))
	clear(m.later)
	clear(m.before)
}

// notePlace notes that packet in of the newest batch is kept in the place of packet out, and
// of the packets that out had replaced. Settled packets may have been written.
func (h *hold) notePlace(own *heldBatch, out, in uint64) {
	own.before[in-own.first] = uint32(in - out)
	for out >= h.settled {
		k := own
		if out < k.first {
			k = h.holder(out)
		}
		at := out - k.first
		k.later[at] = uint32(in - out)
		if k.before[at] == 0 {
			return
		}
		out -= uint64(k.before[at])
	}
}

// marked returns the result of HoldConfig.mark for a batch.
func (h *hold) marked(k *heldBatch) *capture.Batch {
	h.following = h.following[:0]
	for i := range h.waiting.Len() {
		h.following = append(h.following, &(*h.waiting.At(i)).batch.Batch)
	}
	return h.cfg.mark(&k.batch.Batch, k.digests, k.drop, k.later, h.following)
}

// leftOf returns what is written of b after traits.Marker.Mark has returned marked: all packets with
// their comments, or b without its copies if that is b itself.
func leftOf(marked, b *capture.Batch, drop []uint64) (*capture.Batch, []uint64) {
	if marked == b {
		return b, drop
	}
	return marked, nil
}
