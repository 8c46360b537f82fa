// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"math/bits"
	"sort"
	"time"
	"unsafe"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/backlog"
)

// frameBytes is the memory of a packet without its record.
const frameBytes = int(unsafe.Sizeof(capture.Frame{}))

// heldBatch is a batch that waits.
type heldBatch struct {
	batch      backlog.Batch // belongs to write, unless it is a copy
	frames     []capture.Frame
	drop       []uint64
	waiting    []uint64      // a bit for each packet that may be exchanged
	written    int           // packets; for write
	first, end uint64        // numbers of its first packet, and after the last
	arrived    time.Duration // by HoldConfig.Clock
	marks                    // empty without HoldConfig.mark
}

// accept begins with a batch.
func (x *holdBatch) accept(b *capture.Batch) {
	h := x.hold
	k := h.memory.Get()
	k.first, k.end = h.next, h.next+uint64(len(b.Frames))
	k.drop = append(k.drop[:0], x.verdicts.drop...)
	k.waiting = capture.Resize(k.waiting, len(k.drop))
	clear(k.waiting)
	k.frames, k.written = b.Frames, 0
	if h.cfg.Clock != nil {
		k.arrived = h.cfg.Clock()
	}
	if h.cfg.mark != nil {
		k.marks.begin(x.verdicts.digests)
	}
	x.own = k
	h.open.Push(k)
}

// keep appends a batch to the waiting ones.
func (x *holdBatch) keep(b *capture.Batch) {
	k := x.own
	if x.hold.memory.Keep(&k.batch, b); k.batch.Copied {
		k.frames = k.batch.Frames
	}
}

// write takes ownership of the buffers of a batch that was applied, and returns unused ones in
// their place. It passes to write the batches that no longer wait, in the order of the stream:
// each batch with the packets that are not to be kept. Calls come in the order of the calls of
// judge, while later batches are judged. An error of write ends all.
func (x *holdBatch) write(b *capture.Batch, write func(b *capture.Batch, drop []uint64) error) error {
	h, k := x.hold, x.own
	x.own = nil
	if !x.kept {
		defer h.recycle(k)
		if err := h.write(x.decided, write); err != nil {
			return err
		}
		return write(b, k.drop)
	}
	h.memory.Take(&k.batch, b)
	h.waiting.Push(k)
	return h.write(x.decided, write)
}

// write writes the packets before one that may be exchanged.
func (h *hold) write(decided uint64, write func(b *capture.Batch, drop []uint64) error) error {
	for h.waiting.Len() > 0 && (*h.waiting.Front()).end <= decided {
		k := h.waiting.Pop()
		if err := write(h.rest(k)); err != nil {
			return err
		}
		h.recycle(k)
	}
	h.waits.Store(h.waiting.Len() > 0)
	if h.waiting.Len() == 0 || h.cfg.mark != nil {
		return nil
	}
	return (*h.waiting.Front()).writeBegin(decided, write)
}

// rest returns the part of a batch that is not yet written.
func (h *hold) rest(k *heldBatch) (b *capture.Batch, drop []uint64) {
	if h.cfg.mark != nil {
		return leftOf(h.marked(k), &k.batch.Batch, k.drop)
	}
	if k.written == 0 {
		return &k.batch.Batch, k.drop
	}
	return k.part(k.written, len(k.batch.Frames))
}

// writeBegin writes the packets of a batch that leave before its others. They are whole
// words of bits, so nobody changes these.
func (k *heldBatch) writeBegin(decided uint64, write func(b *capture.Batch, drop []uint64) error) error {
	if decided < k.first+64 {
		return nil
	}
	from, to := k.written, int(decided-k.first)&^63
	if k.written = to; from == to {
		return nil
	}
	return write(k.part(from, to))
}

// part returns the packets from to to-1 of a batch, with the blocks before each, and with
// those behind the last.
func (k *heldBatch) part(from, to int) (*capture.Batch, []uint64) {
	part, all := k.batch.Batch, len(k.batch.Frames)
	part.Frames, part.Blocks = part.Frames[from:to], nil
	for _, block := range k.batch.Blocks {
		if at := int(block.Before); at >= from && (at < to || to == all) {
			block.Before -= uint32(from)
			part.Blocks = append(part.Blocks, block)
		}
	}
	return &part, k.drop[from/64 : (to+63)/64]
}

// arrive settles packets that have waited long enough since their arrival.
func (h *hold) arrive() {
	if h.cfg.Clock == nil {
		return
	}
	now := h.cfg.Clock()
	for h.open.Len() > 0 && now-(*h.open.Front()).arrived >= h.cfg.Wait {
		h.settled = (*h.open.Front()).end
		h.open.Pop()
	}
	h.settle()
}

// advance finds the first packet that may be exchanged. It forgets the batches before that
// one's.
func (h *hold) advance() {
	h.decided = max(h.decided, h.settled)
	for h.open.Len() > 0 {
		k := *h.open.Front()
		h.decided = max(h.decided, min(k.nextWaiting(h.decided), h.next))
		if h.decided < k.end {
			return
		}
		h.open.Pop()
	}
	h.decided = h.next
}

// nextWaiting returns the number of the first packet, from a number on, that may be
// exchanged, or the end.
func (k *heldBatch) nextWaiting(from uint64) uint64 {
	at := max(from, k.first) - k.first
	for w := int(at / 64); w < len(k.waiting); w++ {
		if word := k.waiting[w] >> (at % 64); word != 0 {
			return k.first + at + uint64(bits.TrailingZeros64(word))
		}
		at = at&^63 + 64
	}
	return k.end
}

// holder returns the batch that has a packet which is not settled.
func (h *hold) holder(number uint64) *heldBatch {
	i := sort.Search(h.open.Len(), func(i int) bool { return (*h.open.At(i)).end > number })
	return *h.open.At(i)
}

// recycle takes the memory of a batch that was written.
func (h *hold) recycle(k *heldBatch) {
	k.frames = nil
	h.memory.Put(k, &k.batch)
}

// isSet returns a bit of a bitmap. A bitmap without bits may be nil.
func isSet(bitmap []uint64, i int) bool {
	return bitmap != nil && bitmap[uint(i)/64]>>(uint(i)%64)&1 != 0
}

func setBit(bitmap []uint64, i int) { bitmap[uint(i)/64] |= 1 << (uint(i) % 64) }
