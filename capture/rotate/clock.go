package rotate

import (
	"math"
	"time"

	"github.com/flowdedup/flowdedup/capture"
)

// startOf returns the latest multiple of unit since 1970 that is not after t, or t
// where 64 bits cannot hold it.
func startOf(t int64, unit time.Duration) int64 {
	past := t % int64(unit)
	if past < 0 {
		past += int64(unit)
	}
	if t < math.MinInt64+past {
		return t
	}
	return t - past
}

// after returns t + d, or the latest time where 64 bits cannot hold that.
func after(t int64, d time.Duration) int64 {
	if t > math.MaxInt64-int64(d) {
		return math.MaxInt64
	}
	return t + int64(d)
}

const (
	// longestSilence is how far ahead of all others a packet may be whose time is taken
	// for true at once, where nobody tells the time: captures of other days follow.
	longestSilence = 365 * 24 * time.Hour
	// clockError is how far ahead of the clock that Tick tells one may be, unless the
	// interval is longer.
	clockError = time.Minute
	// agreeing is how many packets in a row, further ahead than that, are believed.
	agreeing = 3
)

// rotationClock knows the interval that is being written. It follows the packets: to a
// later interval at once, unless that is so far ahead that the time may be false, and
// back to an earlier one only where that shows that the present one was false.
type rotationClock struct {
	every      time.Duration // 0: there is only one
	start, end int64         // end is NoTime until the first packet that has a time
	told       int64         // the time by the last tick, or NoTime
	ahead      int           // packets in a row that are too far ahead
	late       int64         // end of the first interval of the late packets in a row, or NoTime
}

func newRotationClock(every time.Duration) rotationClock {
	return rotationClock{every: every, end: capture.NoTime, told: capture.NoTime, late: capture.NoTime}
}

// tells reports whether a time says anything.
func tells(t int64) bool { return t != capture.NoTime && t != math.MaxInt64 }

// holds reports whether a packet of time t is of the interval.
func (c *rotationClock) holds(t int64) bool {
	return tells(t) && (c.every == 0 || t >= c.start && t < c.end)
}

// turn makes the interval that t lies in the present one.
func (c *rotationClock) turn(t int64) {
	c.start = startOf(t, c.every)
	c.end = after(c.start, c.every)
	c.ahead, c.late = 0, capture.NoTime
}

// over reports whether a packet of time t is past the interval, and turns to that in
// which t lies.
func (c *rotationClock) over(t int64) bool {
	switch {
	case c.every == 0 || !tells(t):
		return false
	case c.end == capture.NoTime:
		c.turn(t)
		return false
	case t >= c.end:
		return c.early(t)
	}
	c.ahead = 0
	if t >= c.start {
		c.late = capture.NoTime
		return false
	}
	return c.behind(t)
}

// early judges a packet that is past the interval.
func (c *rotationClock) early(t int64) bool {
	limit := after(c.end, max(c.every, longestSilence))
	if c.told != capture.NoTime {
		limit = after(max(c.end, c.told), max(c.every, clockError))
	}
	if t >= limit {
		if c.ahead++; c.ahead < agreeing {
			return false
		}
	}
	c.turn(t)
	return true
}

// behind judges a packet that is before the interval. Packets of the interval before that
// are stragglers. Others, if they pass from one interval of theirs to a later one and
// nothing else comes, have the true time.
func (c *rotationClock) behind(t int64) bool {
	if uint64(c.start-t) <= uint64(c.every) {
		return false
	}
	end := after(startOf(t, c.every), c.every)
	if c.late == capture.NoTime || end <= c.late {
		c.late = end
		return false
	}
	c.turn(t)
	return true
}

// tick reports whether the interval is over by the clock, and turns to the next. A clock
// that is far from the packets' tells nothing of their intervals.
func (c *rotationClock) tick(now int64) bool {
	c.told = now
	if c.every == 0 || c.end == capture.NoTime || now < c.end || now >= after(c.end, max(c.every, clockError)) {
		return false
	}
	c.turn(now)
	return true
}

// mayBeOver reports whether over could say so of any of the frames, or has to see them.
func (c *rotationClock) mayBeOver(frames []capture.Frame) bool {
	if c.every == 0 {
		return false
	}
	if c.ahead > 0 || c.late != capture.NoTime {
		return true
	}
	for i := range frames {
		if t := frames[i].Time; t != capture.NoTime && (t < c.start || t >= c.end) {
			return true
		}
	}
	return false
}
