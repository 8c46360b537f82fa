package engine

import "math/bits"

// leastTick returns the shortest tick, in nanoseconds, for a window of time: a
// millionth of it. Shorter ones would make eras short (see Timed), longer ones
// than 256 ns the microseconds of most files inexact.
func leastTick(window int64) int64 {
	return min(max(1, window/1_000_000), 256)
}

// tickLength divides a window of the given size (nanoseconds or positions)
// into ticks of at least least, so that it fits into a quarter of what tickBits
// count: then all of time fits, too, when a window takes half of it. If it can,
// it takes a tick that divides the window, so that the edge stays exact; if
// none of less than twice the shortest length does, window is rounded up to
// whole ticks.
func tickLength(size int64, tickBits uint, least int64) (tick, window int64) {
	most := int64(1) << (tickBits - 2)
	least = max(least, (size-1)/most+1)
	for tick := least; tick < 2*least; tick++ {
		if size%tick == 0 {
			return tick, size / tick
		}
	}
	return least, (size-1)/least + 1
}

// divisor divides by a number that is only known at run time, with two
// multiplications in place of a division, which takes some processors that
// are still in use 80 cycles.
type divisor struct {
	by         uint64
	reciprocal uint64 // floor(2^64 / by), 2^64-1 for 1
}

func newDivisor(by uint64) divisor {
	if by == 1 {
		return divisor{by: 1, reciprocal: ^uint64(0)}
	}
	reciprocal, _ := bits.Div64(1, 0, by)
	return divisor{by: by, reciprocal: reciprocal}
}

// divide returns floor(u / by). The high word is at most one too small: what
// the reciprocal was rounded down by is below 1, so u/by loses less than
// u/2^64, and then the part after the point.
func (d divisor) divide(u uint64) uint64 {
	q, _ := bits.Mul64(u, d.reciprocal)
	if u-q*d.by >= d.by {
		q++
	}
	return q
}
