package paper

import (
	"fmt"
	"github.com/flowdedup/flowdedup/asm/digest"
	"math/rand/v2"
	"slices"
)

// SemiSortedQHT is a [QHT] with semi-sorted rows ([SemiSort]) of paper "Quotient Hash
// Tables - Efficiently Detecting Duplicates in Streaming Data" (Géraud,
// Lombard-Platet, Naccache, SAC 2019), section 3.3. The same memory has more rows.
//
// With as many rows as a QHT it holds the same fingerprints and reports the same, until a
// row is full. Then each evicts a fingerprint in a random place, all being equally
// likely, but the places are those of the sorted row here. So the two have the same error
// rates, but not the same errors even with the same seed, unless a row is one cell.
//
// Reading taken: the paper gives no algorithm. A row is decoded, changed as by Algorithm 1
// and encoded again, which takes time proportional to k s.
type SemiSortedQHT struct {
	codes        cells
	rows         uint64
	encoding     *SemiSort
	row          []uint64 // the row at hand, decoded
	fingerprints fingerprints
	random       *rand.Rand
}

var _ Filter = (*SemiSortedQHT)(nil)

// NewSemiSortedQHT returns an empty table of floor(M/b) rows, where b is
// [SemiSort.Bits]. Errors wrap [ErrParameter].
func NewSemiSortedQHT(c QHTConfig) (*SemiSortedQHT, error) {
	if err := requireRange("Empty", int(c.Empty), int(EmptyRehashed), int(EmptyShared)); err != nil {
		return nil, err
	}
	encoding, err := NewSemiSort(c.Cells, c.CellBits)
	if err != nil {
		return nil, err
	}
	f := fingerprints{width: c.CellBits, empty: c.Empty}
	if err := requireRange("Cells", c.Cells, 1, f.count()); err != nil {
		return nil, fmt.Errorf("a row of different fingerprints: %w", err)
	}
	if err := requireRange("Bits", c.Bits, encoding.Bits(), maxBits); err != nil {
		return nil, fmt.Errorf("at least one row: %w", err)
	}
	rows := c.Bits / encoding.Bits()
	return &SemiSortedQHT{
		codes:        newCells(rows, encoding.Bits()),
		rows:         uint64(rows),
		encoding:     encoding,
		row:          make([]uint64, c.Cells),
		fingerprints: f,
		random:       newRandom(c.Seed),
	}, nil
}

// TestAndSet implements [Filter].
func (q *SemiSortedQHT) TestAndSet(d digest.Digest) (seen bool) {
	at, fingerprint := scale(d[1], q.rows), q.fingerprints.of(d[0])
	q.encoding.decode(q.codes.get(at), q.row)
	if slices.Contains(q.row, fingerprint) {
		return true
	}
	cell := 0 // empty cells come first
	if q.row[0] != 0 {
		cell = int(q.random.Uint64N(uint64(len(q.row))))
	}
	q.row[cell] = fingerprint
	q.codes.put(at, q.encoding.encode(q.row))
	return false
}

// Bits implements [Filter]: the memory of whole rows.
func (q *SemiSortedQHT) Bits() int { return int(q.rows) * q.encoding.Bits() }
