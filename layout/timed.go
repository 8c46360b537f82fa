package layout

import "math"

// NoTick marks an element without a time: it is never a copy and is not
// remembered.
const NoTick = math.MinInt64

// A timed row is a line of six cells, from the one set last to the one set first. A cell
// has 85 bits; from the top down it holds
//
//	fingerprint | mark: point, time
//
// in the widths that TimedParams gives them. The upper bits of cell j, its fingerprint and
// the lowest bits of its mark, are word j of the line. The other 21 bits of the mark are in
// word 6 for cells 0 to 2 and in word 7 for cells 3 to 5, from the lowest bit up; the top bit
// of these words is 0. Fingerprint 0 stands for an empty cell, which only comes after all
// others.
const (
	// TimedCells is how many cells a timed row has.
	TimedCells = 6
	// TimedHighBits is how many bits of a cell are in one of the last two words.
	TimedHighBits = 21
	// TimedCellBits is the size of a cell: a word, and 21 bits of the last two.
	TimedCellBits = 64 + TimedHighBits
)
