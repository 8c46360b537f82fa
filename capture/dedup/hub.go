// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/backlog"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// hubLimit bounds the memory of the batches that wait for a hub, in bytes.
const hubLimit = 64 << 20

// hub keeps batches back until a hub has answered which of their packets other sites have sent
// before. A hub is asked about first sightings, which this site's filter leaves, and not about packets
// that Config.Only leaves out. Packets that Config.Protect chooses stay, whatever the hub answers.
//
// A packet that gets no answer in time stays: see hubclient.Client. Packets leave in their
// order.
type hub struct {
	client  *hubclient.Client // says how long a packet waits
	removed func(b *capture.Batch, copies []uint64)
	mark    *traits.Marker             // nil for none
	limit   int                        // bytes
	waiting backlog.Queue[*askedBatch] // to be written; for write
	bytes   int                        // of waiting
	asked   atomic.Int64               // batches that are judged and not written
	memory  backlog.Store[askedBatch]

	counting sync.Mutex // guards the fields below: later packets are judged meanwhile
	found    HubCounts
}

// askedBatch is a batch that waits for a hub.
type askedBatch struct {
	batch     backlog.Batch
	drop      []uint64
	fixed     []uint64
	digests   []digest.Digest // with hub.mark
	protocols []headers.Protocol
	answers   hubclient.Answers
	bytes     int // of its memory
}

// newHub makes a hub. removed gets the packets of a batch that the hub says are copies. Calls come
// from hubBatch.write and finish.
func newHub(client *hubclient.Client, removed func(b *capture.Batch, copies []uint64), mark *traits.Marker) *hub {
	return &hub{
		client: client, removed: removed, mark: mark, limit: hubLimit,
		found: HubCounts{ByProtocol: make([]uint64, headers.ProtocolCount)},
	}
}

// resume goes on with earlier counts, which may include the client's.
func (h *hub) resume(before *HubCounts) {
	h.counting.Lock()
	defer h.counting.Unlock()
	byProtocol := h.found.ByProtocol
	clear(byProtocol)
	copy(byProtocol, before.ByProtocol)
	h.found = *before
	h.found.Unchecked -= h.client.Stats().Unchecked // modulo 2^64: counts adds it again
	h.found.ByProtocol = byProtocol
}

// counts returns the counts so far.
func (h *hub) counts() HubCounts {
	h.counting.Lock()
	defer h.counting.Unlock()
	c := h.found
	c.Unchecked += h.client.Stats().Unchecked
	c.ByProtocol = slices.Clone(c.ByProtocol)
	return c
}

// count counts the copies of a batch.
func (h *hub) count(b *capture.Batch, copies []uint64, protocols []headers.Protocol) {
	h.counting.Lock()
	defer h.counting.Unlock()
	for w, word := range copies {
		for ; word != 0; word &= word - 1 {
			i := w*64 + bits.TrailingZeros64(word)
			h.found.Copies++
			h.found.Bytes += uint64(b.Frames[i].CapLen)
			h.found.ByProtocol[protocols[i]]++
		}
	}
}

// hubBatch takes one batch at a time through a hub. A pipeline needs a hubBatch for each batch in
// flight.
type hubBatch struct {
	hub *hub
	own *askedBatch
}

// judge asks about the packets of a batch, which p has judged. Calls come in the order of the stream.
func (x *hubBatch) judge(b *capture.Batch, p *BatchDetector) {
	h := x.hub
	k := h.memory.Get()
	k.drop = append(k.drop[:0], p.v.Drop...)
	k.fixed = append(k.fixed[:0], p.v.Fixed...)
	k.protocols = append(k.protocols[:0], p.protocols...)
	if h.mark != nil {
		k.digests = append(k.digests[:0], p.v.Digests...)
	}
	h.memory.Keep(&k.batch, b)
	n := len(b.Frames)
	h.client.Count(uint64(n), uint64(n)-capture.CountKept(p.v.Drop, 0, n))
	h.client.Ask(&k.answers, p.v.Digests, p.v.Times, p.v.Copies)
	x.own = k
	h.asked.Add(1)
}

// write takes ownership of the buffers of a judged batch, and returns unused buffers in their place.
// It passes to write the batches that no longer wait, in the order of the stream: each batch with
// the packets that are not to be kept. Calls come in the order of the calls of judge, while later
// batches are judged. An error of write ends all.
//
// Where a stream pauses, batches wait for the next call: live captures pass empty batches.
func (x *hubBatch) write(b *capture.Batch, write func(b *capture.Batch, drop []uint64) error) error {
	h, k := x.hub, x.own
	h.memory.Take(&k.batch, b)
	h.waiting.Push(k)
	k.bytes = k.batch.Memory()
	h.bytes += k.bytes
	x.own = nil
	for h.waiting.Len() > 0 && (h.bytes > h.limit || h.client.Ready(&(*h.waiting.Front()).answers)) {
		if err := h.writeNext(write); err != nil {
			return err
		}
	}
	return nil
}

// finish waits for all answers, and writes the waiting batches. It must be called after the
// last hubBatch.write. It returns the first error of write, after which it writes no more.
func (h *hub) finish(write func(b *capture.Batch, drop []uint64) error) error {
	for h.waiting.Len() > 0 {
		if err := h.writeNext(write); err != nil {
			return err
		}
	}
	return nil
}

// writeNext writes the batch that has waited longest, once all is known of it.
func (h *hub) writeNext(write func(b *capture.Batch, drop []uint64) error) error {
	k := h.waiting.Pop()
	h.asked.Add(-1)
	h.client.Wait(&k.answers)
	h.bytes -= k.bytes
	copies := k.answers.Copies
	for w, fixed := range k.fixed {
		copies[w] &^= fixed
	}
	h.count(&k.batch.Batch, copies, k.protocols)
	h.removed(&k.batch.Batch, copies)
	for w, word := range copies {
		k.drop[w] |= word
	}
	if err := h.write(k, write); err != nil {
		return err
	}
	h.memory.Put(k, &k.batch)
	return nil
}

// write writes a batch whose answers are all known.
func (h *hub) write(k *askedBatch, write func(b *capture.Batch, drop []uint64) error) error {
	if h.mark != nil {
		return write(h.mark.MarkWith(&k.batch.Batch, k.digests, k.drop, k.answers.Copies))
	}
	return write(&k.batch.Batch, k.drop)
}
