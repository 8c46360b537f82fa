package engine

import "math/bits"

// tickLength divides a window of the given size (nanoseconds or positions)
// into ticks: as many as fields of tickBits allow, 2^(tickBits-2). If it can,
// it takes a tick that divides the window, so that the edge stays exact; if
// none of more than half the finest resolution does, window is rounded up to
// whole ticks.
func tickLength(size int64, tickBits uint) (tick, window int64) {
	most := int64(1) << (tickBits - 2)
	if size <= most {
		return 1, size
	}
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
