// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"cmp"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

// QHTConfig configures quotient hash tables: [NewQHT] and its variants.
type QHTConfig struct {
	Bits     int        // M, the memory in bits, up to 2^38; rows are floor(M/(k s))
	CellBits int        // s, the bits of a cell (the paper also writes sigma), from 1 to 16
	Cells    int        // k, the cells of a row ("buckets"), from 1 to S
	Empty    EmptyCells // how empty cells are marked, which gives S
	Seed     uint64     // of the random evictions; queues have none
}

// newQHT returns the table whose rows take the given number of bits.
func (c QHTConfig) newQHT(duplicates, queued bool, encoding *SemiSort) (*QHT, error) {
	f := fingerprints{width: c.CellBits, empty: c.Empty}
	if err := cmp.Or(
		requireRange("Empty", int(c.Empty), int(EmptyRehashed), int(EmptyShared)),
		requireRange("CellBits", c.CellBits, 1, maxCellBits),
	); err != nil {
		return nil, err
	}
	t, err := tableShape{
		bits: c.Bits, perRow: c.Cells, width: c.CellBits, fingerprints: f.count(),
		leastRows: 1, encoding: encoding,
	}.newTable()
	if err != nil {
		return nil, err
	}
	return &QHT{
		table: t, fingerprint: f.of, random: newRandom(c.Seed),
		duplicates: duplicates, queued: queued,
	}, nil
}

// QHT is the quotient hash table of GLN19, section 3.1, Algorithm 1: rows of k cells with
// a fingerprint of s bits each. An element whose fingerprint is not in its row goes into
// the first empty cell of the row or, if there is none, replaces the fingerprint in a
// random cell. An element reported duplicate changes nothing.
//
// In saturation its false positive rate is k/S, and its false negative rate 1 - k/S
// (Theorems 4.1 and 4.2). FP_m of Theorem 4.1 is exact for k = 1 only. It is too low for
// rows of more cells, since the empty cells fill first.
//
// Interpretation: S is 2^s - 1 by default ([EmptyRehashed]), which gives the paper's
// tables although they are headed S = 2^s. The number of rows need not be a power of two.
type QHT struct {
	table       *quotientTable
	fingerprint func(x uint64) uint64 // fingerprint of an element; x is element 0 of its digest
	random      *rand.Rand
	duplicates  bool // elements reported duplicate are inserted too
	queued      bool // rows are queues
}

var _ Filter = (*QHT)(nil)

// NewQHT returns an empty table; errors wrap [ErrParameter].
func NewQHT(c QHTConfig) (*QHT, error) { return c.newQHT(false, false, nil) }

// NewQHTD returns the table with duplicates (section 5.1): every element is inserted,
// reported duplicate or not, so that a row may hold a fingerprint several times. In
// saturation its rates are 1 - (1-1/S)^k and (1-1/S)^k.
//
// Interpretation: the paper prints no algorithm for this table. It inserts as Algorithm 1
// does: into the first empty cell, or else over a random cell, which may already hold the
// fingerprint.
func NewQHTD(c QHTConfig) (*QHT, error) { return c.newQHT(true, false, nil) }

// NewQQHT returns the queued table (section 5.2, the column QHT/QQHT of Table 4): each
// row is a queue of k fingerprints, from which a new fingerprint pushes out the oldest. With k =
// 1 it is [NewQHT]. In saturation it has the rates of [NewQHT] for any k.
func NewQQHT(c QHTConfig) (*QHT, error) { return c.newQHT(false, true, nil) }

// NewQQHTD returns the queued table with duplicates (section 5.2, Algorithm 2): every
// element is appended to its row's queue. In saturation it has the rates of [NewQHTD].
// With k = 1 its reports equal those of [NewQHT].
//
// Interpretation: a row that is not full yet is a queue with empty cells at its front, as
// Algorithm 2 always pops and appends a fingerprint.
func NewQQHTD(c QHTConfig) (*QHT, error) { return c.newQHT(true, true, nil) }

// TestAndSet implements [Filter].
func (q *QHT) TestAndSet(d digest.Digest) (seen bool) {
	at, fingerprint := q.Cell(d)
	row := q.table.read(at)
	seen = slices.Contains(row, fingerprint)
	switch {
	case seen && !q.duplicates:
		return true
	case q.queued:
		copy(row, row[1:])
		row[len(row)-1] = fingerprint
	default:
		cell := slices.Index(row, 0)
		if cell < 0 {
			cell = int(q.random.Uint64N(uint64(len(row))))
		}
		row[cell] = fingerprint
	}
	q.table.write(at, row)
	return seen
}

// Cell returns an element's row and fingerprint. The table cannot distinguish elements
// that agree in both.
func (q *QHT) Cell(d digest.Digest) (row, fingerprint uint64) {
	return q.table.rowOf(d), q.fingerprint(d[0])
}

// Bits implements [Filter]: the memory of whole rows, so up to k s - 1 less
// than was asked for.
func (q *QHT) Bits() int { return q.table.cells.Bits() }

// quotientTable holds rows of cells with a fingerprint each; 0 is an empty cell.
type quotientTable struct {
	cells    cells
	rows     uint64
	row      []uint64  // a copy of the row at hand
	encoding *SemiSort // of rows, if not nil: each is one cell then
}

// tableShape says which table to make.
type tableShape struct {
	bits, perRow, width int
	fingerprints        int // S, the limit of the cells of a row
	leastRows           int
	powerOfTwo          bool      // of rows
	encoding            *SemiSort // may be nil
}

// newTable returns an empty table of as many rows as fit the bits.
func (s tableShape) newTable() (*quotientTable, error) {
	rowBits := s.perRow * s.width
	if s.encoding != nil {
		rowBits = s.encoding.Bits()
	}
	if err := requireRange("Cells", s.perRow, 1, s.fingerprints); err != nil {
		return nil, fmt.Errorf("a row of different fingerprints: %w", err)
	}
	if err := requireRange("Bits", s.bits, s.leastRows*rowBits, maxBits); err != nil {
		return nil, fmt.Errorf("rows, at least %d: %w", s.leastRows, err)
	}
	rows := s.bits / rowBits
	if s.powerOfTwo {
		rows = 1 << (bits.Len(uint(rows)) - 1)
	}
	t := &quotientTable{rows: uint64(rows), row: make([]uint64, s.perRow), encoding: s.encoding}
	if s.encoding != nil {
		t.cells = newCells(rows, rowBits)
	} else {
		t.cells = newCells(rows*s.perRow, s.width)
	}
	return t, nil
}

// rowOf returns the row that belongs to an element.
func (t *quotientTable) rowOf(d digest.Digest) uint64 { return scale(d[1], t.rows) }

// read returns a copy of a row, which is valid until the next call.
func (t *quotientTable) read(at uint64) []uint64 {
	if t.encoding != nil {
		t.encoding.decode(t.cells.get(at), t.row)
		return t.row
	}
	first := at * uint64(len(t.row))
	for i := range t.row {
		t.row[i] = t.cells.get(first + uint64(i))
	}
	return t.row
}

// write stores a row.
func (t *quotientTable) write(at uint64, row []uint64) {
	if t.encoding != nil {
		t.cells.put(at, t.encoding.encode(row))
		return
	}
	first := at * uint64(len(row))
	for i, fingerprint := range row {
		t.cells.put(first+uint64(i), fingerprint)
	}
}

// EmptyCells says how a filter of fingerprints distinguishes empty cells from used cells
// when the cells are plain words that start as zero: the three options of GLN19, section
// 3.2. S, the number of fingerprints, follows from it and the cell's s bits.
type EmptyCells uint8

const (
	// EmptyRehashed is the third option, the paper's choice, which gives its tables: an
	// element whose fingerprint is 0 gets a fingerprint from the next hash function, until
	// it is not 0. S is 2^s - 1, and all fingerprints are equally likely.
	EmptyRehashed EmptyCells = iota
	// EmptyReassigned is the second option: fingerprint 0 becomes 1. S is
	// 2^s - 1, but 1 is twice as likely as any other fingerprint.
	EmptyReassigned
	// EmptyShared is the first option: 0 is a fingerprint like any other, so an element
	// that has it is reported a duplicate by every row with an empty cell. S is 2^s.
	// Interpretation: a cell with the fingerprint 0 looks empty, so it is the next to be
	// filled.
	EmptyShared
)

// fingerprints makes the fingerprints of width bits that go into cells.
type fingerprints struct {
	width int
	empty EmptyCells
}

// count returns S.
func (f fingerprints) count() int {
	if f.empty == EmptyShared {
		return 1 << f.width
	}
	return 1<<f.width - 1
}

// of returns the fingerprint of an element; x is element 0 of its digest.
func (f fingerprints) of(x uint64) uint64 {
	mask := uint64(1)<<f.width - 1
	value := x & mask
	if value != 0 || f.empty == EmptyShared {
		return value
	}
	if f.empty == EmptyReassigned {
		return 1
	}
	for i := uint64(1); value == 0; i++ {
		value = rehash(x, i) & mask
	}
	return value
}

// rehash returns value number i of the SplitMix64 sequence that x determines. Every 64-bit
// value occurs in it.
func rehash(x, i uint64) uint64 { return layout.Mix(x + i*layout.Golden) }

// SQFConfig configures a streaming quotient filter.
type SQFConfig struct {
	Bits        int    // M, the memory in bits, up to 2^38; the largest power of two of rows that fits is used
	Cells       int    // k, the cells of a row, from 1 to S = 2^r' (r-r'+1)
	Remainder   int    // r, the hash bits whose weight is taken, from 2
	Fingerprint int    // r', how many of these bits are stored as they are, from 1 to r-1
	Seed        uint64 // of the random evictions
}

// NewSQF returns an empty streaming quotient filter (Dutta, Narang, Bera, VLDB 2013) as
// GLN19 gives it in section 2.4: 2^q rows of k cells. A fingerprint is the r' low bits of
// r hash bits and the number of ones among all r. It takes r' + ceil(log2(r+1)) bits, but
// only 2^r' (r-r'+1) of their values occur. It inserts and evicts as [QHT] does.
//
// Interpretation: q is the largest that fits the memory, so that up to half of it is
// unused; at 3-bit cells this is most of QHT's lead over SQF in the paper's Table 2. A
// value that cannot occur (remainder bits that are all ones, with a weight of 0) stands
// for an empty cell and is stored as 0 (footnote of section 4.4.1). This needs an r' of
// at least 1.
//
// Errors wrap [ErrParameter].
func NewSQF(c SQFConfig) (*QHT, error) {
	weightBits := bits.Len(uint(c.Remainder)) // ceil(log2(r+1))
	width := c.Fingerprint + weightBits
	if err := cmp.Or(
		requireRange("Remainder", c.Remainder, 2, maxCellBits),
		requireRange("Fingerprint", c.Fingerprint, 1, c.Remainder-1),
		requireRange("cell width", width, 1, maxCellBits),
	); err != nil {
		return nil, err
	}
	distinct := (c.Remainder - c.Fingerprint + 1) << c.Fingerprint
	t, err := tableShape{
		bits: c.Bits, perRow: c.Cells, width: width, fingerprints: distinct,
		leastRows: 1, powerOfTwo: true,
	}.newTable()
	if err != nil {
		return nil, err
	}
	// The reduced remainder is inverted, so that no fingerprint is 0.
	remainder, reduced := uint64(1)<<c.Remainder-1, uint64(1)<<c.Fingerprint-1
	return &QHT{
		table: t,
		fingerprint: func(x uint64) uint64 {
			return (^x&reduced)<<weightBits | uint64(bits.OnesCount64(x&remainder))
		},
		random: newRandom(c.Seed),
	}, nil
}
