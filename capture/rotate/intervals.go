// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"math"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// floorTime returns the latest multiple of unit since 1970 that is not after t, or t
// where 64 bits cannot hold it.
func floorTime(t int64, unit time.Duration) int64 {
	phase := calendar.Phase(t, int64(unit))
	if t < math.MinInt64+phase {
		return t
	}
	return t - phase
}

// maxJump is the largest lead over all others of an interval that is accepted at once, if the
// wall clock is not known: captures of other days follow.
const maxJump = 365 * 24 * time.Hour

// intervals knows the interval being written. Its clock observes the starts of intervals, so
// it does not depend on packets that are dropped.
type intervals struct {
	every      time.Duration // the length of intervals; 0 for a single interval without end
	start, end int64         // end is NoTime until the first packet that has a time
	clock      calendar.Clock
}

func newIntervals(every time.Duration) intervals {
	return intervals{
		every: every, end: capture.NoTime,
		clock: calendar.Clock{Ahead: max(every, maxJump), Behind: max(every, calendar.Tolerance)},
	}
}

// contains reports whether a packet of time t belongs to the interval.
func (s *intervals) contains(t int64) bool {
	return calendar.HasTime(t) && (s.every == 0 || t >= s.start && t < s.end)
}

// moveTo makes the interval that begins at start the present interval.
func (s *intervals) moveTo(start int64) {
	s.start, s.end = start, calendar.Shift(start, int64(s.every))
}

// ends reports whether a packet of time t ends the interval. If so, the interval of t becomes the
// present interval: it is later, or earlier if the clock was set back.
func (s *intervals) ends(t int64) bool {
	if s.every == 0 || !calendar.HasTime(t) {
		return false
	}
	start := floorTime(t, s.every)
	verdict, _ := s.clock.Observe(start)
	switch {
	case verdict == calendar.Quarantined:
		return false
	case s.end == capture.NoTime:
		s.moveTo(start)
		return false
	case t >= s.end, t < s.start && verdict == calendar.Adopted:
		s.moveTo(start)
		return true
	}
	return false
}

// tick reports whether the interval is over by the wall clock, and moves to the next interval. A
// wall clock that is far from the times of packets does not count.
func (s *intervals) tick(now int64) bool {
	s.clock.Wall(now)
	s.clock.Ahead = max(s.every, calendar.Tolerance)
	if s.every == 0 || s.end == capture.NoTime || now < s.end || now >= calendar.Shift(s.end, int64(s.clock.Ahead)) {
		return false
	}
	s.moveTo(floorTime(now, s.every))
	s.clock.Pass(s.start)
	return true
}

// mayEnd reports whether ends could return true for any of the frames, or has to see them.
func (s *intervals) mayEnd(frames []capture.Frame) bool {
	if s.every == 0 {
		return false
	}
	if len(s.clock.Quarantine()) > 0 {
		return true
	}
	for i := range frames {
		if t := frames[i].Time; t != capture.NoTime && (t < s.start || t >= s.end) {
			return true
		}
	}
	return false
}
