package rivals

import (
	"fmt"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// Rows is a table of rows of fingerprints: an element's digest chooses its row and gives
// its fingerprint, and only fingerprints of that row are compared or evicted. What is seen
// moves to the front, and a new one pushes out the last. So an element is forgotten when as
// many other elements of its row as the row has cells came since it was last seen. A full
// row reports new elements with chance Cells/(2^FingerprintBits-1).
//
// Such rows are this project's own, in more shapes than the engine has.
type Rows struct {
	cells           []uint64 // 0 is empty
	rows, perRow    int
	fingerprintBits int
	bits            int
}

// NewRows returns rows of cells cells in rowBits bits each, for at most the given memory.
// Errors wrap [paper.ErrParameter].
func NewRows(bits, cells, fingerprintBits, rowBits int) (*Rows, error) {
	if err := requireRange("fingerprint bits", fingerprintBits, 1, 64); err != nil {
		return nil, err
	}
	if err := requireRange("row bits", rowBits, max(1, cells)*fingerprintBits, maxBits); err != nil {
		return nil, err
	}
	if err := requireRange("bits", bits, rowBits, maxBits); err != nil {
		return nil, fmt.Errorf("at least one row: %w", err)
	}
	rows := bits / rowBits
	return &Rows{make([]uint64, rows*cells), rows, cells, fingerprintBits, rows * rowBits}, nil
}

var _ paper.Filter = (*Rows)(nil)

// TestAndSet implements [paper.Filter], in time proportional to a row's cells.
func (r *Rows) TestAndSet(d digest.Digest) (seen bool) {
	first := int(hashesOf(d, r.rows).line) * r.perRow
	row, value := r.cells[first:first+r.perRow], fingerprintOf(d, r.fingerprintBits)
	at := slices.Index(row, value)
	if seen = at >= 0; !seen {
		at = len(row) - 1
	}
	copy(row[1:at+1], row)
	row[0] = value
	return seen
}

// Bits implements [paper.Filter].
func (r *Rows) Bits() int { return r.bits }
