package asm

import "math/bits"

// cellWindows is the size of a table of masks: a line's mask can begin at any of its
// first 256 bytes.
const cellWindows = 256 + 64

// CellRule is CellParams made ready for TestAndSetCells, 1.2 KiB of tables. It does
// not change and may be shared.
type CellRule struct {
	parts cellParts
	bits  uint64 // of a cell
	// low has the lowest bit of every cell, max has Max in every cell.
	low, max    uint64
	randomShift uint64 // what of a random number leaves the number of a cell
	cells       uint64
	hitP        uint64
	// The 64 bytes from set[c] on have all bits of cell c. Those from miss[c] or
	// hit[c] on have the lowest bits of the cells that lose one if the run begins at
	// cell c.
	set, miss, hit [cellWindows]byte
}

// NewCellRule prepares p. Errors wrap ErrCellParams.
func NewCellRule(p CellParams) (*CellRule, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	ones := ^uint64(0) / (1<<p.Bits - 1)
	r := &CellRule{
		parts:       newCellParts(uint64(p.Cells()), uint64(p.K)),
		bits:        uint64(p.Bits),
		low:         ones,
		max:         ones * uint64(p.Max),
		cells:       uint64(p.Cells()),
		randomShift: uint64(64 - bits.TrailingZeros(uint(p.Cells()))),
		hitP:        uint64(p.HitP),
	}
	fillCellWindows(&r.set, p.Bits, 1, 1<<p.Bits-1)
	fillCellWindows(&r.miss, p.Bits, p.MissP, 1)
	fillCellWindows(&r.hit, p.Bits, p.HitP, 1)
	return r, nil
}

// fillCellWindows makes the table whose 64 bytes from c on have value in the run cells
// c, c+1 and so on of a line and 0 in the others. Byte b of them belongs to cells
// 63-b, 127-b and so on, and their distance from c is a function of b+c: so windows
// can overlap.
func fillCellWindows(table *[cellWindows]byte, width, run, value int) {
	cells := 512 / width
	for at := range cells + 63 {
		for field := range cells / 64 {
			if distance := 64*field + 63 - at; (distance+cells)%cells < run {
				table[at] |= byte(value << (width * field))
			}
		}
	}
}

// cellParts are the parts of a line that an element has one cell in each of.
type cellParts struct {
	k uint64
	// start is the number of a part's first cell times 2^32, size how many it has.
	start, size [MaxCellK]uint64
}

func newCellParts(cells, k uint64) cellParts {
	p := cellParts{k: k}
	for j := range k {
		start, end := j*cells/k, (j+1)*cells/k
		p.start[j], p.size[j] = start<<32, end-start
	}
	return p
}

// cell returns the cell in part j of an element with the lower half low of its digest.
func (p *cellParts) cell(low uint64, j int) uint64 {
	return (low*bitSalts[j&7]>>32*p.size[j&7] + p.start[j&7]) >> 32
}

// The odd multipliers of a random number: 2^64 divided by the golden ratio, and one
// that SplitMix64 mixes with.
const (
	cellSpread = 0x9e3779b97f4a7c15
	cellMix    = 0x94d049bb133111eb
)

// cellRandom returns a number that is random to those who do not know the digest's
// key. Its upper bits are the best.
func cellRandom(low, position uint64) uint64 {
	x := low ^ position*cellSpread
	x = (x ^ x>>32) * cellMix
	return (x ^ x>>32) * cellMix
}
