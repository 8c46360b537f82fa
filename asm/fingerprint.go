package asm

import "math/bits"

// Eviction says where a fingerprint goes that its row does not hold (with
// EvictQueue any), and which one it replaces if the row is full.
type Eviction uint8

const (
	// EvictRandom fills the first empty cell, or else a pseudo-random one. The
	// others stay where they are.
	EvictRandom Eviction = iota
	// EvictLRU puts new fingerprints in front and pushes the last one out. It moves a
	// fingerprint that is found to the front, so that the one which was not seen for
	// longest is pushed out.
	EvictLRU
	// EvictQueue puts every fingerprint in front and pushes the last one out. One that is
	// found is put in front as well, so a row may hold it more than once.
	EvictQueue
	evictions
)

// RowParams says what the rows are like. All calls for the same lines have to
// give the same.
type RowParams struct {
	Shape    RowShape
	Eviction Eviction
}

// RowCounts says where the elements of a call went that were put into a cell: those
// that were not found, and with EvictQueue all.
type RowCounts struct {
	// Filled counts those that took an empty cell: by so many more cells are
	// occupied after the call.
	Filled uint64
	// Evicted counts those that took the cell of another element.
	Evicted uint64
}

// TestAndSetRows sets bit i of seen if the row of element i holds its
// fingerprint, puts the fingerprint there as the eviction says, and clears the bits of the
// others in the words that cover len(digests) elements. Elements are taken in
// order, so those of one call find each other. A row is a row of the quotient
// hash tables of Géraud, Lombard-Platet and Naccache ("Quotient Hash Tables -
// Efficiently Detecting Duplicates in Streaming Data", SAC 2019, section 3),
// cut to a cache line; their eviction is EvictRandom, and EvictQueue that of their
// queued tables with duplicates (QQHTD).
//
// With R = len(lines) * RowsPerLine rows, element i lives in row
// floor(digests[i][1] * R / 2^64); row r is word r%8 of line r/8 where rows are
// words, and line r where they are lines. Its fingerprint is
//
//	1 + floor(digests[i][0] * (2^w - 1) / 2^64)
//
// for cells of w bits: 0 stands for an empty cell, and the other 2^w - 1 values
// are equally likely (to within 2^(w-64) of each other). So an element that was
// never there is found in a row of which c cells are occupied with probability
// c / (2^w - 1), that is Cells / (2^w - 1) at most.
//
// Cells are counted from the lowest bit of a row's first word up, and cell 0 is
// the front. Empty cells are filled first: by EvictRandom from cell 0 up, while
// the others push the last cell out, which is the last to become occupied. A
// fingerprint is in its row at most once, except with EvictQueue. In memory that
// was not made so (with gaps between cells, or equal ones), the first cell that
// fits counts for all of this.
//
// The cell that EvictRandom takes in a full row is
//
//	floor(r1 * Cells / 2^64)
//
// for the element's random word r1, which comes of position and order (see the package
// comment). The other evictions read neither.
//
// It takes constant time for each element, does not allocate, and panics if lines is empty,
// seen or order is too short or p is out of range.
func TestAndSetRows(lines [][8]uint64, seen []uint64, digests []Digest, position uint64, order []uint32, p RowParams) (c RowCounts) {
	n := len(digests)
	if p.Shape >= RowShapes || p.Eviction >= evictions {
		panic("asm: TestAndSetRows: unknown shape or eviction")
	}
	checkArguments("TestAndSetRows", lines, seen, order, n)
	seen = seen[:bitWords(n)]
	c.Filled = testAndSetRows(lines, seen, digests, position, order, p)
	if p.Eviction == EvictQueue {
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
