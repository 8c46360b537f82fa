// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"math/bits"
	"slices"
	"sort"
	"time"
	"unsafe"

	"github.com/flowdedup/flowdedup/capture"
)

// frameBytes is what a packet takes beside its record.
const frameBytes = int(unsafe.Sizeof(capture.Frame{}))

const (
	// copyBelow is how many bytes of records a batch has that is copied. A larger one is
	// exchanged for an empty one, and takes the memory of its source with it: half a mebibyte
	// for a chunk of a file.
	copyBelow = 64 << 10
	// exchangeBelow bounds the memory of batches that were exchanged and wait. Beyond it
	// each one is copied, so that what waits takes little more than its size.
	exchangeBelow = 32 << 20
)

// heldBatch is a batch that waits.
type heldBatch struct {
	batch      capture.Batch // belongs to Write, unless it is a copy
	frames     []capture.Frame
	view       capture.Batch // what viewOf returns of it, with HoldConfig.Intact
	drop       []uint64
	waiting    []uint64      // a bit for each packet that may be exchanged
	written    int           // packets; for Write
	exchanged  int64         // what it adds to hold.exchanged
	first, end uint64        // numbers of its first packet, and after the last
	arrived    time.Duration // by HoldConfig.Clock
	marks                    // empty without HoldConfig.mark
}

// accept begins with a batch.
func (x *holdBatch) accept(b *capture.Batch) {
	h := x.hold
	k := h.unused()
	k.first, k.end = h.next, h.next+uint64(len(b.Frames))
	k.drop = append(k.drop[:0], x.verdicts.drop...)
	k.waiting = resize(k.waiting, len(k.drop))
	clear(k.waiting)
	k.frames, k.written = b.Frames, 0
	if h.cfg.Clock != nil {
		k.arrived = h.cfg.Clock()
	}
	if h.cfg.Intact {
		k.view = viewOf(b)
	}
	if h.cfg.mark != nil {
		k.marks.begin(x.verdicts.digests)
	}
	x.own = k
	h.open.push(k)
}

// keep makes a batch one of those that wait.
func (x *holdBatch) keep(b *capture.Batch) {
	k := x.own
	if x.copied = inPlace(b) || len(b.Buf) < copyBelow || x.hold.exchanged.Load() >= exchangeBelow; x.copied {
		k.batch = x.hold.spare(false)
		k.copy(b)
		k.frames = k.batch.Frames
		if x.hold.cfg.Intact {
			k.view = viewOf(&k.batch)
		}
	}
}

// inPlace reports whether packets lie where their source needs the memory back, without
// records.
func inPlace(b *capture.Batch) bool {
	return len(b.Blocks) == 0 && (len(b.Frames) == 0 || b.Frames[0].RecordLen == 0)
}

// copy copies a batch. Of packets in place it copies nothing else.
func (k *heldBatch) copy(b *capture.Batch) {
	to := &k.batch
	to.Reset()
	to.Frames = append(to.Frames, b.Frames...)
	to.Blocks = append(to.Blocks, b.Blocks...)
	to.Interfaces, to.Sections = b.Interfaces, b.Sections
	if !inPlace(b) {
		to.Buf = append(to.Buf, b.Buf...)
		return
	}
	for i := range b.Frames {
		to.Frames[i].Data = uint32(len(to.Buf))
		to.Buf = append(to.Buf, b.Data(i)...)
	}
}

// Write takes the content of a batch that was applied, and leaves another, of no meaning,
// in its place. It passes to write what no longer waits, in the order of the stream: each
// batch with the packets that are not to be kept. Calls come in the order of those of
// Apply, while later batches are applied. An error is that of write, and ends all.
func (x *holdBatch) Write(b *capture.Batch, write func(b *capture.Batch, drop []uint64) error) error {
	h, k := x.hold, x.own
	x.own = nil
	if !x.kept {
		defer h.recycle(k)
		if err := h.write(x.decided, write); err != nil {
			return err
		}
		return write(b, k.drop)
	}
	if !x.copied {
		k.batch, *b = *b, h.spare(true)
		k.exchanged = int64(memoryOf(&k.batch))
		h.exchanged.Add(k.exchanged)
	}
	h.waiting.push(k)
	return h.write(x.decided, write)
}

// write writes the packets before one that may be exchanged.
func (h *hold) write(decided uint64, write func(b *capture.Batch, drop []uint64) error) error {
	for h.waiting.len() > 0 && (*h.waiting.front()).end <= decided {
		k := *h.waiting.front()
		h.waiting.pop()
		if err := write(h.rest(k)); err != nil {
			return err
		}
		h.recycle(k)
	}
	h.waits.Store(h.waiting.len() > 0)
	if h.waiting.len() == 0 || h.cfg.mark != nil {
		return nil
	}
	return (*h.waiting.front()).writeBegin(decided, write)
}

// rest returns what is left to be written of a batch.
func (h *hold) rest(k *heldBatch) (b *capture.Batch, drop []uint64) {
	if h.cfg.mark != nil {
		return h.marked(k), nil
	}
	if k.written == 0 {
		return &k.batch, k.drop
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
	part, all := k.batch, len(k.batch.Frames)
	part.Frames, part.Blocks = part.Frames[from:to], nil
	for _, block := range k.batch.Blocks {
		if at := int(block.Before); at >= from && (at < to || to == all) {
			block.Before -= uint32(from)
			part.Blocks = append(part.Blocks, block)
		}
	}
	return &part, k.drop[from/64 : (to+63)/64]
}

// arrive settles what has waited long enough by its arrival.
func (h *hold) arrive() {
	if h.cfg.Clock == nil {
		return
	}
	now := h.cfg.Clock()
	for h.open.len() > 0 && now-(*h.open.front()).arrived >= h.cfg.Wait {
		h.settled = (*h.open.front()).end
		h.open.pop()
	}
	h.settle()
}

// advance finds the first packet that may be exchanged. It forgets the batches before that
// one's.
func (h *hold) advance() {
	h.decided = max(h.decided, h.settled)
	for h.open.len() > 0 {
		k := *h.open.front()
		h.decided = max(h.decided, min(k.nextWaiting(h.decided), h.next))
		if h.decided < k.end {
			return
		}
		h.open.pop()
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
	i := sort.Search(h.open.len(), func(i int) bool { return (*h.open.at(i)).end > number })
	return *h.open.at(i)
}

// unused returns memory for a batch.
func (h *hold) unused() *heldBatch {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.free) == 0 {
		return &heldBatch{}
	}
	k := h.free[len(h.free)-1]
	h.free = slices.Delete(h.free, len(h.free)-1, len(h.free))
	return k
}

// spare returns memory for a batch of the source, or for a copy.
func (h *hold) spare(source bool) capture.Batch {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.spares.take(source)
}

// recycle takes the memory of a batch that was written.
func (h *hold) recycle(k *heldBatch) {
	h.exchanged.Add(-k.exchanged)
	spare := k.batch
	k.exchanged, k.batch, k.frames, k.view = 0, capture.Batch{}, nil, capture.Batch{}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spares.put(spare)
	h.free = append(h.free, k)
}

// ring is a queue that keeps its memory.
type ring[T any] struct {
	items []T // a power of two of them, or none
	from  int
	count int
}

func (r *ring[T]) len() int { return r.count }

// at returns the item i places behind the front.
func (r *ring[T]) at(i int) *T { return &r.items[(r.from+i)&(len(r.items)-1)] }

func (r *ring[T]) front() *T { return r.at(0) }

func (r *ring[T]) push(item T) {
	if r.count == len(r.items) {
		items := make([]T, max(16, 2*r.count))
		for i := range r.count {
			items[i] = *r.at(i)
		}
		r.items, r.from = items, 0
	}
	*r.at(r.count) = item
	r.count++
}

func (r *ring[T]) pop() {
	var none T
	*r.front() = none
	r.from = (r.from + 1) & (len(r.items) - 1)
	r.count--
}

// isSet returns a bit of a bitmap, which is nil if it has none.
func isSet(bitmap []uint64, i int) bool {
	return bitmap != nil && bitmap[uint(i)/64]>>(uint(i)%64)&1 != 0
}

func setBit(bitmap []uint64, i int) { bitmap[uint(i)/64] |= 1 << (uint(i) % 64) }
