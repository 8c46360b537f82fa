package asm

import "math/bits"

// cellWindows is the size of a table of masks: a plane's mask can begin at any of its
// first 256 bytes.
const cellWindows = 256 + 32

// CellRule is CellParams made ready for TestAndSetCells, 0.7 KiB of tables. It does
// not change and may be shared.
type CellRule struct {
	pick       cellPick
	bits       uint64    // of a cell, the number of planes
	firstShift uint64    // leaves of a random word the number of a cell
	max        [4]uint64 // Max in all cells of a word of each plane
	// The bytes of a plane from run[f][c] on have the cells that lose one if the run
	// begins at cell c: f is 1 for elements that are found, 0 for others.
	run [2][cellWindows]byte
}

// NewCellRule prepares p. Errors wrap ErrCellParams.
func NewCellRule(p CellParams) (*CellRule, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	r := &CellRule{
		pick:       newCellPick(p.Cells(), p.K),
		bits:       uint64(p.Bits),
		firstShift: uint64(64 - bits.TrailingZeros(uint(p.Cells()))),
	}
	for plane := range r.max {
		r.max[plane] = -(uint64(p.Max) >> plane & 1)
	}
	fillCellWindows(&r.run[0], p.Cells(), p.MissP)
	fillCellWindows(&r.run[1], p.Cells(), p.HitP)
	return r, nil
}

// fillCellWindows makes the table whose bytes from c on have the cells c, c+1 and so on of
// a run. In a plane of m bytes, byte b has the cells m-1-b, 2m-1-b and so on, and
// their distance from c is a function of b+c: so windows can overlap.
func fillCellWindows(table *[cellWindows]byte, cells, run int) {
	m := cells / 8
	for at := range cells + m - 1 {
		for bit := range 8 {
			if distance := m*bit + m - 1 - at; (distance+cells)%cells < run {
				table[at] |= 1 << bit
			}
		}
	}
}
