package engine

import "math/bits"

// reach is how far apart, in nanoseconds, the times that one line holds may be
// at least, if the window can be kept well enough: 4.3 seconds. Captures of
// several interfaces are out of order by some tenths of a second, since their
// buffers are written one after another, and a line must not forget what came
// from one buffer when the next one begins.
const reach = 1 << 32

// leastTick returns the shortest tick, in nanoseconds, for a window of time. It
// stays below a thousandth of the window, whatever that does to the reach.
func leastTick(window int64, tickBits uint) int64 {
	return max(1, min(reach>>tickBits, window/1000))
}

// tickLength divides a window of the given size (nanoseconds or positions)
// into ticks of at least least: as many as fields of tickBits allow,
// 2^(tickBits-2). If it can, it takes a tick that divides the window, so that
// the edge stays exact; if none of less than twice the shortest length does,
// window is rounded up to whole ticks.
func tickLength(size int64, tickBits uint, least int64) (tick, window int64) {
	most := min(int64(1)<<(tickBits-2), size/least)
	for n := most; n > most/2; n-- {
		if size%n == 0 {
			return size / n, n
		}
	}
	tick = (size-1)/most + 1
	return tick, (size-1)/tick + 1
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
