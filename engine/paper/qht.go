package paper

import (
	"fmt"
	"github.com/flowdedup/flowdedup/asm/digest"
	"math/rand/v2"
)

// QHTConfig is what the quotient hash tables [QHT], [QHTD] and [QQHTD] are made
// from.
type QHTConfig struct {
	Bits     int        // M, the memory in bits, up to 2^38; rows are floor(M/(k s))
	CellBits int        // s, the bits of a cell (the paper also writes sigma), from 1 to 16
	Cells    int        // k, the cells of a row ("buckets"), from 1 to S
	Empty    EmptyCells // how empty cells are told, which gives S
	Seed     uint64     // of the random evictions; a QQHTD has none
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

// QHT is the quotient hash table of paper "Quotient Hash Tables - Efficiently
// Detecting Duplicates in Streaming Data" (Géraud, Lombard-Platet, Naccache, SAC
// 2019), section 3.1, Algorithm 1: rows of k cells with a fingerprint of s bits
// each. An element whose fingerprint is not in its row goes into the row's first
// empty cell or, if there is none, replaces the fingerprint in a random one; an
// element reported duplicate changes nothing.
//
// In saturation its false positive rate is k/S, and its false negative rate
// 1 - k/S (Theorems 4.1 and 4.2). FP_m of Theorem 4.1 is exact for k = 1 only: with
// more cells in a row the empty ones fill first, and it is too low.
//
// Readings taken: S is 2^s - 1 by default ([EmptyRehashed]), which gives the
// paper's tables although they are headed S = 2^s. The number of rows need not be
// a power of two.
type QHT struct {
	table        quotientTable
	fingerprints fingerprints
	random       *rand.Rand
}

var _ Filter = (*QHT)(nil)

// NewQHT returns an empty table; errors wrap [ErrParameter].
func NewQHT(c QHTConfig) (*QHT, error) {
	table, fingerprints, err := c.table()
	if err != nil {
		return nil, err
	}
	return &QHT{table: table, fingerprints: fingerprints, random: newRandom(c.Seed)}, nil
}

// TestAndSet implements [Filter].
func (q *QHT) TestAndSet(d digest.Digest) (seen bool) {
	row, fingerprint := q.table.row(d[1]), q.fingerprints.of(d[0])
	if _, seen = q.table.find(row, fingerprint); !seen {
		q.table.insert(row, fingerprint, q.random)
	}
	return seen
}

// Bits implements [Filter]: the memory of whole rows, so up to k s - 1 less
// than was asked for.
func (q *QHT) Bits() int { return q.table.bits() }
