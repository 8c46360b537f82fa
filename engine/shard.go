package engine

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/layout"
)

const (
	// shardPart is how many elements a kernel gets at a time: what a worker picks
	// of them stays in the first-level cache, or nearly.
	shardPart = 1024
	// shardScan is how many digests a worker goes through at a time.
	shardScan = shardPart / 2
)

// worker is one of those that share the elements.
type worker struct {
	kernel lineKernel
	start  signal // of a round
	first  uint64 // its digests have an element 1 from first
	span   uint64 // to first + span
	picked *shardPicked
}

// shardPicked holds the digests that a worker found to be its own, where they were in
// the round, and the verdicts on them.
type shardPicked struct {
	digests [shardPart]asm.Digest
	order   [shardPart]uint32
	seen    [shardPart / 64]uint64
	// verdicts are those of the round so far, at the places of its digests: bytes
	// need not be read to be written.
	verdicts [shardRound]byte
	rounded  [shardRound / 64]uint64 // the same as bits, when it is done
}

// work handles a worker's part of a round. The kernel gets at least half of what it
// may at a time, but for the last, so that it can fetch lines ahead.
func (w *worker) work(lines []layout.Line, r shardTask) {
	n := 0
	for at := 0; at < len(r.digests); at += shardScan {
		n = w.pick(r.digests, at, n)
		if n > shardPart-shardScan {
			w.flush(lines, r, n)
			n = 0
		}
	}
	if n > 0 {
		w.flush(lines, r, n)
	}
	w.pack((len(r.digests) + 63) / 64)
}

// pick appends the places of the worker's own digests, among shardScan from place at
// on, to the n that it has, and returns how many there are then. It writes down each
// place, and goes on only if the digest there is its own: a branch would be guessed
// wrong too often. It must stay a call: inlined, not all of its variables have
// registers.
//
//go:noinline
func (w *worker) pick(digests []asm.Digest, at, n int) int {
	order := &w.picked.order
	first, span, next := w.first, w.span, uint64(n)
	digests = digests[at:min(at+shardScan, len(digests))]
	for i := range digests {
		order[next%shardPart] = uint32(at + i)
		_, other := bits.Sub64(span, digests[i][1]-first, 0)
		next, _ = bits.Sub64(next+1, 0, other)
	}
	return int(next)
}

// flush handles the n digests that were picked.
func (w *worker) flush(lines []layout.Line, r shardTask, n int) {
	p := w.picked
	order, digests, seen := p.order[:n], p.digests[:n], p.seen[:(n+63)/64]
	for i := range digests {
		digests[i] = r.digests[order[i]]
	}
	w.kernel.TestAndSet(lines, seen, digests, r.position, order)
	for i, word := range seen {
		for _, at := range order[64*i : min(64*i+64, n)] {
			p.verdicts[at%shardRound] = byte(word & 1)
			word >>= 1
		}
	}
}

// pack turns the verdicts of so many words into bits, and clears them.
func (w *worker) pack(words int) {
	p := w.picked
	for i := range words {
		bytes := p.verdicts[64*i : 64*i+64]
		word := uint64(0)
		for j := 0; j < 64; j += 8 {
			// The product has bit 0 of byte k at 56 + k, and no carries.
			word |= binary.LittleEndian.Uint64(bytes[j:]) * 0x0102040810204080 >> 56 << j
		}
		p.rounded[i] = word
		clear(bytes)
	}
}

// bytes returns the size of what the worker holds.
func (w *worker) bytes() int {
	if w.picked == nil {
		return w.kernel.Bytes()
	}
	return w.kernel.Bytes() + int(unsafe.Sizeof(*w.picked))
}
