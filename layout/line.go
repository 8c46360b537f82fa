package layout

// LineSize is the size of a line in bytes: one cache line of the CPUs this
// project cares about, and one 512-bit vector.
const LineSize = 64

// Line is the unit that everything an element touches lies in. It is an alias
// so that users may make lines of their own.
type Line = [8]uint64
