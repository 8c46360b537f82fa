// SPDX-License-Identifier: Apache-2.0

package line

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
	"math/bits"
)

// Eviction chooses the cell for a fingerprint that a row does not hold (with InsertsCopies
// for any fingerprint), and the fingerprint to evict if the row is full.
type Eviction uint8

const (
	// EvictRandom takes the first empty cell, or else a pseudo-random cell. The others
	// stay where they are.
	EvictRandom Eviction = iota
	// EvictLRU puts new fingerprints in front, moves found fingerprints to the front,
	// and pushes the last out: the least recently seen.
	EvictLRU
	// EvictQueue puts every fingerprint in front and pushes the last out. That
	// includes found fingerprints, so a row may hold a fingerprint more than once.
	EvictQueue
	// EvictRandomCopies is EvictRandom with found fingerprints inserted too, so a row may
	// hold a fingerprint more than once.
	EvictRandomCopies
	// EvictQueueOnce is EvictQueue without found fingerprints: these change nothing.
	EvictQueueOnce
	evictions
)

// InsertsCopies reports whether found fingerprints are inserted again.
func (e Eviction) InsertsCopies() bool { return e == EvictQueue || e == EvictRandomCopies }

// random reports whether the cell of a full row is drawn.
func (e Eviction) random() bool { return e == EvictRandom || e == EvictRandomCopies }

// plain reports whether only the Go twin has the eviction: no command uses it, only measurements.
func (e Eviction) plain() bool { return e > EvictQueue }

// RowParams gives the shape and the eviction of rows. All calls for the same lines must
// have the same parameters.
type RowParams struct {
	Shape    layout.RowShape
	Eviction Eviction
}

// RowCounts counts the elements of a call that were put into a cell: elements that were
// not found, and with InsertsCopies all.
type RowCounts struct {
	// Filled counts elements that took an empty cell.
	Filled uint64
	// Evicted counts elements that took the cell of another element.
	Evicted uint64
}

// TestAndSetRows sets bit i of seen if the row of element i holds its fingerprint, and
// puts the fingerprint into the row according to the eviction. It clears the bits of the
// others in the words that cover len(digests) elements. It takes elements in order, so
// elements of one call find each other. A row is a row of the quotient hash tables of
// Géraud, Lombard-Platet and Naccache ("Quotient Hash Tables - Efficiently Detecting
// Duplicates in Streaming Data", SAC 2019, section 3), within a cache line. Their
// eviction is EvictRandom, with duplicates (QHTD) EvictRandomCopies; their queued tables
// have EvictQueueOnce (QQHT), and with duplicates (QQHTD) EvictQueue.
//
// With R = len(lines) * RowsPerLine rows, element i lives in row floor(digests[i][1] * R
// / 2^64). Row r is word r%8 of line r/8 where rows are words, and line r where they are
// lines. The fingerprint of element i is
//
//	1 + floor(digests[i][0] * (2^w - 1) / 2^64)
//
// for cells of w bits. 0 stands for an empty cell; the other 2^w - 1 values are equally
// likely (to within 2^(w-64) of each other). So a row with c occupied cells finds an
// element that was never there with probability c / (2^w - 1), at most Cells / (2^w - 1).
//
// Empty cells are filled first: random evictions fill them from cell 0 up, and the others
// push the last cell out, which is the last to become occupied. A fingerprint is in its
// row at most once, except with InsertsCopies. In memory of other origin, with gaps or
// equal cells, the first cell that fits counts.
//
// In a full row random evictions take cell floor(r1 * Cells / 2^64), where r1 is the
// random word of the element (see the package comment). The other evictions do not
// read position.
//
// It takes constant time for each element and does not allocate. It panics if lines is
// empty, seen is too short, or p is out of range.
func TestAndSetRows(lines []layout.Line, seen []uint64, digests []digest.Digest, position uint64, p RowParams) (c RowCounts) {
	n := len(digests)
	if p.Shape >= layout.RowShapes || p.Eviction >= evictions {
		panic("line: TestAndSetRows: unknown shape or eviction")
	}
	checkArguments("TestAndSetRows", lines, seen, n)
	seen = seen[:bitWords(n)]
	c.Filled = testAndSetRows(lines, seen, digests, position, p)
	if p.Eviction.InsertsCopies() {
		c.Evicted = uint64(n) - c.Filled
		return c
	}
	found := 0
	for _, word := range seen {
		found += bits.OnesCount64(word)
	}
	c.Evicted = uint64(n-found) - c.Filled
	return c
}

// rowGeometry is a RowShape prepared for the kernels. The kernels in assembly know its
// layout.
type rowGeometry struct {
	width   uint64    // bits a cell
	ones    uint64    // the lowest bit of each cell of a word
	tops    uint64    // the top bit of each cell of a word
	cell    uint64    // all bits of the first cell of a word
	spread  [2]uint64 // for each byte of two words, the byte of the first cell that is copied there
	choose  uint64    // shifts a random word right to the number of a cell
	top     uint64    // the bit that stands for the first cell: 1, or (see topVictims) its top bit
	spacing uint64    // the bit for a cell is 2^spacing places above the bit for the cell before
}

// newRowGeometry prepares a shape. tops is whether victims of rows in words are the top
// bits of their cells, see topVictims.
func newRowGeometry(s layout.RowShape, tops bool) (g rowGeometry) {
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
	if s.InWords() && tops {
		g.spacing = uint64(bits.TrailingZeros(uint(width)))
		g.top <<= width - 1
	}
	return g
}

// testAndSetRows is TestAndSetRows after its checks. It returns how many cells were
// filled. The kernels return the elements that they miss, and the elements that they put
// into an empty cell, both shifted in from below: the last element is bit 0. In rows that
// are lines, a victim of 0 keeps a missed element out of a full row.
func testAndSetRows(lines []layout.Line, seen []uint64, digests []digest.Digest, position uint64, p RowParams) (filled uint64) {
	if len(digests) == 0 {
		return 0
	}
	plain, random := p.Eviction.plain(), p.Eviction.random()
	g := newRowGeometry(p.Shape, plain || topVictims())
	kind := inLines
	if p.Shape.InWords() {
		kind = inWords
	}
	var w pipeline
	w.elements = elements{kind: kind, count: len(digests), digests: digests, position: position, random: random}
	w.begin(lines)
	for at := range seen {
		current, ahead, n := w.next()
		current.fingerprint(n, &g, random)
		var missed, empty uint64
		if plain {
			missed, empty = testAndSetRowBatchGeneric(lines, current, ahead, n, &g, p)
		} else {
			missed, empty = testAndSetRowBatch(lines, current, ahead, n, &g, p)
		}
		seen[at] = inOrder(^missed, n)
		filled += uint64(bits.OnesCount64(empty))
	}
	return filled
}

// fingerprint replaces the low halves of the first n digests by their fingerprints, in
// each cell of a word, and with victims their random words by the cells that random
// evictions take, a bit for a cell.
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
