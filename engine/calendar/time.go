// SPDX-License-Identifier: Apache-2.0

package calendar

import "math"

// NoTime is the time of a packet without a timestamp. It comes before all times.
const NoTime = math.MinInt64

// Usable returns t, or NoTime for math.MaxInt64. Readers clamp times beyond the int64
// range, after 2262, to that number. It carries neither the hour nor the distance between
// two packets.
func Usable(t int64) int64 {
	if t == math.MaxInt64 {
		return NoTime
	}
	return t
}

// HasTime reports whether t is usable and not NoTime.
func HasTime(t int64) bool { return Usable(t) != NoTime }

// Farthest bounds the times to which any window may be added without overflow: the years
// 1824 to 2115.
const Farthest = 1 << 62

// InRange reports whether t lies within Farthest.
func InRange(t int64) bool { return -Farthest <= t && t <= Farthest }

// Distance returns the absolute difference of two times.
func Distance(a, b int64) uint64 { return uint64(max(a, b)) - uint64(min(a, b)) }

// Index returns the number of the interval that holds t. Intervals of the given length
// are counted from 1970 on.
func Index(t, length int64) int64 {
	i := t / length
	if t%length < 0 {
		i--
	}
	return i
}

// Phase returns how long before t its interval began: see Index.
func Phase(t, length int64) int64 {
	phase := t % length
	if phase < 0 {
		phase += length
	}
	return phase
}

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
