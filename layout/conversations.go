// SPDX-License-Identifier: Apache-2.0

package layout

// A line of homes is one row of four cells. A cell holds the capture point that
// the packets of a conversation are taken from. Fields that are compared lie together:
// tags and homes of two cells share a word.
//
//	word       0         1         2         3         4         5         6         7
//	       ┌─────────┬─────────┬─────────┬─────────┬─────────┬─────────┬─────────┬─────────┐
//	63..32 │ tag 2   │ tag 3   │ home 2  │ home 3  │         │         │         │         │
//	       ├─────────┼─────────┼─────────┼─────────┤ state 0 │ state 1 │ state 2 │ state 3 │
//	31..0  │ tag 0   │ tag 1   │ home 0  │ home 1  │         │         │         │         │
//	       └─────────┴─────────┴─────────┴─────────┴─────────┴─────────┴─────────┴─────────┘
//
//	        63  62       58 57                                                0
//	       ┌───┬───────────┬───────────────────────────────────────────────────┐
//	state  │ 1 │ misses: 5 │ time without its low 6 bits: 58                   │
//	       └───┴───────────┴───────────────────────────────────────────────────┘
//
// Misses are packets in a row that had to be taken from elsewhere. The time, in
// nanoseconds since 1970, is the time of the last sighting at home, or of the first miss.
// The state of an empty cell is 0. With 2^L lines, the low L bits of a conversation's
// hash are the number of the line, and its top 32 bits are the tag. A line remembers four
// conversations.
const (
	// HomeCells is the number of cells of a line of homes.
	HomeCells = 4
	// HomePoints and HomeStates are the words at which the homes and the states begin.
	HomePoints = 2
	HomeStates = 4
	// HomePresent is the bit of a state that says that the cell is in use.
	HomePresent = 1 << 63
	// HomeMissShift is where the misses are in a state.
	HomeMissShift = 58
	// HomeMisses is the largest number of misses.
	HomeMisses = 1<<5 - 1
	// HomeTimeShift is how many low bits of a time are left out.
	HomeTimeShift = 64 - HomeMissShift
)

// A line of ownership rows is one row of five cells. A cell holds which point reported a
// flow, and for which time. Parts that are compared lie together.
//
//	word       0        1        2        3        4        5      6      7
//	       ┌────────┬────────┬────────┬────────┬────────┬────────────────────┐
//	63..34 │ tag 0  │ tag 1  │ tag 2  │ tag 3  │ tag 4  │ reports without    │
//	       ├────────┼────────┼────────┼────────┼────────┤ their lowest bits, │
//	33..26 │ lowest │ lowest │ lowest │ lowest │ lowest │ 38 bits each, the  │
//	       ├────────┼────────┼────────┼────────┼────────┤ first in the low   │
//	25..0  │ end 0  │ end 1  │ end 2  │ end 3  │ end 4  │ bits of word 5     │
//	       └────────┴────────┴────────┴────────┴────────┴────────────────────┘
//
//	        45        33 32       22 21      11 10       0
//	       ┌────────────┬───────────┬──────────┬──────────┐
//	report │ owner: 13  │ begin: 11 │ left: 11 │ back: 11 │
//	       └────────────┴───────────┴──────────┴──────────┘
//
// The owner of an empty cell is 0. The end is the latest time that was reported, in units of
// 2^26 ns (67 ms). Its low 26 bits are kept: they repeat after 52 days. The reported time
// lasts from begin to left, and from back to end: between them the flow paused. Each is a
// distance to the end, on a grid of 2^n units: four bits of exponent, and seven of mantissa.
// Times are rounded so that no reported time is lost.
//
// A flow belongs to a line by the upper bits of its hash, and has the low 30 bits as its
// tag. Where its line is full it may lie in another line of a group, which are neighbors
// in memory.
const (
	// OwnerCells is the number of cells of an ownership row.
	OwnerCells = 5
	// OwnerTagShift is where the tag begins, OwnerLowestShift where the OwnerLowestBits
	// lowest bits of the report are, and the end below them.
	OwnerTagShift    = 34
	OwnerLowestShift = 26
	OwnerLowestBits  = OwnerTagShift - OwnerLowestShift
	// OwnerReport is the first word with reports, of which OwnerReportBits are there.
	OwnerReport     = 5
	OwnerReportBits = 38
	// OwnerDistanceBits is the width of a distance, which includes OwnerMantissaBits of
	// mantissa.
	OwnerDistanceBits = 11
	OwnerMantissaBits = 7
	// OwnerMax is the largest number of a point.
	OwnerMax = 1<<(OwnerReportBits+OwnerLowestBits-3*OwnerDistanceBits) - 1
	// OwnerUnitShift is how many low bits of a time in nanoseconds are left out.
	OwnerUnitShift = 26
)
