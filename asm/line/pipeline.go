package line

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
	"math/bits"
)

// elements are the elements of a call, and how a batch is made of them.
type elements struct {
	kind  elementKind
	count int // of elements
	lines int // how many there are to choose from

	digests  []digest.Digest // of all kinds but exact32 and sliding
	position uint64          // see the package comment, like order
	order    []uint32
	random   bool // the kernel wants random words

	seen     []uint64     // of unseen
	words    []uint32     // of exact32
	geometry *rowGeometry // of exact32
	lows     []uint64     // of sliding
	dates    []uint16     // of sliding
}

// elementKind says what chooses an element's line.
type elementKind uint8

const (
	inLines elementKind = iota // the high half of a digest: one of all lines
	inWords                    // the same: one of the words of all lines
	unseen                     // as inLines; elements that seen has already are left out
	exact32                    // the first bits of a word of 32 bits
	exact64                    // the first bits of a digest's low half
	sliding                    // the first bits of a word of 64 bits, with a date
)

// pipeline takes the elements of a call to a kernel, 64 at a time. It is always one
// batch ahead: a kernel fetches the lines of the batch after the one that it works
// on, 32 elements before their turn. It does not allocate.
type pipeline struct {
	elements
	taken   int // elements that are in a batch
	at      int // the batch that next returns
	size    [2]int
	batches [2]batch
}

// begin makes the first batch. There must be an element. The caller has set the elements: what
// a method stores would count as escaping to the heap.
func (p *pipeline) begin(lines []layout.Line) {
	p.lines = len(lines)
	p.fill(0)
	touchLines(lines, p.batches[0].offset[:32])
}

// next returns the batch of the next 64 elements, or as many as there are, and the one
// after it, whose lines are to be fetched meanwhile. The last batch is its own successor.
// Of unseen elements n may be 0.
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

// fill makes batch at of the next elements.
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
	position, order := partOf(p.position, p.order, from, to)
	b.fill(p.digests[from:to], p.lines, p.kind == inWords, position, order, p.random)
	if p.kind == unseen && p.seen[from/64]<<(64-p.size[at]) != 0 {
		p.size[at] = b.drop(p.size[at], p.seen[from/64])
	}
}

// partOf returns position and order of the elements from to to-1.
func partOf(position uint64, order []uint32, from, to int) (uint64, []uint32) {
	if order == nil {
		return position + uint64(from), nil
	}
	return position, order[from:to]
}

// lineShift64 returns by how much a word of 64 bits is shifted right to leave the number
// of one of lines, a power of two.
func lineShift64(lines int) uint { return uint(65 - bits.Len(uint(lines))) }

// inOrder returns, in stream order, what a kernel says of n elements, 1 to 64. Kernels shift
// the bit of each element in from below, so that the last one's is bit 0.
func inOrder(shifted uint64, n int) uint64 { return bits.Reverse64(shifted) >> (64 - n) }

// bitWords returns how many words have a bit for each of n elements.
func bitWords(n int) int { return (n + 63) / 64 }

// checkArguments panics in the name of a function unless there are lines, a bit of seen for
// each of n elements and, if order is not nil, a number in it.
func checkArguments(function string, lines []layout.Line, seen []uint64, order []uint32, n int) {
	switch {
	case len(lines) == 0:
		panic("line: " + function + ": no lines")
	case len(seen) < bitWords(n):
		panic("line: " + function + ": seen shorter than the elements")
	case order != nil && len(order) < n:
		panic("line: " + function + ": order shorter than the elements")
	}
}

// spread moves the lowest bits of x to where mask has its ones, in their order.
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
