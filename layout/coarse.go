// SPDX-License-Identifier: Apache-2.0

package layout

// A line of coarse rows is one row of cells and a clock. Cell 0 was set last, the last cell
// first. There are two splits. Coarse cells have 32 bits: cell j is bits 32j to 32j+31 of the
// line.
//
//	 31                        8 7         0
//	┌───────────────────────────┬───────────┐
//	│ fingerprint: 24           │ youth: 8  │  15 cells
//	└───────────────────────────┴───────────┘
//
// Fine cells have 40 bits, in two places: 32 bits of cell j are bits 32j to 32j+31 of the
// line, and the others are byte 48+j.
//
//	byte    0        4               44       48  49      59  60        63
//	       ┌────────┬────────┬──   ─┬────────┬───┬───┬─ ─┬───┬────────────┐
//	       │ cell 0 │ cell 1 │  …   │cell 11 │ 0 │ 1 │ … │11 │ clock: 32  │
//	       └────────┴────────┴──   ─┴────────┴───┴───┴─ ─┴───┴────────────┘
//
//	 31                                    0     7      6 5          0
//	┌───────────────────────────────────────┐   ┌────────┬────────────┐
//	│ fingerprint: its lower 32 bits        │   │ its 2  │ youth: 6   │  12 cells
//	└───────────────────────────────────────┘   └────────┴────────────┘
//
// The clock is the latest time of the line's elements, modulo 2^32. The youth of a cell is
// CoarseOld or FineOld, less how far its time lies before the clock. It stops at 0, which is
// too old for all, so a line of zeros is empty. Times count in ticks of about a hundredth of
// a window in coarse cells and a thirtieth in fine ones. So a line remembers two or three
// times as many elements as one of timed rows, and the edges of its window are by a tick
// less sharp.
const (
	// CoarseCells is the number of coarse cells of a row.
	CoarseCells = 15
	// CoarseFingerprintBits is the width of the fingerprint of a coarse cell.
	CoarseFingerprintBits = 24
	// CoarseOld is the age of coarse cells that match no more.
	CoarseOld = 1<<8 - 1
	// CoarseWindow is the longest window, in ticks. Then an element finds those within the
	// window before and after it even if it is late by a window.
	CoarseWindow = CoarseOld / 2

	// FineCells is the number of fine cells of a row.
	FineCells = 12
	// FineFingerprintBits is the width of the fingerprint of a fine cell.
	FineFingerprintBits = 34
	// FineOld is the age of fine cells that match no more.
	FineOld = 1<<6 - 1
	// FineWindow is as CoarseWindow, for fine cells.
	FineWindow = FineOld / 2
)
