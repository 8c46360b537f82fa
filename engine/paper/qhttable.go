package paper

import "math/rand/v2"

// quotientTable holds rows of perRow cells with a fingerprint each; 0 is an
// empty cell.
type quotientTable struct {
	cells  cells
	rows   int
	perRow int
}

func newQuotientTable(rows, perRow, width int) quotientTable {
	return quotientTable{cells: newCells(rows*perRow, width), rows: rows, perRow: perRow}
}

// row returns the first cell of the row that belongs to an element, of whose
// digest x is element 1.
func (t *quotientTable) row(x uint64) uint64 {
	return scale(x, uint64(t.rows)) * uint64(t.perRow)
}

// find returns the first cell of the row that holds value: an empty one if
// value is 0.
func (t *quotientTable) find(row, value uint64) (cell uint64, found bool) {
	for cell = row; cell < row+uint64(t.perRow); cell++ {
		if t.cells.get(cell) == value {
			return cell, true
		}
	}
	return 0, false
}

// insert stores value in the first empty cell of the row, or in a random one if
// none is empty.
func (t *quotientTable) insert(row, value uint64, random *rand.Rand) {
	cell, found := t.find(row, 0)
	if !found {
		cell = row + random.Uint64N(uint64(t.perRow))
	}
	t.cells.put(cell, value)
}

// push moves the cells of the row one place to the front, which drops the first,
// and stores value in the last.
func (t *quotientTable) push(row, value uint64) {
	last := row + uint64(t.perRow) - 1
	for cell := row; cell < last; cell++ {
		t.cells.put(cell, t.cells.get(cell+1))
	}
	t.cells.put(last, value)
}

// bits returns the table's memory in bits.
func (t *quotientTable) bits() int { return t.rows * t.perRow * int(t.cells.width) }
