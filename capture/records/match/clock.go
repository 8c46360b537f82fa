// SPDX-License-Identifier: Apache-2.0

package match

import (
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// samples is the number of messages that the median is taken of. After half as many messages
// it follows a clock that was set.
const samples = 63

// mostBehind is the largest error of a clock, in nanoseconds: 73 years, so that a clock
// that stands at 1970 counts. Sums of such numbers fit 64 bits.
const mostBehind = 1 << 61

// clock measures the lag of an exporter's clock behind ours: the median of received -
// exported. It holds the time that messages take, which is much the same for all.
type clock struct {
	last      int64 // when the last message was exported
	ring      [samples]int64
	n         int // messages so far
	median    int64
	low, high int64 // bounds of the offset of an exporter with whole seconds
	precise   bool  // some message was exported at a part of a second
}

// see takes a record of a message. Messages of a file come when they were exported.
func (c *clock) see(r *records.Record) {
	if r.Received == 0 || r.Exported == 0 || r.Exported == c.last || r.Exported == r.Received {
		return
	}
	behind := calendar.Since(r.Received, r.Exported)
	if behind > mostBehind || behind < -mostBehind {
		return
	}
	c.last = r.Exported
	c.precise = c.precise || r.Exported%int64(time.Second) != 0
	c.ring[c.n%samples] = behind
	c.n++
	if c.n > 8 && c.n%8 != 0 {
		return
	}
	sorted := c.ring
	used := sorted[:min(c.n, samples)]
	slices.Sort(used)
	outliers := len(used) / 8 // at each end
	c.median = used[len(used)/2]
	c.high = used[outliers]
	c.low = min(used[len(used)-1-outliers]-int64(time.Second), c.high) // above it messages were delayed
}

// offset returns the correction of a record's times. Times in whole seconds, of a message or
// since the exporter's start, are too small by as much as the median is too large.
func (c *clock) offset(r *records.Record) int64 {
	if c.n > 0 && !c.precise && r.Precision < time.Second {
		return c.ofSeconds()
	}
	return c.median
}

// setAlike is by how much two clocks differ that time servers set. Messages that wait for
// others on their way make the offset larger by delayed.
const (
	setAlike = int64(100 * time.Millisecond)
	delayed  = int64(400 * time.Millisecond)
	// A busy exporter may stamp its first messages long before it sends them. Few messages
	// do not outweigh that most clocks are set.
	delayedFew = int64(2 * time.Second)
	fewSamples = 8
)

// ofSeconds returns the offset of an exporter with whole seconds. It may always send at the
// same part of a second, so the median only says in which second the offset lies. It is none if
// it may be, as most clocks are set by a time server.
func (c *clock) ofSeconds() int64 {
	wait := delayed
	if c.n < fewSamples {
		wait = delayedFew
	}
	if c.low <= setAlike+wait && c.high >= -setAlike {
		return 0
	}
	return c.low + (c.high-c.low)/2
}

// isArchived reports whether the message of a record came more than a day from the record's time.
func isArchived(r *records.Record) bool {
	const day = int64(24 * time.Hour)
	apart := calendar.Since(r.Received, r.End)
	return r.Exported != 0 && r.Received != 0 && records.IsTime(r.End) && (apart > day || apart < -day)
}

// lately is the longest duration of this period of maxLongest and the period before: a record with
// a false time does not count for ever.
type lately struct {
	now, before time.Duration
	since       int64 // when the period began, by the clock that records are received by
}

// note takes a duration. Where it is not known when the record came, no time passes.
func (l *lately) note(long time.Duration, received int64) {
	switch {
	case received == 0:
	case l.since == 0:
		l.since = received
	case calendar.Since(received, l.since) > int64(maxLongest):
		l.now, l.before, l.since = 0, l.now, received
	}
	l.now = max(l.now, long)
}

func (l *lately) value() time.Duration { return max(l.now, l.before) }
