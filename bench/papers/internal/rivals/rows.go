package rivals

import (
	"fmt"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// RowsConfig is what rows of fingerprints are made from.
type RowsConfig struct {
	Rows            int // at least 1
	RowBits         int // what a row is accounted for, at least Cells * FingerprintBits
	Cells           int // of a row, at least 1
	FingerprintBits int // from 1 to 64
}

func (c RowsConfig) validate() error {
	if err := requireRange("FingerprintBits", c.FingerprintBits, 1, 64); err != nil {
		return err
	}
	if err := requireRange("Cells", c.Cells, 1, maxBits/64); err != nil {
		return err
	}
	if err := requireRange("RowBits", c.RowBits, c.Cells*c.FingerprintBits, maxBits); err != nil {
		return err
	}
	return requireRange("Rows", c.Rows, 1, maxBits/c.RowBits)
}

// Rows is a table of rows of fingerprints: an element's digest chooses its row and gives
// its fingerprint, and only fingerprints of that row are compared or evicted. What is seen
// moves to the front of its row, and the last leaves a full one. So an element is
// forgotten when as many other elements of its row as the row has cells came since it was
// last seen. A full row reports new elements with chance Cells/(2^FingerprintBits-1).
//
// Such rows are this project's own; these have the shapes that the engine's do not have.
type Rows struct {
	config RowsConfig
	cells  []uint64
}

var _ paper.Filter = (*Rows)(nil)

// NewRows returns empty rows. Errors wrap [paper.ErrParameter].
func NewRows(c RowsConfig) (*Rows, error) {
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("rows of fingerprints: %w", err)
	}
	return &Rows{config: c, cells: make([]uint64, c.Rows*c.Cells)}, nil
}

// TestAndSet implements [paper.Filter], in time proportional to a row's cells.
func (r *Rows) TestAndSet(d digest.Digest) (seen bool) {
	cells := uint64(r.config.Cells)
	first := hashesOf(d, r.config.Rows).line * cells
	row, value := r.cells[first:first+cells], fingerprintOf(d, r.config.FingerprintBits)
	at := slices.Index(row, value)
	if at >= 0 {
		row = row[:at+1]
	}
	copy(row[1:], row)
	row[0] = value
	return at >= 0
}

// Bits implements [paper.Filter].
func (r *Rows) Bits() int { return r.config.Rows * r.config.RowBits }
