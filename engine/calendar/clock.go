// SPDX-License-Identifier: Apache-2.0

package calendar

import "time"

// Quorum is how many outliers set a Clock. One source with a wrong clock must not set it
// with a few packets of two addresses each. A larger Quorum would lose too much where
// captures are joined: a part with fewer packets than that is lost.
const Quorum = 16

// Tolerance is the least Ahead and Behind that a Clock should have: right clocks, and
// packets out of order, differ by less.
const Tolerance = time.Minute

// Clock follows the times of a stream, and distinguishes outliers from a clock that was
// set. It is the policy for wrong clocks:
//
//   - A time near the latest time is believed at once. Near is at most Behind before it,
//     or at most Ahead after it. Where the wall clock is known, a time at most Ahead
//     after that is near, too.
//   - Any other time is an outlier, in the past or in the future, and is quarantined.
//   - Each believed time votes against the quarantine, each outlier for it. Outliers that
//     are outvoted are dropped: they were false.
//   - An outlier that is no nearer to the outlier before it than to the clock empties the
//     quarantine, and is then its only member.
//   - When the quarantine holds a Quorum, the clock was set: the times in it are adopted,
//     and the last of them is the latest time.
//
// So fewer than a Quorum of outliers in a row change nothing if as many right times
// follow. The Clock follows a clock that was set after a Quorum, forward or back. A pause
// longer than Ahead looks like a clock that was set: callers that must not wait then
// choose a large Ahead.
//
// The caller holds the packets or elements, and Observe returns how to treat them. At the
// end of the stream the caller decides whether to believe the Quarantine: no time can
// settle it any more.
//
// The first time is believed, whatever it is. The zero value believes nothing but the
// latest time. No time overflows; the caller leaves out NoTime. All methods take constant
// time. A Clock is not safe for concurrent use.
type Clock struct {
	Ahead, Behind time.Duration

	started     bool
	latest      int64
	wall        int64 // by the wall clock, if it is known
	hasWall     bool
	believed    int // times since the clock was set, at most Quorum
	quarantine  [Quorum]int64
	quarantined int
	votes       int // for the quarantine
}

// Verdict is a Clock's judgement of a time.
type Verdict uint8

const (
	// Believed is a time that continues those before it.
	Believed Verdict = iota
	// Quarantined is an outlier: its packet or element has to wait.
	Quarantined
	// Adopted is an outlier that completes a Quorum: the quarantine and this time are
	// believed, in their order. See Clock.Adopted.
	Adopted
)

// Observe takes the next time of the stream. dropped is how many outliers before it left
// the quarantine as false: all that were in it, or none.
func (c *Clock) Observe(t int64) (v Verdict, dropped int) {
	if !c.started {
		c.Set(t)
	}
	if c.Near(t) {
		c.latest = max(c.latest, t)
		c.believed = min(c.believed+1, Quorum)
		if c.votes--; c.votes <= 0 {
			dropped = c.drop()
		}
		return Believed, dropped
	}
	if n := c.quarantined; n > 0 && Distance(t, c.quarantine[n-1]) >= Distance(t, c.latest) {
		dropped = c.drop()
	}
	c.quarantine[c.quarantined] = t
	c.votes++
	if c.quarantined++; c.quarantined < Quorum {
		return Quarantined, dropped
	}
	c.Set(t)
	c.believed = Quorum
	return Adopted, dropped
}

// Near reports whether Observe would believe t at once. The clock must have started.
func (c *Clock) Near(t int64) bool {
	if t < c.latest {
		return Distance(t, c.latest) <= uint64(c.Behind)
	}
	from := c.latest
	if c.hasWall {
		from = max(from, c.wall)
	}
	return t <= from || Distance(t, from) <= uint64(c.Ahead)
}

// drop empties the quarantine.
func (c *Clock) drop() (dropped int) {
	dropped, c.quarantined, c.votes = c.quarantined, 0, 0
	return dropped
}

// Pass moves the clock to t, unless t is earlier, and drops the quarantine. It is for
// times that the caller knows to be near.
func (c *Clock) Pass(t int64) {
	c.latest = max(c.latest, t)
	c.drop()
}

// Set sets the clock to t, forward or back, and drops the quarantine.
func (c *Clock) Set(t int64) {
	c.started, c.latest, c.believed = true, t, 0
	c.drop()
}

// Reset returns to the state before the first time.
func (c *Clock) Reset() { *c = Clock{Ahead: c.Ahead, Behind: c.Behind} }

// Wall sets the time of the wall clock.
func (c *Clock) Wall(now int64) { c.wall, c.hasWall = now, true }

// Latest returns the latest time that was believed since the clock was set, or 0 before
// the first.
func (c *Clock) Latest() int64 { return c.latest }

// Count returns how many times were believed since the clock was set, counted up to
// Quorum.
func (c *Clock) Count() int { return c.believed }

// Quarantine returns the times in quarantine. They are valid until the next call.
func (c *Clock) Quarantine() []int64 { return c.quarantine[:c.quarantined] }

// Votes returns by how many the outliers exceed the believed times since the quarantine
// was empty.
func (c *Clock) Votes() int { return c.votes }

// Resume continues from the Latest, Quarantine and Votes of a clock that had started. It
// reports false, and does nothing, if no clock can have returned these values.
func (c *Clock) Resume(latest int64, held []int64, votes int) bool {
	if len(held) >= Quorum || votes < min(len(held), 1) || votes > len(held) {
		return false
	}
	c.Set(latest)
	c.quarantined, c.votes = copy(c.quarantine[:], held), votes
	return true
}

// Adopted returns the times that Observe has just adopted. They are valid until the next
// call.
func (c *Clock) Adopted() []int64 { return c.quarantine[:] }
