// SPDX-License-Identifier: Apache-2.0

package match

import (
	"time"

	"github.com/flowdedup/flowdedup/engine/calendar"
)

// lately is the longest duration of the last one to two periods of maxLongest: one record
// with a false time does not count for ever.
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
