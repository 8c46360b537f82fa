package layout

import "math/bits"

// LineIndex maps 64 evenly distributed bits to a line number below lines by
// multiply-shift: the high word of h * lines (Lemire, "Fast Random Integer
// Generation in an Interval", TOMACS 29(1), 2019). Any number of lines will
// do, and no line gets more than one value in 2^64/lines too many. The result
// is 0 if lines is.
func LineIndex(h, lines uint64) uint64 {
	index, _ := bits.Mul64(h, lines)
	return index
}
