// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/engine/calendar"
)

const (
	// maxSlack bounds the steps back of times for which packets wait longer. Times of several
	// interfaces step back in captures of dumpcap, by up to a quarter of a second.
	maxSlack = uint64(time.Second)
	// maxSets is how often the clock may be set until packets from before are settled, though
	// it never lasts for a hold. Where many times are outliers, the clock counts as set each time
	// that waryOutliers of them came among waryPackets: its own time may be wrong, and stand still.
	maxSets      = 16
	waryOutliers = 64
	waryPackets  = 4 * waryOutliers
)

// clock is the clock of a Hold: the latest time that a calendar.Clock believes. So a
// source with a wrong clock does not settle the packets of other sources. A pause of up to
// calendar.Tolerance is believed at once, since sparse streams are full of pauses: a wrong
// time that is no further ahead does settle packets.
//
// The clock may be set for a moment by a run of wrong times, and set back by right times. So packets
// from before it was set are not settled at once, but when it has gone on for a hold since.
type clock struct {
	times    calendar.Clock // follows now when it is needed, while it holds no outliers
	now      int64          // the latest time, or NoTime
	slack    uint64         // the largest step back of times
	doubts   bool           // times holds outliers
	doubted  uint64         // number of the packet of the first of them
	sets     int            // how often the clock was set
	setFrom  int64          // the earliest time that it was set by, the last time
	wait     uint64         // how long packets wait, without slack
	outliers int            // that came since packet waryFrom, below waryOutliers
	waryFrom uint64
	wary     int // how often there were many
}

func newClock(within uint64) clock {
	return clock{
		times: calendar.Clock{Ahead: max(calendar.Tolerance, time.Duration(within)), Behind: time.Duration(maxSlack)},
		now:   calendar.NoTime, wait: within,
	}
}

// observe takes the time of a packet. It need not be called for times that are believed at
// once where there are no outliers: the caller moves now.
func (c *clock) observe(t int64, number uint64) calendar.Verdict {
	if !c.doubts && c.now != calendar.NoTime {
		c.times.Set(c.now)
	}
	verdict, _ := c.times.Observe(t)
	if verdict == calendar.Quarantined {
		c.beWary(number)
	}
	switch held := c.times.Quarantine(); {
	case verdict == calendar.Adopted:
		c.sets, c.setFrom = c.sets+1, slices.Min(c.times.Adopted())
	case verdict == calendar.Quarantined && len(held) == 1:
		c.doubted = number
	case verdict == calendar.Believed && t < c.now:
		c.slack = max(c.slack, calendar.Distance(c.now, t))
	}
	c.now, c.doubts = c.times.Latest(), len(c.times.Quarantine()) > 0
	return verdict
}

// beWary counts an outlier.
func (c *clock) beWary(number uint64) {
	if c.outliers++; c.outliers < waryOutliers {
		return
	}
	if number-c.waryFrom < waryPackets {
		c.wary++
	}
	c.outliers, c.waryFrom = 0, number
}

// skip takes the times of packets while no packet waits. It believes all: a wrong time settles
// nothing, and packets that wait later wait for a quorum of right times.
func (c *clock) skip(times []int64) {
	c.doubts = false
	now := c.now
	for _, t := range times {
		switch {
		case t > now:
			now = t
		case t != calendar.NoTime && calendar.Distance(now, t) > c.slack:
			if step := calendar.Distance(now, t); step <= maxSlack {
				c.slack = step
			} else {
				now = t
			}
		}
	}
	c.now = now
}

// isPast reports whether no packet can come any more that may take the place of a packet of a part.
func (c *clock) isPast(p *part) bool {
	most := c.wait + c.slack
	away := calendar.Distance(c.now, p.clock) > most
	switch {
	case c.sets-p.sets+c.wary-p.wary >= maxSets:
		return true
	case p.sets == c.sets:
		return away
	default:
		return away && c.now > c.setFrom && calendar.Distance(c.now, c.setFrom) > most
	}
}
