// SPDX-License-Identifier: Apache-2.0

package line

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

// elements are the elements of a call, and fill its batches.
type elements struct {
	kind  elementKind
	count int // of elements
	lines int // how many lines there are to choose from

	digests  []digest.Digest // of all kinds except exact32 and sliding
	position uint64          // of the first in the stream
	random   bool            // the kernel needs random words

	seen     []uint64     // of unseen
	words    []uint32     // of exact32
	geometry *rowGeometry // of exact32
	lows     []uint64     // of sliding
	dates    []uint16     // of sliding
}

// elementKind is the way an element's line is chosen.
type elementKind uint8

const (
	inLines elementKind = iota // the high half of a digest chooses a line
	inWords                    // the high half of a digest chooses a word of a line
	unseen                     // as inLines, without elements whose bit in seen is set
	exact32                    // the top bits of a 32-bit word choose a line
	exact64                    // the top bits of a digest's low half choose a line
	sliding                    // the top bits of a 64-bit word with a date choose a line
)

// pipeline takes the elements of a call to a kernel, 64 at a time. It is always one batch
// ahead: a kernel prefetches the lines of the next batch, 32 elements before their turn.
// It does not allocate.
type pipeline struct {
	elements
	taken   int // elements that are in a batch
	at      int // the batch that next returns
	size    [2]int
	batches [2]batch
}

// begin fills the first batch. There must be an element. The caller sets the elements
// before: slices that a method stores would escape to the heap.
func (p *pipeline) begin(lines []layout.Line) {
	p.lines = len(lines)
	p.fill(0)
	touchLines(lines, p.batches[0].offset[:32])
}

// next returns the batch of the next 64 elements, or as many as are left, and the batch
// after it, whose lines the kernel prefetches. The last batch is its own successor. n may
// be 0 with unseen.
func (p *pipeline) next() (current, ahead *batch, n int) {
	at := p.at & 1
	current, ahead, n = &p.batches[at], &p.batches[at], p.size[at]
	if p.taken < p.count {
		p.fill(at ^ 1)
		ahead = &p.batches[at^1]
	}
	p.at ^= 1
	return current, ahead, n
}

// fill fills batch at with the next elements.
func (p *pipeline) fill(at int) {
	b, from, to := &p.batches[at], p.taken, min(p.taken+64, p.count)
	p.taken, p.size[at] = to, to-from
	switch p.kind {
	case exact32:
		b.fillExact32(p.words[from:to], layout.ExactRemainderBits(p.lines), p.geometry)
		return
	case exact64:
		b.fillExact64(p.digests[from:to], lineShift64(p.lines))
		return
	case sliding:
		b.fillSliding(p.lows[from:to], p.dates[from:to], lineShift64(p.lines))
		return
	}
	b.fill(p.digests[from:to], p.lines, p.kind == inWords, p.position+uint64(from), p.random)
	if p.kind == unseen && p.seen[from/64]<<(64-p.size[at]) != 0 {
		p.size[at] = b.drop(p.size[at], p.seen[from/64])
	}
}

// lineShift64 returns the shift from a 64-bit word to the number of its line, given the
// number of lines, a power of two.
func lineShift64(lines int) uint { return uint(65 - bits.Len(uint(lines))) }

// inOrder returns the bits of n elements, 1 to 64, in stream order. Kernels shift the bit
// of each element in from below, so bit 0 is the last element's.
func inOrder(shifted uint64, n int) uint64 { return bits.Reverse64(shifted) >> (64 - n) }

// bitWords returns how many words hold n bits.
func bitWords(n int) int { return (n + 63) / 64 }

// checkArguments panics in the name of a function unless there are lines and, for each of
// n elements, a bit of seen.
func checkArguments(function string, lines []layout.Line, seen []uint64, n int) {
	switch {
	case len(lines) == 0:
		panic("line: " + function + ": no lines")
	case len(seen) < bitWords(n):
		panic("line: " + function + ": seen shorter than the elements")
	}
}

// spread moves the lowest bits of x to the bits that are set in mask, in order (PDEP).
func spread(x, mask uint64) (moved uint64) {
	if mask == ^uint64(0) {
		return x
	}
	return spreadBits(x, mask)
}

func spreadGeneric(x, mask uint64) (moved uint64) {
	for ; x != 0 && mask != 0; mask &= mask - 1 {
		moved |= mask & -mask & -(x & 1)
		x >>= 1
	}
	return moved
}

// Prefetch makes the CPU fetch the lines of some hashes to its caches, and does not wait
// for them: the caller does other work meanwhile. The low bits of a hash are the number
// of its line. There are a power of two lines, or Prefetch panics.
func Prefetch(lines []layout.Line, hashes []uint64) {
	if len(lines) == 0 || len(lines)&(len(lines)-1) != 0 {
		panic("line: Prefetch: not a power of two lines")
	}
	prefetch(lines, hashes)
}

// Multipliers of prng: 2^64 over the golden ratio, and the multiplier of Jon Maiga's
// mixer mx3. golden also spreads the numbers of eras.
const (
	golden  = layout.Golden
	prngMix = 0xbea225f9eb34556d
)

// prng returns the random word r1 of an element: the first two rounds of mx3 over the low
// half of its digest, digest[0], and its position in the stream. prngNext returns r2:
//
//	x  = low ^ position * 0x9e3779b97f4a7c15
//	x  = (x ^ x>>32) * 0xbea225f9eb34556d
//	x  = (x ^ x>>29) * 0xbea225f9eb34556d
//	r1 = x ^ x>>32
//	r2 = r1 * 0xbea225f9eb34556d, r2 = r2 ^ r2>>29
//
// all modulo 2^64. Filters have no other source of randomness. So their behavior depends
// only on the stream: not on how it is cut into calls, on the worker that takes an
// element, or on the machine.
func prng(low, position uint64) uint64 {
	x := low ^ position*golden
	x = (x ^ x>>32) * prngMix
	x = (x ^ x>>29) * prngMix
	return x ^ x>>32
}

// prngNext returns r2 from r1: the third and last round of mx3.
func prngNext(r1 uint64) uint64 {
	x := r1 * prngMix
	return x ^ x>>29
}
