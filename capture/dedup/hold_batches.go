package dedup

import (
	"slices"
	"sort"
	"time"
	"unsafe"

	"github.com/flowdedup/flowdedup/capture"
)

// frameBytes is what a packet takes beside its record.
const frameBytes = int(unsafe.Sizeof(capture.Frame{}))

// copyBelow is how many bytes of records a batch has that is copied. A larger one is
// exchanged for an empty one, and takes the memory of its source with it: half a mebibyte
// for a chunk of a file. So what waits takes at most eight times its size.
const copyBelow = 64 << 10

// heldBatch is a batch that waits.
type heldBatch struct {
	batch      capture.Batch // belongs to Write, unless it is a copy
	frames     []capture.Frame
	view       capture.Batch // what viewOf returns of it, with HoldConfig.Intact
	drop       []uint64
	first, end uint64        // numbers of its first packet, and after the last
	arrived    time.Duration // by HoldConfig.Clock
	marks                    // empty without HoldConfig.Mark
}

// accept makes a batch one of those that wait.
func (x *HoldBatch) accept(b *capture.Batch) {
	h := x.hold
	k := h.unused()
	k.first, k.end = h.next, h.next+uint64(len(b.Frames))
	k.drop = append(k.drop[:0], x.verdicts.drop...)
	k.frames = b.Frames
	if h.cfg.Clock != nil {
		k.arrived = h.cfg.Clock()
	}
	if x.copied = len(b.Buf) < copyBelow; x.copied {
		k.copy(b)
		k.frames = k.batch.Frames
	}
	if h.cfg.Intact {
		if k.view = viewOf(b); x.copied {
			k.view = viewOf(&k.batch)
		}
	}
	if h.cfg.Mark != nil {
		k.marks.begin(x.verdicts.digests)
	}
	x.own = k
	h.open.push(k)
}

// copy copies a batch.
func (k *heldBatch) copy(b *capture.Batch) {
	to := &k.batch
	to.Reset()
	to.Buf = append(to.Buf, b.Buf...)
	to.Frames = append(to.Frames, b.Frames...)
	to.Blocks = append(to.Blocks, b.Blocks...)
	to.Interfaces, to.Sections = b.Interfaces, b.Sections
}

// Write takes the content of a batch that was applied, and leaves another, of no meaning,
// in its place. It passes to write what no longer waits, in the order of the stream: each
// batch with the packets that are not to be kept. Calls come in the order of those of
// Apply, while later batches are applied. An error is that of write, and ends all.
func (x *HoldBatch) Write(b *capture.Batch, write func(b *capture.Batch, drop []uint64) error) error {
	if !x.copied {
		x.own.batch, *b = *b, x.own.batch
	}
	x.hold.waiting.push(x.own)
	x.own = nil
	return x.hold.write(x.settled, write)
}

// write writes the batches whose packets are all settled.
func (h *Hold) write(settled uint64, write func(b *capture.Batch, drop []uint64) error) error {
	for h.waiting.len() > 0 && (*h.waiting.front()).end <= settled {
		k := *h.waiting.front()
		h.waiting.pop()
		if err := write(h.written(k)); err != nil {
			return err
		}
		h.recycle(k)
	}
	return nil
}

// arrive settles what has waited long enough by its arrival.
func (h *Hold) arrive() {
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

// closeBatches forgets the batches whose packets are all settled.
func (h *Hold) closeBatches() {
	for h.open.len() > 0 && (*h.open.front()).end <= h.settled {
		h.open.pop()
	}
}

// holder returns the batch that has a packet which is not settled.
func (h *Hold) holder(number uint64) *heldBatch {
	i := sort.Search(h.open.len(), func(i int) bool { return (*h.open.at(i)).end > number })
	return *h.open.at(i)
}

// unused returns memory for a batch.
func (h *Hold) unused() *heldBatch {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.free) == 0 {
		return &heldBatch{}
	}
	k := h.free[len(h.free)-1]
	h.free = slices.Delete(h.free, len(h.free)-1, len(h.free))
	return k
}

// recycle takes the memory of a batch that was written.
func (h *Hold) recycle(k *heldBatch) {
	h.mu.Lock()
	defer h.mu.Unlock()
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
