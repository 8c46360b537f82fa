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

// A line of ownership rows is one row of six cells. A cell holds which point reported a
// flow, and for which time. Parts that are compared lie together.
//
//	word       0       1       2       3       4       5       6        7
//	       ┌───────┬───────┬───────┬───────┬───────┬───────┬────────┬────────┐
//	63..32 │ tag 0 │ tag 1 │ tag 2 │ tag 3 │ tag 4 │ tag 5 │ report │ report │
//	       ├───────┼───────┼───────┼───────┼───────┼───────┤ 0 to 2 │ 3 to 5 │
//	31..0  │ end 0 │ end 1 │ end 2 │ end 3 │ end 4 │ end 5 │        │        │
//	       └───────┴───────┴───────┴───────┴───────┴───────┴────────┴────────┘
//
//	        20        8 7        0
//	       ┌───────────┬──────────┐
//	report │ owner: 13 │ length:8 │  three of them in a word, the first in its lowest bits
//	       └───────────┴──────────┘
//
// The owner of an empty cell is 0. The end is the latest time that the owner reported, in
// units of 2^26 ns (67 ms). Its low 32 bits are kept: they repeat after 9 years. The
// length of the reported time is a number of units with four bits of mantissa and four of
// exponent, rounded down.
//
// A flow belongs to a line by the upper bits of its hash, and has the low 32 bits as its
// tag. Where its line is full it may lie in the other line of a pair, which is a
// neighbor in memory.
const (
	// OwnerCells is the number of cells of an ownership row.
	OwnerCells = 6
	// OwnerReport is the first word with reports.
	OwnerReport = 6
	// OwnerReportBits is the width of a report. A word holds OwnerReports reports.
	OwnerReportBits = 21
	OwnerReports    = 3
	// OwnerLengthBits is the width of a length, which includes OwnerMantissaBits of
	// mantissa.
	OwnerLengthBits   = 8
	OwnerMantissaBits = 4
	// OwnerMax is the largest number of a point.
	OwnerMax = 1<<(OwnerReportBits-OwnerLengthBits) - 1
	// OwnerUnitShift is how many low bits of a time in nanoseconds are left out.
	OwnerUnitShift = 26
)
