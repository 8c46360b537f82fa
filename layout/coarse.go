package layout

// A line of coarse rows is one row of fifteen cells of 32 bits, and a clock. Cell 0 was
// set last, cell 14 first. Cell j is bits 32j to 32j+31 of the line.
//
//	 31                        8 7         0
//	┌───────────────────────────┬───────────┐
//	│ fingerprint: 24           │ age: 8    │
//	└───────────────────────────┴───────────┘
//
// The clock is the latest time of the line's elements, modulo 2^32. The age of a cell is
// how far its time lies before the clock. It stops at 255, which is too old for all.
// Fingerprint 0 is an empty cell. Times count in ticks of about a hundredth of a window,
// so a line remembers more than twice as many elements as one of timed rows, and the edges
// of its window are by a tick less sharp.
const (
	// CoarseCells is the number of cells of a coarse row.
	CoarseCells = 15
	// CoarseFingerprintBits is the width of a fingerprint.
	CoarseFingerprintBits = 24
	// CoarseOld is the age of cells that match no more.
	CoarseOld = 1<<8 - 1
	// CoarseWindow is the longest window, in ticks. Then an element finds those within the
	// window before and after it even if it is late by a window.
	CoarseWindow = CoarseOld / 2
)
