package asm

import "math/bits"

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
