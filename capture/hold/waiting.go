// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"math/bits"
	"sort"
	"time"
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/backlog"
)

// frameBytes is the memory of a packet without its record.
const frameBytes = int(unsafe.Sizeof(capture.Frame{}))

// held is a batch that waits.
type held struct {
	batch      backlog.Batch // belongs to Write, unless it is a copy
	frames     []capture.Frame
	drop       []uint64
	waiting    []uint64      // a bit for each packet that may be exchanged
	written    int           // packets; for Write
	first, end uint64        // numbers of its first packet, and after the last
	arrived    time.Duration // by Config.Clock
	marks                    // empty without Stream.Mark
}

// accept begins with a batch.
func (x *Batch) accept(b *capture.Batch) {
	h := x.hold
	k := h.memory.Get()
	k.first, k.end = h.next, h.next+uint64(len(b.Frames))
	k.drop = append(k.drop[:0], x.verdicts.Drop...)
	k.waiting = capture.Zeroed(k.waiting, len(k.drop))
	k.frames, k.written = b.Frames, 0
	if h.cfg.Clock != nil {
		k.arrived = h.cfg.Clock()
	}
	if h.stream.Mark != nil {
		k.marks.begin(len(b.Frames))
	}
	x.own = k
	h.open.Push(k)
}

// keep has the batch wait: it copies what its source needs back.
func (x *Batch) keep(b *capture.Batch) {
	k := x.own
	if x.hold.memory.Keep(&k.batch, b); k.batch.Copied {
		k.frames = k.batch.Frames
	}
	if x.hold.stream.Mark != nil {
		k.digests = append(k.digests[:0], x.verdicts.Digests...)
	}
}

// Write takes ownership of the buffers of a judged batch, and returns unused buffers in their place.
// It passes to write the batches that no longer wait, in the order of the stream: each batch with
// the packets that are not to be kept. Calls come in the order of the calls of Judge, while later
// batches are judged. An error of write ends all.
func (x *Batch) Write(b *capture.Batch, write func(b *capture.Batch, drop []uint64) error) error {
	h, k := x.hold, x.own
	x.own = nil
	if !x.kept {
		defer h.recycle(k)
		if err := h.write(x.decided, write); err != nil {
			return err
		}
		return write(h.marked(k, b, x.verdicts.Digests))
	}
	h.memory.Take(&k.batch, b)
	h.waiting.Push(k)
	return h.write(x.decided, write)
}

// write writes the packets before number decided, the first that may be exchanged.
func (h *Hold) write(decided uint64, write func(b *capture.Batch, drop []uint64) error) error {
	for h.waiting.Len() > 0 && (*h.waiting.Front()).end <= decided {
		k := h.waiting.Pop()
		if err := write(h.rest(k)); err != nil {
			return err
		}
		h.recycle(k)
	}
	h.waits.Store(h.waiting.Len() > 0)
	if h.waiting.Len() == 0 || h.stream.Mark != nil {
		return nil
	}
	return (*h.waiting.Front()).writeBegin(decided, write)
}

// rest returns the part of a batch that is not yet written.
func (h *Hold) rest(k *held) (b *capture.Batch, drop []uint64) {
	if k.written == 0 {
		return h.marked(k, &k.batch.Batch, k.digests)
	}
	return k.part(k.written, len(k.batch.Frames))
}

// writeBegin writes the packets of a batch that leave before its others. They are whole
// words of bits, so nobody changes these.
func (k *held) writeBegin(decided uint64, write func(b *capture.Batch, drop []uint64) error) error {
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
func (k *held) part(from, to int) (*capture.Batch, []uint64) {
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
func (h *Hold) arrive() {
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

// advance finds the first packet that may be exchanged. It forgets the batches before.
func (h *Hold) advance() {
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
func (k *held) nextWaiting(from uint64) uint64 {
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
func (h *Hold) holder(number uint64) *held {
	i := sort.Search(h.open.Len(), func(i int) bool { return (*h.open.At(i)).end > number })
	return *h.open.At(i)
}

// recycle takes the memory of a batch that was written.
func (h *Hold) recycle(k *held) {
	k.frames = nil
	h.memory.Put(k, &k.batch)
}

// marks is the input of Stream.Mark for a waiting batch.
type marks struct {
	digests []digest.Digest // of a batch that waits
	later   []uint32
	// before has for each packet the distance, in packets, back to the packet whose place it took; 0
	// if it took none.
	before []uint32
}

// begin makes room for n packets.
func (m *marks) begin(n int) {
	m.later, m.before = capture.Zeroed(m.later, n), capture.Zeroed(m.before, n)
}

// notePlace notes that packet in of the newest batch is kept in the place of packet out, and
// of the packets that out had replaced. Settled packets may have been written.
func (h *Hold) notePlace(own *held, out, in uint64) {
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

// marked returns batch b of k as it is written: with Stream.Mark its result.
func (h *Hold) marked(k *held, b *capture.Batch, digests []digest.Digest) (*capture.Batch, []uint64) {
	if h.stream.Mark == nil {
		return b, k.drop
	}
	h.following = h.following[:0]
	for i := range h.waiting.Len() {
		h.following = append(h.following, &(*h.waiting.At(i)).batch.Batch)
	}
	return h.stream.Mark(b, digests, k.drop, k.later, h.following)
}
