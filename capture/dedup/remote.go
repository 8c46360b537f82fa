// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"slices"
	"sync"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/engine/remote"
)

// remoteLimit bounds the memory of the batches that wait for a hub, in bytes.
const remoteLimit = 64 << 20

// RemoteConfig configures NewRemote.
type RemoteConfig struct {
	// Client asks the hub. It says how long a packet waits.
	Client *remote.Client
	// Removed, if not nil, is told which packets of a batch the hub says are copies, and
	// their protocols. Calls come from RemoteBatch.Write and Finish.
	Removed func(b *capture.Batch, copies []uint64, protocols []flow.Protocol)
	// Mark, if not nil, returns a batch with a mark on each packet whose bit in drop is set.
	// Those that elsewhere has are copies of packets of other sites. All packets are then
	// written.
	Mark func(b *capture.Batch, digests []digest.Digest, drop, elsewhere []uint64) *capture.Batch
}

// Remote keeps batches back until a hub has said which of their packets other sites have
// sent before. It asks about those that the filter of this site has left: first sightings.
// Packets that Config.Only has not chosen are not asked about. Those that Config.Protect
// has stay, whatever the hub says.
//
// A packet that gets no answer in time stays: see remote.Client. Packets leave in their
// order.
type Remote struct {
	cfg     RemoteConfig
	limit   int                // bytes
	waiting ring[*remoteBatch] // to be written; for Write
	bytes   int                // of waiting

	mu     sync.Mutex
	free   []*remoteBatch
	spares spares
}

// remoteBatch is a batch that waits for a hub.
type remoteBatch struct {
	heldBatch
	answers   remote.Answers
	fixed     []uint64
	protocols []flow.Protocol
	bytes     int // of its memory
}

// NewRemote makes a Remote.
func NewRemote(cfg RemoteConfig) *Remote { return &Remote{cfg: cfg, limit: remoteLimit} }

// RemoteBatch takes one batch at a time through a Remote. A pipeline needs one for each
// batch in flight.
type RemoteBatch struct {
	remote *Remote
	own    *remoteBatch
	copied bool // own has a copy of the batch
}

// NewBatch makes a RemoteBatch.
func (h *Remote) NewBatch() *RemoteBatch { return &RemoteBatch{remote: h} }

// Apply asks about the packets of a batch, which p has judged. Calls must come for one batch
// after another, in the order of the stream.
func (x *RemoteBatch) Apply(b *capture.Batch, p *BatchDetector) {
	h := x.remote
	k := h.unused()
	k.drop = append(k.drop[:0], p.drop...)
	k.fixed = append(k.fixed[:0], p.fixed...)
	k.protocols = append(k.protocols[:0], p.protocols...)
	if h.cfg.Mark != nil {
		k.digests = append(k.digests[:0], p.digests...)
	}
	if x.copied = len(b.Buf) < copyBelow; x.copied {
		k.batch = h.spare(false)
		k.copy(b)
	}
	n := len(b.Frames)
	h.cfg.Client.Count(uint64(n), uint64(n)-capture.CountKept(p.drop, 0, n))
	h.cfg.Client.Ask(&k.answers, p.digests, p.times, p.copies)
	x.own = k
}

// Write takes the content of a batch that was applied, and leaves another, of no meaning,
// in its place. It passes to write what no longer waits, in the order of the stream: each
// batch with the packets that are not to be kept. Calls come in the order of those of
// Apply, while later batches are applied. An error is that of write, and ends all.
//
// Of a stream that pauses, batches wait for the next call: live captures pass empty ones.
func (x *RemoteBatch) Write(b *capture.Batch, write func(b *capture.Batch, drop []uint64) error) error {
	h, k := x.remote, x.own
	if !x.copied {
		k.batch, *b = *b, h.spare(true)
	}
	h.waiting.push(k)
	k.bytes = memoryOf(&k.batch)
	h.bytes += k.bytes
	x.own = nil
	for h.waiting.len() > 0 && (h.bytes > h.limit || h.cfg.Client.Ready(&(*h.waiting.front()).answers)) {
		if err := h.writeNext(write); err != nil {
			return err
		}
	}
	return nil
}

// Finish waits for all answers, and writes what waits. It must be called after the last
// RemoteBatch.Write. It returns the first error of write, after which it writes no more.
func (h *Remote) Finish(write func(b *capture.Batch, drop []uint64) error) error {
	for h.waiting.len() > 0 {
		if err := h.writeNext(write); err != nil {
			return err
		}
	}
	return nil
}

// writeNext writes the batch that has waited longest, once all is known of it.
func (h *Remote) writeNext(write func(b *capture.Batch, drop []uint64) error) error {
	k := *h.waiting.front()
	h.waiting.pop()
	h.cfg.Client.Wait(&k.answers)
	h.bytes -= k.bytes
	copies := k.answers.Copies
	for w, fixed := range k.fixed {
		copies[w] &^= fixed
	}
	if h.cfg.Removed != nil {
		h.cfg.Removed(&k.batch, copies, k.protocols)
	}
	for w, word := range copies {
		k.drop[w] |= word
	}
	if err := h.write(k, write); err != nil {
		return err
	}
	h.recycle(k)
	return nil
}

// recycle takes the memory of a batch that was written.
func (h *Remote) recycle(k *remoteBatch) {
	spare := k.batch
	k.batch = capture.Batch{}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spares.put(spare)
	h.free = append(h.free, k)
}

// spare returns memory for a batch of the source, or for a copy.
func (h *Remote) spare(source bool) capture.Batch {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.spares.take(source)
}

// write writes a batch of which all is known.
func (h *Remote) write(k *remoteBatch, write func(b *capture.Batch, drop []uint64) error) error {
	if h.cfg.Mark != nil {
		return write(h.cfg.Mark(&k.batch, k.digests, k.drop, k.answers.Copies), nil)
	}
	return write(&k.batch, k.drop)
}

// unused returns memory for a batch.
func (h *Remote) unused() *remoteBatch {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.free) == 0 {
		return &remoteBatch{}
	}
	k := h.free[len(h.free)-1]
	h.free = slices.Delete(h.free, len(h.free)-1, len(h.free))
	return k
}
