package records

import "math"

// Shift returns t + d, or the first or last time that 64 bits hold, in nanoseconds. Records may
// have any times and durations.
func Shift(t, d int64) int64 {
	switch sum := t + d; {
	case d > 0 && sum < t:
		return math.MaxInt64
	case d < 0 && sum > t:
		return math.MinInt64
	default:
		return sum
	}
}

// Since returns t - u, or the longest or shortest time that 64 bits hold, in nanoseconds.
func Since(t, u int64) int64 {
	switch d := t - u; {
	case t >= u && d < 0:
		return math.MaxInt64
	case t < u && d >= 0:
		return math.MinInt64
	default:
		return d
	}
}
