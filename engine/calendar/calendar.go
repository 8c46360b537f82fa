// SPDX-License-Identifier: Apache-2.0

// Package calendar handles the times of a stream:
//
//	hours := calendar.Calendar{Every: time.Hour, Location: zone}
//	start, end := hours.Window(packetTime) // of the hour that holds the packet
//
// Calendar and Stream cut time into windows, and Clock is the only policy for wrong clocks. The package does not know what
// the times belong to: packets for some callers, elements for others. Its functions
// return no errors.
//
// A time is a number of nanoseconds since 1970 UTC. The package imports nothing of this
// module, so both capture and engine may use it.
//
//	question                              file
//	which window holds a time             calendar.go
//	which window of a stream is complete  stream.go, stream_room.go
//	which clock is wrong                  clock.go
package calendar

import (
	"math"
	"time"
)

// Calendar cuts time into windows that are aligned to the clock: full hours, days from
// midnight to midnight, weeks from Monday.
//
// A window begins whenever the local time, counted from Monday 1970-01-05 00:00, is a
// multiple of Every. Windows have no gaps and do not overlap, whatever the clocks do:
//
//   - Clocks go forward over such a reading: the window begins when they do. The hour
//     that does not exist has no window, its day has 23 hours.
//   - Clocks go back by Every or more: readings that come twice begin a window each time.
//     Both hours named 02:00 are windows of their own.
//   - Clocks go back by less than Every: a reading that comes twice begins a window the
//     first time only. The day has 25 hours.
//
// The zero value is one window for all of time. A Calendar caches the last window that it
// returned, so it is not safe for concurrent use.
type Calendar struct {
	// Every is the length of the windows. If it is 0 or less there is only one window.
	Every time.Duration
	// Location is the time zone; nil means UTC.
	Location *time.Location

	start, end int64 // the last window; equal when there is none
}

// beginOfTime and endOfTime are the first and last instants that windows cover. The
// smallest int64 stands for packets without a time.
const (
	beginOfTime = math.MinInt64 + 1
	endOfTime   = math.MaxInt64
)

// weekStart is a Monday midnight, in seconds since 1970 UTC.
const weekStart = 4 * 24 * 60 * 60

// Window returns the window that holds t, in nanoseconds since 1970 UTC. start is its
// first instant, and end the first instant after it. Windows are cut at both ends of the int64
// range. The last window has end = math.MaxInt64 and holds it, too. The smallest int64 is
// treated as the int64 after it.
func (c *Calendar) Window(t int64) (start, end int64) {
	if t < c.start || t >= c.end {
		c.start, c.end = c.find(min(max(t, beginOfTime), endOfTime-1))
	}
	return c.start, c.end
}

// Longest returns the length of the longest window: Every, or more where clocks go back
// within a window. It is at most math.MaxInt64. It looks at each change of the zone's clocks, so
// it takes up to a millisecond.
func (c *Calendar) Longest() time.Duration {
	if c.Every <= 0 {
		return math.MaxInt64
	}
	longest := uint64(c.Every)
	for p := c.period(beginOfTime); p.end != endOfTime; p = c.period(p.end) {
		for _, t := range []int64{p.end - 1, p.end} { // a window with the change inside holds either
			start, end := c.find(t)
			longest = max(longest, uint64(end)-uint64(start))
		}
	}
	return time.Duration(min(longest, math.MaxInt64))
}

func (c *Calendar) find(t int64) (start, end int64) {
	start, end = beginOfTime, endOfTime
	if c.Every <= 0 {
		return start, end
	}
	for p := c.period(t); ; p = c.period(p.begin - 1) {
		if b, ok := p.last(t, c.Every); ok {
			start = b
			break
		}
		if p.begin == beginOfTime {
			break
		}
	}
	for p := c.period(t); ; p = c.period(p.end) {
		if b, ok := p.first(t, c.Every); ok {
			end = b
			break
		}
		if p.end == endOfTime {
			break
		}
	}
	return start, end
}

// zonePeriod is a stretch of time without a change of the clocks.
type zonePeriod struct {
	begin, end int64         // nanoseconds since 1970 UTC, the end excluded
	offset     time.Duration // of local time
	change     time.Duration // of the offset when the period began, 0 at the begin of time
}

// period returns the period of the calendar's zone that holds t.
func (c *Calendar) period(t int64) zonePeriod {
	p := zonePeriod{begin: beginOfTime, end: endOfTime}
	if c.Location == nil {
		return p
	}
	local := time.Unix(0, t).In(c.Location)
	p.offset = zoneOffset(local)
	from, to := local.ZoneBounds()
	if !to.IsZero() && !to.After(local) {
		// In years after the last change of a zone's table, ZoneBounds may return the
		// turn of the year as a bound. It takes leap years for ordinary years: on their
		// last day it returns the begin of that day.
		to = to.Add(24 * time.Hour)
	}
	if !from.IsZero() && !from.Before(time.Unix(0, beginOfTime)) {
		p.begin = from.UnixNano()
		p.change = p.offset - zoneOffset(from.Add(-1))
	}
	if !to.IsZero() && to.Before(time.Unix(0, endOfTime)) {
		p.end = to.UnixNano()
	}
	return p
}

func zoneOffset(local time.Time) time.Duration {
	_, seconds := local.Zone()
	return time.Duration(seconds) * time.Second
}

// phase returns how long before t the clocks last showed a multiple of every, if they had
// always been as they are in this period.
func (p *zonePeriod) phase(t int64, every time.Duration) uint64 {
	m := uint64(every)
	return (uint64(Phase(t, int64(m))) + uint64(Phase(int64(p.offset)-weekStart*int64(time.Second), int64(m)))) % m
}

// repeated returns how long the period, from its begin, repeats readings that must not
// begin a window again.
func (p *zonePeriod) repeated(every time.Duration) uint64 {
	if back := -p.change; back > 0 && back < every {
		return uint64(back)
	}
	return 0
}

// skipped reports whether the clocks skipped a multiple of every when the period began.
func (p *zonePeriod) skipped(every time.Duration) bool {
	return p.change > 0 && p.phase(p.begin, every) <= uint64(p.change)
}

// last returns the last begin of a window in the period that is not after t.
func (p *zonePeriod) last(t int64, every time.Duration) (int64, bool) {
	t = min(t, p.end-1)
	since := uint64(t) - uint64(p.begin)
	phase := p.phase(t, every)
	if phase <= since && since-phase >= p.repeated(every) {
		return t - int64(phase), true
	}
	return p.begin, p.skipped(every)
}

// first returns the first begin of a window in the period that is after t, or anywhere in
// it if the period begins after t.
func (p *zonePeriod) first(t int64, every time.Duration) (int64, bool) {
	from := max(p.begin, t+1)
	if t < p.begin && p.skipped(every) {
		return p.begin, true
	}
	since := uint64(from) - uint64(p.begin)
	wait := (uint64(every) - p.phase(from, every)) % uint64(every)
	for since+wait < p.repeated(every) {
		wait += uint64(every)
	}
	if left := uint64(p.end) - uint64(from); wait >= left {
		return 0, false
	}
	return from + int64(wait), true
}

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
func HasTime(t int64) bool { return uint64(t-math.MaxInt64) > 1 }

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
