// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"time"

	"github.com/flowdedup/flowdedup/engine/hubclient"
)

const (
	// lagDrift is the drift between the clocks of a site and the hub that the least lag
	// follows: a thousandth.
	lagDrift = 1000
	// lagReset is the time of lateness after which a site's clock counts as set.
	lagReset = 30 * time.Second
)

// lag finds the requests of a site that come too late. The site's clock is not the hub's,
// so it compares the delay of a request with the delays of the fastest requests. After a cut
// of the network, earlier requests come so late that nobody waits for them any more.
type lag struct {
	least time.Duration // of the site's times behind the hub's
	at    time.Time     // time of that measurement
	since time.Time     // time of the first of a run of late requests, or zero
}

// steady returns the time by a clock that nobody sets after the start of the hub. Otherwise all
// requests would be late for lagReset, once the hub's clock is set forward.
func (h *Hub) steady(now time.Time) time.Time { return h.started.Add(now.Sub(h.started)) }

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
