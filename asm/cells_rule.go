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

// cellPick says which cells an element has of a line of n, for the kernels of cells and
// timers: at most one in each eighth of the line, so that masks of
// cells can be made of eight numbers side by side. The kernels in assembly know
// its layout.
type cellPick struct {
	shift uint64 // leaves the upper bits of a byte, which number the cells of an eighth
	mask  uint64 // of these bits, in each byte
	// none has cellNone in the bytes of the eighths that have no cell, before their
	// rotation: as they are and in reverse.
	none [2]uint64
}

// cellNone is set, with any other bits, in the number of a cell that is none.
const cellNone = 0x80

// cellEighths is the order in which eighths get a cell. The distances of the first
// three are 1, 2 and 3, so that no pair of eighths is frequent, and in reverse they
// are others, so that no three are.
var cellEighths = [MaxCellK]int{0, 3, 1, 4, 7, 2, 5, 6}

func newCellPick(cells, k int) cellPick {
	wide := bits.TrailingZeros(uint(cells / 8))
	p := cellPick{
		shift: uint64(8 - wide),
		mask:  (1<<wide - 1) * 0x0101010101010101,
	}
	for _, eighth := range cellEighths[k:] {
		p.none[0] |= cellNone << (8 * eighth)
		p.none[1] |= cellNone << (8 * (-eighth & 7))
	}
	return p
}

// of returns the cells of an element with the lower half low of its digest: byte e has
// the number of its cell in eighth e of the line, or cellNone set.
func (p *cellPick) of(low uint64) uint64 {
	return low>>(p.shift&63)&p.mask | bits.RotateLeft64(p.none[low>>40&1], int(low<<3&63))
}

// cellsGeneric replaces the low halves of the first n elements of a batch by their cells.
func (p *cellPick) cellsGeneric(b *batch, n int) {
	for i, low := range b.low[:n] {
		b.low[i] = p.of(low)
	}
}
