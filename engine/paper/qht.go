package paper

import (
	"fmt"
	"math/bits"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// QHTConfig is what quotient hash tables are made from, [NewQHT] and its variants.
type QHTConfig struct {
	Bits     int        // M, the memory in bits, up to 2^38; rows are floor(M/(k s))
	CellBits int        // s, the bits of a cell (the paper also writes sigma), from 1 to 16
	Cells    int        // k, the cells of a row ("buckets"), from 1 to S
	Empty    EmptyCells // how empty cells are told, which gives S
	Seed     uint64     // of the random evictions; queues have none
}

func (c QHTConfig) table() (quotientTable, fingerprints, error) {
	f := fingerprints{width: c.CellBits, empty: c.Empty}
	fail := func(err error) (quotientTable, fingerprints, error) { return quotientTable{}, f, err }
	if err := requireRange("Empty", int(c.Empty), int(EmptyRehashed), int(EmptyShared)); err != nil {
		return fail(err)
	}
	if err := requireRange("CellBits", c.CellBits, 1, maxCellBits); err != nil {
		return fail(err)
	}
	if err := requireRange("Cells", c.Cells, 1, f.count()); err != nil {
		return fail(fmt.Errorf("a row of different fingerprints: %w", err))
	}
	if err := requireRange("Bits", c.Bits, c.Cells*c.CellBits, maxBits); err != nil {
		return fail(fmt.Errorf("at least one row: %w", err))
	}
	return newQuotientTable(c.Bits/(c.Cells*c.CellBits), c.Cells, c.CellBits), f, nil
}

// QHT is the quotient hash table of paper "Quotient Hash Tables - Efficiently Detecting
// Duplicates in Streaming Data" (Géraud, Lombard-Platet, Naccache, SAC 2019), section
// 3.1, Algorithm 1: rows of k cells with a fingerprint of s bits each. An element whose
// fingerprint is not in its row goes into the first empty cell of the row or, if there is
// none, replaces the fingerprint in a random cell. An element reported duplicate changes
// nothing.
//
// In saturation its false positive rate is k/S, and its false negative rate 1 - k/S
// (Theorems 4.1 and 4.2). FP_m of Theorem 4.1 is exact for k = 1 only. It is too low for
// rows of more cells, since the empty ones fill first.
//
// Interpretation: S is 2^s - 1 by default ([EmptyRehashed]), which gives the paper's
// tables although they are headed S = 2^s. The number of rows need not be a power of two.
type QHT struct {
	table       quotientTable
	fingerprint func(x uint64) uint64 // of an element, of whose digest x is element 0
	random      *rand.Rand
	duplicates  bool // elements reported duplicate are inserted too
	queued      bool // rows are queues
}

var _ Filter = (*QHT)(nil)

// NewQHT returns an empty table; errors wrap [ErrParameter].
func NewQHT(c QHTConfig) (*QHT, error) { return c.newQHT(false, false) }

// NewQHTD returns the table with duplicates (section 5.1): every element is inserted,
// reported duplicate or not, so that a row may hold a fingerprint several times. In
// saturation its rates are 1 - (1-1/S)^k and (1-1/S)^k.
//
// Interpretation: the paper prints no algorithm for this one. It inserts as Algorithm 1
// does: into the first empty cell, or else over a random one, which may already hold the
// fingerprint.
func NewQHTD(c QHTConfig) (*QHT, error) { return c.newQHT(true, false) }

// NewQQHT returns the queued table (section 5.2, the column QHT/QQHT of Table 4): each row
// is a queue of k fingerprints, of which a new one pushes out the oldest. With k = 1 it is
// [NewQHT]. In saturation its rates are those of that, too.
func NewQQHT(c QHTConfig) (*QHT, error) { return c.newQHT(false, true) }

// NewQQHTD returns the queued table with duplicates (section 5.2, Algorithm 2): every
// element is appended to its row's queue. In saturation its rates are those of [NewQHTD].
// With k = 1 it reports what [NewQHT] does.
//
// Interpretation: a row that is not full yet is a queue with empty cells at its front, as
// Algorithm 2 always pops one and appends one.
func NewQQHTD(c QHTConfig) (*QHT, error) { return c.newQHT(true, true) }

func (c QHTConfig) newQHT(duplicates, queued bool) (*QHT, error) {
	table, fingerprints, err := c.table()
	if err != nil {
		return nil, err
	}
	return &QHT{
		table: table, fingerprint: fingerprints.of, random: newRandom(c.Seed),
		duplicates: duplicates, queued: queued,
	}, nil
}

// TestAndSet implements [Filter].
func (q *QHT) TestAndSet(d digest.Digest) (seen bool) {
	row, fingerprint := q.table.row(d[1]), q.fingerprint(d[0])
	_, seen = q.table.find(row, fingerprint)
	switch {
	case seen && !q.duplicates:
	case q.queued:
		q.table.push(row, fingerprint)
	default:
		q.table.insert(row, fingerprint, q.random)
	}
	return seen
}

// Cell returns what the table knows of an element: its row and its fingerprint. Elements
// that agree in both are the same to it.
func (q *QHT) Cell(d digest.Digest) (row, fingerprint uint64) {
	return q.table.row(d[1]), q.fingerprint(d[0])
}

// Bits implements [Filter]: the memory of whole rows, so up to k s - 1 less
// than was asked for.
func (q *QHT) Bits() int { return q.table.bits() }

// quotientTable holds rows of perRow cells with a fingerprint each; 0 is an
// empty cell.
type quotientTable struct {
	cells  cells
	rows   int
	perRow int
}

func newQuotientTable(rows, perRow, width int) quotientTable {
	return quotientTable{cells: newCells(rows*perRow, width), rows: rows, perRow: perRow}
}

// row returns the first cell of the row that belongs to an element, of whose
// digest x is element 1.
func (t *quotientTable) row(x uint64) uint64 {
	return scale(x, uint64(t.rows)) * uint64(t.perRow)
}

// find returns the first cell of the row that holds value: an empty one if
// value is 0.
func (t *quotientTable) find(row, value uint64) (cell uint64, found bool) {
	for cell = row; cell < row+uint64(t.perRow); cell++ {
		if t.cells.get(cell) == value {
			return cell, true
		}
	}
	return 0, false
}

// insert stores value in the first empty cell of the row, or in a random one if
// none is empty.
func (t *quotientTable) insert(row, value uint64, random *rand.Rand) {
	cell, found := t.find(row, 0)
	if !found {
		cell = row + random.Uint64N(uint64(t.perRow))
	}
	t.cells.put(cell, value)
}

// push moves the cells of the row one place to the front, which drops the first,
// and stores value in the last.
func (t *quotientTable) push(row, value uint64) {
	last := row + uint64(t.perRow) - 1
	for cell := row; cell < last; cell++ {
		t.cells.put(cell, t.cells.get(cell+1))
	}
	t.cells.put(last, value)
}

// bits returns the table's memory in bits.
func (t *quotientTable) bits() int { return t.rows * t.perRow * int(t.cells.width) }

// EmptyCells says how a filter of fingerprints tells empty cells from used
// ones when the cells are plain words that start as zero: the three options of
// paper "Quotient Hash Tables - Efficiently Detecting Duplicates in Streaming
// Data" (Géraud, Lombard-Platet, Naccache, SAC 2019), section 3.2. S, the
// number of fingerprints, follows from it and the cell's s bits.
type EmptyCells uint8

const (
	// EmptyRehashed is the third option, the paper's choice, which gives its tables: an
	// element whose fingerprint is 0 gets another one from the next hash function, until
	// it is not 0. S is 2^s - 1, and all fingerprints are equally likely.
	EmptyRehashed EmptyCells = iota
	// EmptyReassigned is the second option: fingerprint 0 becomes 1. S is
	// 2^s - 1, but 1 is twice as likely as any other fingerprint.
	EmptyReassigned
	// EmptyShared is the first option: 0 is a fingerprint like any other, so an element
	// that has it is reported a duplicate by every row with an empty cell. S is 2^s.
	// Interpretation: a cell that holds the fingerprint 0 cannot be told from an empty
	// one, so it is the next to be filled.
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

// of returns the fingerprint of an element, of whose digest x is element 0.
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
func rehash(x, i uint64) uint64 { return SplitMix(x + i*golden) }

// floorPowerOfTwo returns the largest power of two up to n, which is at least 1.
func floorPowerOfTwo(n int) int { return 1 << (bits.Len(uint(n)) - 1) }
