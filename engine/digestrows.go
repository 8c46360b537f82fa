package engine

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/layout"
)

// minDigestLines is the smallest start of DigestRows: 64 KiB for 5120 digests before
// it grows.
const minDigestLines = 1024

// digestLoad is how many of the 8 digests that a line can hold it has on average when
// lines double.
const digestLoad = 5

// DigestRows remembers digests by 64 of their 128 bits, at one cache line a digest. It
// never forgets, and takes a new digest for a known one with a probability of n / 2^64
// where n are known: one of 1.8e10 at a billion.
//
// The top bits of a digest's low half choose its line, which stores the whole half
// (asm.TestAndSetExact64). Lines double when five of their eight cells are taken on
// average: each is split in two by one more bit of what it stores, nothing is hashed
// again, and old and new memory are held together meanwhile. At that load 2.4 % of the
// digests find eight cells taken (the excess of a Poisson variable); these go to a
// small hash table. So a digest takes 13 to 26 bytes.
//
// Digests must be keyed: who can choose them can aim at one line, and while verdicts
// stay right, time does not stay constant then.
type DigestRows struct {
	exactLines
	spilled spillSet[uint64]
}

var _ Counter[asm.Digest] = (*DigestRows)(nil)

// NewDigestRows returns an empty counter. memory is what the rows take at the start, in
// bytes: it is rounded down to a power of two, and at least 64 KiB, which 0 stands for
// too. The error is that of the memory's allocation.
func NewDigestRows(memory int) (*DigestRows, error) {
	lines := max(memory/layout.LineSize, minDigestLines)
	r := &DigestRows{spilled: spillSet[uint64]{factor: spillFactor}}
	r.first, r.newArena = 1<<(bits.Len(uint(lines))-1), layout.NewArena
	arena, err := r.newArena(r.first)
	if err != nil {
		return nil, fmt.Errorf("digest rows of %d lines: %w", r.first, err)
	}
	r.use(arena)
	return r, nil
}

// use takes lines over and sets the number of digests at which they grow.
func (r *DigestRows) use(arena *layout.Arena) {
	r.arena = arena
	r.limit = uint64(len(arena.Lines())) * digestLoad
}

// TestAndSet is as Counter says. It allocates only when the rows grow.
func (r *DigestRows) TestAndSet(seen []uint64, d []asm.Digest) {
	clearBits(seen, len(d))
	for at := 0; at < len(d); {
		if r.position == counterStep {
			r.position = 0
			if r.count >= r.limit {
				r.grow()
			}
		}
		n := min(counterStep-r.position, len(d)-at)
		r.step(d[at : at+n])
		orBits(seen, at, r.seen[:], n)
		r.position += n
		at += n
	}
}

// step handles at most counterStep digests between two decisions; their verdicts are
// left in r.seen.
func (r *DigestRows) step(d []asm.Digest) {
	spills := asm.TestAndSetExact64(r.arena.Lines(), r.seen[:], d, r.spills[:])
	for _, i := range r.spills[:spills] {
		if r.spilled.testAndSet(max(d[i][0], 1)) {
			r.seen[i/64] |= 1 << (i % 64)
		}
	}
	r.book(len(d))
}

// grow doubles the lines. If there is no memory for it, further digests go to the hash
// table, and growth is tried again when there are twice as many.
func (r *DigestRows) grow() {
	old := r.arena
	arena, err := r.newArena(2 * len(old.Lines()))
	if err != nil {
		r.limit *= 2
		return
	}
	layout.SplitDigestRows(arena.Lines(), old.Lines())
	r.use(arena)
	old.Close()
	r.retry()
}

// retry gives spilled digests their place in new lines. r.seen is free between two
// steps.
func (r *DigestRows) retry() {
	before := r.spilled
	r.spilled = before.empty()
	var batch [64]asm.Digest
	n := 0
	flush := func() {
		for _, i := range r.spills[:asm.TestAndSetExact64(r.arena.Lines(), r.seen[:], batch[:n], r.spills[:])] {
			r.spilled.testAndSet(batch[i][0])
		}
		n = 0
	}
	for y := range before.all {
		batch[n] = asm.Digest{y}
		if n++; n == len(batch) {
			flush()
		}
	}
	flush()
}

// Counts is as Counter says. The count is too low by those that were taken for known,
// n^2 / 2^65 of n in the mean: from 6e9 on one.
func (r *DigestRows) Counts() Counts {
	rate := math.Ldexp(float64(r.count), -64)
	missed := float64(r.count) * rate / 2
	return Counts{
		Distinct: r.count + uint64(math.Round(missed)), Low: r.count, High: r.count + poissonQuantile(missed, 0.95),
		MemoryBytes: r.arena.Bytes() + r.spilled.bytes(), FPR: rate, Method: "digest-rows",
	}
}

// Reset is as Counter says. A counter that cannot have its first lines back keeps those
// it has.
func (r *DigestRows) Reset() {
	r.spilled = r.spilled.empty()
	r.use(r.restart())
}
