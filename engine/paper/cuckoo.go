package paper

import (
	"fmt"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// maxKicks bounds the time of one insertion; Fan et al. take 500.
const maxKicks = 1 << 16

// CuckooConfig is what a cuckoo filter is made from.
type CuckooConfig struct {
	Bits     int    // the memory in bits, up to 2^38, of which a power of two of rows is used, two at least
	CellBits int    // the bits of a cell, from 2 to 16; S = 2^CellBits - 1 fingerprints
	Cells    int    // k, the cells of a row, from 1 to S
	Kicks    int    // how many fingerprints an insertion moves at most, from 1 to 65536
	Seed     uint64 // of the random choices
}

// Cuckoo is the cuckoo filter (Fan, Andersen, Kaminsky, Mitzenmacher, CoNEXT 2014) for
// unbounded streams, as paper "Quotient Hash Tables - Efficiently Detecting Duplicates in
// Streaming Data" (Géraud, Lombard-Platet, Naccache, SAC 2019), sections 2.3 and 6.1,
// measures it. When an insertion has moved as many fingerprints as allowed to their other
// rows, the filter forgets the last one moved instead of failing.
//
// An element has two rows, each of which follows from the other one and the fingerprint.
// In saturation the cells hold fingerprints as often as elements have them, so that the
// false positive rate is the sum over all fingerprints of p (1 - (1-p)^(2k)), with k
// cells in a row: 28.52 % for one cell of 3 bits.
//
// Interpretation: an element reported duplicate is inserted too, as section 5.1 says of
// cuckoo filters, so that a row may hold a fingerprint several times; and fingerprint 0
// becomes 1 ([EmptyReassigned]), as section 3.2 says of them. The printed 28.52 % needs
// both: with fingerprints that are all equally likely and never twice in a row the limit
// would be 2/7. The rows are a power of two, the largest that fits. An element's two rows
// always differ. The printed rates need 2^s bits of memory for a cell of s bits, because
// the authors' program divides the memory by 2^s.
type Cuckoo struct {
	table        quotientTable
	fingerprints fingerprints
	kicks        int
	random       *rand.Rand
}

var _ Filter = (*Cuckoo)(nil)

// NewCuckoo returns an empty filter; errors wrap [ErrParameter].
func NewCuckoo(c CuckooConfig) (*Cuckoo, error) {
	if err := requireRange("CellBits", c.CellBits, 2, maxCellBits); err != nil {
		return nil, err
	}
	f := fingerprints{width: c.CellBits, empty: EmptyReassigned}
	if err := requireRange("Cells", c.Cells, 1, f.count()); err != nil {
		return nil, err
	}
	if err := requireRange("Kicks", c.Kicks, 1, maxKicks); err != nil {
		return nil, err
	}
	if err := requireRange("Bits", c.Bits, 2*c.Cells*c.CellBits, maxBits); err != nil {
		return nil, fmt.Errorf("at least two rows: %w", err)
	}
	rows := floorPowerOfTwo(c.Bits / (c.Cells * c.CellBits))
	return &Cuckoo{
		table:        newQuotientTable(rows, c.Cells, c.CellBits),
		fingerprints: f,
		kicks:        c.Kicks,
		random:       newRandom(c.Seed),
	}, nil
}

// TestAndSet implements [Filter].
func (c *Cuckoo) TestAndSet(d digest.Digest) (seen bool) {
	fingerprint := c.fingerprints.of(d[0])
	row := scale(d[1], uint64(c.table.rows))
	other := c.alternateRow(row, fingerprint)
	seen = c.holds(row, fingerprint) || c.holds(other, fingerprint)
	if !c.insertInto(row, fingerprint) && !c.insertInto(other, fingerprint) {
		if c.random.Uint64()&1 == 1 {
			row = other
		}
		c.kick(row, fingerprint)
	}
	return seen
}

// alternateRow returns the second row of a fingerprint that may be in the row given;
// alternateRow of other is the row again.
func (c *Cuckoo) alternateRow(row, fingerprint uint64) uint64 {
	return row ^ (1 + scale(rehash(fingerprint, 0), uint64(c.table.rows)-1))
}

func (c *Cuckoo) holds(row, fingerprint uint64) bool {
	_, found := c.table.find(row*uint64(c.table.perRow), fingerprint)
	return found
}

// insertInto stores the fingerprint if the row has an empty cell.
func (c *Cuckoo) insertInto(row, fingerprint uint64) bool {
	cell, found := c.table.find(row*uint64(c.table.perRow), 0)
	if found {
		c.table.cells.put(cell, fingerprint)
	}
	return found
}

// kick stores the fingerprint in a random cell of the full row, moves what was there to
// its other row, and so on until a cell is empty or enough were moved.
func (c *Cuckoo) kick(row, fingerprint uint64) {
	k := uint64(c.table.perRow)
	for range c.kicks {
		cell := row*k + c.random.Uint64N(k)
		moved := c.table.cells.get(cell)
		c.table.cells.put(cell, fingerprint)
		row, fingerprint = c.alternateRow(row, moved), moved
		if c.insertInto(row, fingerprint) {
			return
		}
	}
}

// Bits implements [Filter]: the memory of the rows in use.
func (c *Cuckoo) Bits() int { return c.table.bits() }
