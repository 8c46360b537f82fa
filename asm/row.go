package asm

import "math/bits"

// RowShape says how a line of 512 bits is made of fingerprint rows, and a row
// of cells: a row is searched as a whole, and evicts from itself alone.
type RowShape uint8

const (
	// Rows8x8 has 8 rows in a line, each a word of 8 cells of 8 bits.
	Rows8x8 RowShape = iota
	// Rows4x16 has 8 rows in a line, each a word of 4 cells of 16 bits.
	Rows4x16
	// Lines32x16 has one row in a line: 32 cells of 16 bits.
	Lines32x16
	// Lines16x32 has one row in a line: 16 cells of 32 bits.
	Lines16x32
	// Lines8x64 has one row in a line: 8 cells of 64 bits.
	Lines8x64
	rowShapes
)

// rowCellBits and rowWords are the shapes' bits a cell and words a row.
var (
	rowCellBits = [rowShapes]uint8{8, 16, 16, 32, 64}
	rowWords    = [rowShapes]uint8{1, 1, 8, 8, 8}
)

// CellBits returns how many bits a cell has, w in what follows. It panics
// if s is none of the constants.
func (s RowShape) CellBits() int { return int(rowCellBits[s]) }

// Cells returns how many cells a row has. It panics if s is none of the constants.
func (s RowShape) Cells() int { return int(rowWords[s]) * 64 / int(rowCellBits[s]) }

// RowsPerLine returns how many rows a line has, 8 or 1. It panics if s is none
// of the constants.
func (s RowShape) RowsPerLine() int { return 8 / int(rowWords[s]) }

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
// for the random word r1 that draw describes and the element's position in the
// stream, which is position + i, or position + order[i] if order is not nil, modulo
// 2^64. So verdicts and memory do not depend on how a stream is cut into calls. Nor
// do they if the elements of some lines are given to one worker and those of others
// to another, each with order saying where they come from. The other evictions use
// neither.
//
// It takes constant time for each element, does not allocate, and panics if
// lines is empty, seen or order is too short or p is out of range.
func TestAndSetRows(lines [][8]uint64, seen []uint64, digests []Digest, position uint64, order []uint32, p RowParams) (c RowCounts) {
	n := len(digests)
	switch {
	case p.Shape >= rowShapes || p.Eviction >= evictions:
		panic("asm: TestAndSetRows: unknown shape or eviction")
	case len(lines) == 0:
		panic("asm: TestAndSetRows: no lines")
	case len(seen) < (n+63)/64:
		panic("asm: TestAndSetRows: seen shorter than digests")
	case order != nil && len(order) < n:
		panic("asm: TestAndSetRows: order shorter than digests")
	}
	seen = seen[:(n+63)/64]
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
