// SPDX-License-Identifier: Apache-2.0

package layout

import "math"

// NoTick is the tick of an element without a time. Such an element is never a copy and is
// not remembered.
const NoTick = math.MinInt64

// A line of timed rows is one row of six cells of 85 bits. Cell 0 was set last, cell 5
// first. A cell has three fields, whose widths TimedParams in asm/line chooses:
//
//	 84                                                         0
//	┌───────────────────────────┬─────────────┬──────────────────┐
//	│ fingerprint: 21 to 63     │ point: 0-32 │ time: 2 to 63    │
//	└───────────────────────────┴─────────────┴──────────────────┘
//	                            └──────────── mark ──────────────┘
//
// The 85 bits do not fit a word. Word j holds the fingerprint of cell j and the low bits
// of its mark. The upper 21 bits of the mark are in word 6 or 7:
//
//	word       0        1        2        3        4        5        6         7
//	       ┌────────┬────────┬────────┬────────┬────────┬────────┬────────┬─────────┐
//	       │ cell 0 │ cell 1 │ cell 2 │ cell 3 │ cell 4 │ cell 5 │ marks  │ marks   │
//	       │ fp|mark│ fp|mark│ fp|mark│ fp|mark│ fp|mark│ fp|mark│ 0│1│2  │ 3│4│5   │
//	       └────────┴────────┴────────┴────────┴────────┴────────┴────────┴─────────┘
//
//	         63  62            42 41            21 20             0
//	        ┌───┬────────────────┬────────────────┬────────────────┐
//	word 6  │ 0 │ mark of cell 2 │ mark of cell 1 │ mark of cell 0 │  21 bits each
//	        ├───┼────────────────┼────────────────┼────────────────┤
//	word 7  │ s │ mark of cell 5 │ mark of cell 4 │ mark of cell 3 │
//	        └───┴────────────────┴────────────────┴────────────────┘
//
// Bit s is set if a spare line may have cells of this line, which had no room for them. A
// spare line has the same form, and its own s is 0. Several lines next to each other share
// one. A cell keeps its bits when it goes there.
//
// Fingerprint 0 is an empty cell; empty cells come after all others. A line remembers six
// elements. The fingerprint depends on the era of the time, so cells of other eras do not
// match.
const (
	// TimedCells is the number of cells of a timed row.
	TimedCells = 6
	// TimedHighBits is how many bits of a cell are in word 6 or 7.
	TimedHighBits = 21
	// TimedCellBits is the size of a cell: a word and TimedHighBits.
	TimedCellBits = 64 + TimedHighBits
	// TimedSpilled is the bit of word 7 that is set if a spare line may have cells of the
	// line.
	TimedSpilled = 1 << 63
)
