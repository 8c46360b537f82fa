package asm

import (
	"math/big"
	"slices"
)

// rowModel is the contract of TestAndSetRows without packed words: a row is a
// list of fingerprints from its front on.
type rowModel struct {
	p      RowParams
	rows   [][]uint64
	counts RowCounts
}

func newRowModel(lines int, p RowParams) *rowModel {
	return &rowModel{p: p, rows: make([][]uint64, lines*p.Shape.RowsPerLine())}
}

// scaled returns floor(x * n / 2^64).
func scaled(x uint64, n *big.Int) uint64 {
	v := new(big.Int).Mul(new(big.Int).SetUint64(x), n)
	return v.Rsh(v, 64).Uint64()
}

func (m *rowModel) testAndSet(d Digest, position uint64) (found bool) {
	row := &m.rows[scaled(d[1], big.NewInt(int64(len(m.rows))))]
	values := new(big.Int).Sub(power(uint(m.p.Shape.CellBits())), big.NewInt(1))
	fingerprint := 1 + scaled(d[0], values)
	cells := m.p.Shape.Cells()
	at := slices.Index(*row, fingerprint)
	if found = at >= 0; found && m.p.Eviction != EvictQueue {
		if m.p.Eviction == EvictLRU {
			*row = slices.Insert(slices.Delete(*row, at, at+1), 0, fingerprint)
		}
		return true
	}
	full := len(*row) == cells
	if full {
		m.counts.Evicted++
	} else {
		m.counts.Filled++
	}
	switch {
	case m.p.Eviction != EvictRandom:
		*row = slices.Insert(*row, 0, fingerprint)
		*row = (*row)[:min(cells, len(*row))]
	case full:
		h := prng(d[0], position)
		(*row)[scaled(h, big.NewInt(int64(cells)))] = fingerprint
	default:
		*row = append(*row, fingerprint)
	}
	return found
}

// line returns the words that a line must hold.
func (m *rowModel) line(i int) (words [8]uint64) {
	rows := m.p.Shape.RowsPerLine()
	width := m.p.Shape.CellBits()
	for r, row := range m.rows[i*rows : (i+1)*rows] {
		for c, fingerprint := range row {
			bit := r*512/rows + c*width
			words[bit/64] |= fingerprint << (bit % 64)
		}
	}
	return words
}
