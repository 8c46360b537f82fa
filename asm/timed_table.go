package asm

import "math/bits"

// timedTable is what kernels for timed rows look up for the cell that they find: 0 to 5,
// or 6 for none. Those in assembly know its layout.
type timedTable struct {
	// moves are for elements that are put in front and, from 8 on, for elements in whose
	// time the cell that counts is within the window: copies, which change nothing.
	moves [16]timedMove
	// choices are moves (in units of 8 bytes) for a bit mask of what is found: the
	// cell that has the fingerprint and, for a copy, the one after it. The second half is for
	// copies that change their line.
	choices [2][256]uint8
	places  [8]timedPlace
}

// timedMove says what becomes of a line when an element is put in front: all that is
// before the cell that is taken out, or pushed out, moves on by one.
type timedMove struct {
	bits [8]uint64 // those that change
	from [8]uint64 // where words come from: 0 to 7 from new marks, 8 to 15 from the line
}

// timedPlace is where the mark of the cell that counts is, which is the last one if none
// is found.
type timedPlace struct {
	cell  uint8 // the cell's byte in the line
	word  uint8 // the byte of the word that has the upper bits of its mark,
	shift uint8 // and where they are in that
	_     uint8
}

// timedTables is in memory of its own, which begins with a cache line.
var timedTables = newTimedTable()

func newTimedTable() *timedTable {
	t := new(timedTable)
	for i := range t.places {
		cell, move := min(uint8(i), TimedCells-1), &t.moves[i]
		t.places[i] = timedPlace{8 * cell, 48 + cell/3*8, cell % 3 * TimedHighBits, 0}
		move.from = [8]uint64{uint64(i), 8, 9, 10, 11, 12, uint64(i), 14}
		for j := range cell + 1 {
			move.bits[j] = ^uint64(0)
			move.bits[6+j/3] |= highMask << (j % 3 * TimedHighBits)
		}
	}
	t.moves[8+TimedCells] = t.moves[TimedCells]
	for found := range t.choices[0] {
		at := bits.TrailingZeros(uint(found) | 1<<TimedCells)
		t.choices[1][found] = uint8(at * 16)
		if found>>at&2 != 0 {
			at += 8
		}
		t.choices[0][found] = uint8(at * 16)
	}
	return t
}
