// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"time"

	"github.com/flowdedup/flowdedup/engine/hubclient"
)

const (
	// lagDrift is how much faster the clocks of a site and of the hub may go apart than the
	// least lag follows: a thousandth.
	lagDrift = 1000
	// lagReset is after how long a site counts as late because its clock was set.
	lagReset = 30 * time.Second
)

// lag tells which requests of a site come too late. Its clock is not the hub's, so what
// counts is how much longer a request took than the fastest ones. After a cut of the
// network the requests of before come that late, when nobody waits for them any more.
type lag struct {
	least time.Duration // of the site's times behind the hub's
	at    time.Time     // when that was known
	since time.Time     // of the first of requests that were all late, or zero
}

// inTime reports whether the deadline of a request is yet to come.
func (l *lag) inTime(r *hubclient.Request, now time.Time) bool {
	if r.Deadline == 0 {
		return true
	}
	took := now.Sub(time.UnixMicro(int64(r.Time)))
	l.least += now.Sub(l.at) / lagDrift
	if l.at.IsZero() || took < l.least {
		l.least = took
	}
	l.at = now
	if took-l.least <= time.Duration(r.Deadline)*time.Millisecond {
		l.since = time.Time{}
		return true
	}
	if l.since.IsZero() {
		l.since = now
	}
	if now.Sub(l.since) > lagReset {
		*l = lag{least: took, at: now}
		return true
	}
	return false
}
