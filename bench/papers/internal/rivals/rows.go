package rivals

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// Eviction says which fingerprint leaves a full row.
type Eviction uint8

const (
	// EvictLRU takes the least recently seen: what is seen moves to the front.
	EvictLRU Eviction = iota
	// EvictFIFO takes the one inserted first; what is seen stays where it is.
	EvictFIFO
	// EvictRandom takes any, as in a quotient hash table.
	EvictRandom
)

// RowsConfig is what rows of fingerprints are made from.
type RowsConfig struct {
	Rows            int // at least 1
	RowBits         int // what a row is accounted for, at least Cells * FingerprintBits
	Cells           int // of a row, at least 1
	FingerprintBits int // from 1 to 64
	Eviction        Eviction
	Seed            uint64 // of random evictions
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
	if err := requireRange("Rows", c.Rows, 1, maxBits/c.RowBits); err != nil {
		return err
	}
	return requireRange("Eviction", int(c.Eviction), int(EvictLRU), int(EvictRandom))
}

// Rows is a table of rows of fingerprints: an element's digest chooses its row and
// gives its fingerprint, and only fingerprints of that row are compared or
// evicted. A full row reports new elements with chance Cells/(2^FingerprintBits-1).
//
// With LRU eviction an element is forgotten when as many other elements of its row
// as the row has cells came since it was last seen. Such rows are this project's
// own; random eviction gives the quotient hash table of Géraud, Lombard-Platet,
// Naccache, SAC 2019, FIFO its queued form without copies.
type Rows[T fingerprint] struct {
	config RowsConfig
	cells  []T
	random *rand.Rand
}

type fingerprint interface {
	uint8 | uint16 | uint32 | uint64
}

// NewRows returns empty rows, in the narrowest of Go's types. Errors wrap
// [paper.ErrParameter].
func NewRows(c RowsConfig) (paper.Filter, error) {
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("rows of fingerprints: %w", err)
	}
	switch {
	case c.FingerprintBits <= 8:
		return newRows[uint8](c), nil
	case c.FingerprintBits <= 16:
		return newRows[uint16](c), nil
	case c.FingerprintBits <= 32:
		return newRows[uint32](c), nil
	}
	return newRows[uint64](c), nil
}

func newRows[T fingerprint](c RowsConfig) *Rows[T] {
	return &Rows[T]{
		config: c,
		cells:  make([]T, c.Rows*c.Cells),
		random: rand.New(rand.NewPCG(c.Seed, 0)),
	}
}

// TestAndSet implements [paper.Filter], in time proportional to a row's cells.
func (r *Rows[T]) TestAndSet(d digest.Digest) (seen bool) {
	cells := uint64(r.config.Cells)
	first := hashesOf(d, r.config.Rows).line * cells
	row, value := r.cells[first:first+cells], T(fingerprintOf(d, r.config.FingerprintBits))
	at := slices.Index(row, value)
	switch {
	case at >= 0:
		if r.config.Eviction == EvictLRU {
			moveToFront(row[:at+1], value)
		}
	case r.config.Eviction == EvictRandom:
		row[r.freeCell(row)] = value
	default:
		moveToFront(row, value)
	}
	return at >= 0
}

// freeCell returns an empty cell, or a random one if there is none.
func (r *Rows[T]) freeCell(row []T) int {
	if at := slices.Index(row, 0); at >= 0 {
		return at
	}
	return r.random.IntN(len(row))
}

// moveToFront puts value before all cells but the last, which is overwritten.
func moveToFront[T fingerprint](cells []T, value T) {
	copy(cells[1:], cells)
	cells[0] = value
}

// Bits implements [paper.Filter].
func (r *Rows[T]) Bits() int { return r.config.Rows * r.config.RowBits }
