package asm

import "math/bits"

// rowGeometry is a RowShape as the kernels want it. The kernels in assembly know
// its layout.
type rowGeometry struct {
	width   uint64    // bits a cell
	ones    uint64    // the lowest bit of each cell of a word
	tops    uint64    // the top bit of each cell of a word
	cell    uint64    // all bits of the first cell of a word
	spread  [2]uint64 // for each byte of two words, which byte of the first cell of its word is put there
	choose  uint64    // how far a random word is shifted right to be the number of a cell
	top     uint64    // the bit that stands for the first cell: 1, or (see topVictims) its top bit
	spacing uint64    // the bit for a cell is 2^spacing places above the one before
}

func newRowGeometry(s RowShape) (g rowGeometry) {
	width := s.CellBits()
	g.width = uint64(width)
	g.cell = ^uint64(0) >> (64 - width)
	g.ones = ^uint64(0) / g.cell
	g.tops = g.ones << (width - 1)
	const bytes = 0x0101010101010101
	g.spread[0] = 0x0706050403020100 & (bytes * uint64(width/8-1))
	g.spread[1] = g.spread[0] + 8*bytes
	g.choose = uint64(65 - bits.Len(uint(s.Cells())))
	g.top = 1
	if s.InWords() && topVictims() {
		g.spacing = uint64(bits.TrailingZeros(uint(width)))
		g.top <<= width - 1
	}
	return g
}

// testAndSetRows is TestAndSetRows after its checks; it returns how many cells
// were filled. The kernels return the elements that they miss, and of those that they
// put into a cell the ones whose cell was empty, both shifted in from below: the
// last element is bit 0. Where rows are lines, a victim that is 0 keeps an element out of a
// full row, though it is missed.
func testAndSetRows(lines [][8]uint64, seen []uint64, digests []Digest, position uint64, order []uint32, p RowParams) (filled uint64) {
	if len(digests) == 0 {
		return 0
	}
	g, random := newRowGeometry(p.Shape), p.Eviction == EvictRandom
	kind := inLines
	if p.Shape.InWords() {
		kind = inWords
	}
	var w pipeline
	w.begin(lines, elements{kind: kind, count: len(digests), digests: digests, position: position, order: order, random: random})
	for at := range seen {
		current, ahead, n := w.next()
		current.fingerprint(n, &g, random)
		missed, empty := testAndSetRowBatch(lines, current, ahead, n, &g, p)
		seen[at] = inOrder(^missed, n)
		filled += uint64(bits.OnesCount64(empty))
	}
	return filled
}

// fingerprint makes of the low halves of the first n digests their fingerprints, in each
// cell of a word, and of their random words the cells that random evictions take, a bit
// for a cell.
func (b *batch) fingerprint(n int, g *rowGeometry, victims bool) {
	if b.fingerprintVectors(n, g, victims) {
		return
	}
	for i, low := range b.low[:n] {
		fingerprint, _ := bits.Mul64(low, g.cell)
		b.low[i] = (fingerprint + 1) * g.ones
	}
	if !victims {
		return
	}
	for i, random := range b.random[:n] {
		b.random[i] = g.top << (random >> (g.choose & 63) << (g.spacing & 63) & 63)
	}
}
