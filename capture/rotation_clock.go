package capture

import (
	"math"
	"time"
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

// rotationClock knows where the interval ends that is being written.
type rotationClock struct {
	every time.Duration // 0: there is only one
	end   int64         // NoTime until the first packet that has a time
}

// over reports whether a packet of time t is past the interval, and turns to that in
// which t lies. Times that tell nothing, before the interval, or beyond what 64 bits
// hold, are not.
func (c *rotationClock) over(t int64) bool {
	if c.every == 0 || t < c.end || t == NoTime || t == math.MaxInt64 {
		return false
	}
	first := c.end == NoTime
	c.end = startOf(t, c.every)
	if c.end > math.MaxInt64-int64(c.every) {
		c.end = math.MaxInt64
	} else {
		c.end += int64(c.every)
	}
	return !first
}

// mayBeOver reports whether over could say so of any of the frames, or has to see them.
func (c *rotationClock) mayBeOver(frames []Frame) bool {
	if c.every == 0 {
		return false
	}
	for i := range frames {
		if frames[i].Time >= c.end {
			return true
		}
	}
	return false
}
