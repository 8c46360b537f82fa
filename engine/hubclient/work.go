// SPDX-License-Identifier: Apache-2.0

package hubclient

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// stall is the delay of a tick that shows that the process has not run.
const stall = 4 * time.Millisecond

// work does timed work, until Close.
func (c *Client) work() {
	defer close(c.done)
	for range c.timer.C {
		c.mu.Lock()
		if c.closed {
			c.mu.Unlock()
			return
		}
		now, changed := c.now(), false
		if now >= c.due {
			changed = c.tick(now)
		}
		c.timer.Reset(c.due - now)
		failure := c.failure
		c.mu.Unlock()
		if changed && c.cfg.Notice != nil {
			c.cfg.Notice(failure)
		}
	}
}

// arm has a tick come in time for what is collected or under way.
func (c *Client) arm(now time.Duration) {
	if c.collected > 0 {
		c.wakeAt(now+pauseDelay, now)
	} else if c.inFlight > 0 {
		c.wakeAt(now+c.retry(), now)
	}
}

// wakeAt has a tick come at a time, if none comes before.
func (c *Client) wakeAt(at, now time.Duration) {
	if at < c.due {
		c.due = at
		c.timer.Reset(at - now)
	}
}

// plan sets when the next tick is due.
func (c *Client) plan(now time.Duration) {
	c.due = c.reportAt
	if c.way.self != 0 {
		c.due = min(c.due, c.way.at)
	}
	if c.collected > 0 {
		c.due = min(c.due, now+pauseDelay)
	}
	for i := range c.slices {
		for _, r := range c.slices[i].flight {
			c.due = min(c.due, r.again, r.deadline)
		}
	}
	c.due = max(c.due, now+batchDelay)
}

// rest has no tick come before the next one that is needed anyway, once all is answered well. Else a
// tick gives notice.
func (c *Client) rest(now time.Duration) {
	if c.collected+c.inFlight > 0 || c.failure != "" || c.closed {
		return
	}
	for i := range c.slices {
		if c.slices[i].fails > 0 {
			return
		}
	}
	c.plan(now)
	c.timer.Reset(c.due - now)
}

// retry is the time until a request is sent again.
func (c *Client) retry() time.Duration { return max(c.cfg.Wait/maxTries, batchDelay) }

// tick sends digests that have waited long enough for others, sends unanswered requests
// again, and gives up requests that have waited too long. It reports whether failure has
// changed.
func (c *Client) tick(now time.Duration) bool {
	// A process that did not run has not read its answers either: they have until the next
	// tick. Its packets could not have left meanwhile.
	stalled := now-c.due > stall
	for i := range c.slices {
		s := &c.slices[i]
		for k := 0; k < len(s.flight); {
			r := s.flight[k]
			switch {
			case now >= r.deadline && !stalled:
				s.failed(now)
				c.resolve(s, r, nil)
				continue // the next request has moved to its place
			case now >= r.again:
				c.try(s, r, now)
			}
			k++
		}
	}
	c.flush(now)
	c.post(now)
	if c.way.self != 0 && now >= c.way.at {
		c.askWay(nil, nil)
	}
	if now >= c.reportAt {
		c.sendReport()
		c.reportAt = now + reportEvery
	}
	c.plan(now)
	return c.notice(now)
}

// sendDue sends digests that have waited long enough for others. If too many requests are
// under way, it goes on collecting until a request is answered.
func (c *Client) sendDue(s *slice, now time.Duration) {
	if s.next == nil || now-s.next.since < c.delay(s.next.count) {
		return
	}
	if !s.full() || !c.cfg.Block && now-s.next.since >= c.cfg.Wait {
		c.send(s)
	}
}

// flush sends what has waited long enough, and few digests for the other slices with it. Where
// answers take long, bundles are rarer, so that maxWindow of them are not under way at once.
func (c *Client) flush(now time.Duration) {
	if c.collected == 0 {
		return
	}
	bundle := now-c.flushed >= max(batchDelay, min(c.took/(maxWindow-2), c.cfg.Wait/4, thinDelay))
	if bundle {
		c.flushed = now
	}
	for i := range c.slices {
		s := &c.slices[i]
		if bundle && s.next != nil && s.next.count < thinDigests && s.bundles(now) && !s.full() {
			c.send(s)
		}
		c.sendDue(s, now)
	}
}

// delay returns how long the given number of digests wait for others. The cost of a
// message is the same for one digest and for a hundred: to 64 slices a millisecond would
// be 64,000 messages a second. A quarter of the packets' wait leaves time for answers.
func (c *Client) delay(digests int) time.Duration {
	if digests >= thinDigests {
		return batchDelay
	}
	return max(batchDelay, min(c.cfg.Wait/4, thinDelay))
}

// fresh is the time during which a slice that failed, and was not asked since, counts as
// failing.
const fresh = 5 * time.Second

// notice finds out why the hub does not answer, and reports whether the failure began or
// ended.
func (c *Client) notice(now time.Duration) bool {
	connected := c.to.Connected()
	ring, unknown := c.way.ring, c.way.closed() && now > pingTime
	failing := !connected || ring || unknown
	for i := range c.slices {
		s := &c.slices[i]
		failing = failing || s.fails >= breakAfter && now-s.failedAt < fresh
	}
	if failing == (c.failure != "") && (!ring || c.failure == inRing) {
		return false
	}
	switch c.failure = c.reason; {
	case !failing:
		c.failure = ""
	case !connected:
		c.failure = "there is no connection"
	case ring:
		c.failure = inRing
	case c.reason == "" && unknown:
		c.failure = unknownWay
	case c.reason == "":
		c.failure = "its answers do not come in time"
	}
	c.reason = ""
	return true
}

// sendReport sends the hub a report about the site.
func (c *Client) sendReport() {
	r := c.report
	r.CopiesHub, r.Unchecked, r.RTTP99US = c.stats.Copies, c.stats.Unchecked, float64(c.rtt.ValueAtQuantile(99))
	c.rtt.Reset()
	c.least = c.took // another way may be longer
	// If a report is lost, a new report follows.
	_ = c.to.Send(c.subject(0, Ping).Report(), "", r.Encode())
}

// pingWord ends the subject of the answer to a Ping.
const pingWord = "ping"

// Errors of Client.Ping, in addition to ErrRefused.
var (
	// ErrSilent says that no answer came.
	ErrSilent = errors.New("the hub does not answer")
	// ErrOther says that the hub's messages are of another version.
	ErrOther = errors.New("the hub is of another version: use flowdedup and flowdedup-hub of the same one")
	// ErrKey says that the digests of the site differ from the other sites'.
	ErrKey = errors.New("the hub has another key or identity, or another version: make a new token with its flowdedup-hub join-token")
)

// TreeVersion is the version of the messages between a hub and the hub above that sensors do not
// send. A Ping of a hub has it as K, and PingDigests digests. Their bits in the answer, from the
// least on, are the version of the hub above.
const TreeVersion = 3

// PingDigests is the number of digests in a Ping of a hub. Sensors send one.
const PingDigests = 8

// pingTime is how long Ping waits.
const pingTime = 2 * time.Second

// Ping asks the hub whether it serves the token, and then for the way up from there. It is for the
// start.
func (c *Client) Ping() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pong = ErrSilent
	c.repeat(func() bool { return !errors.Is(c.pong, ErrSilent) }, func() {
		q := c.pingRequest()
		_ = c.to.Send(c.subject(0, Ping).String(), c.inbox+pingWord, q.Append(nil)) // is sent again
	})
	if c.pong == nil && c.way.self != 0 {
		c.repeat(c.way.known, func() { c.askWay(nil, nil) }) // later answers come, too
	}
	return c.pong
}

// pingRequest returns the request of a Ping.
func (c *Client) pingRequest() Request {
	q := Request{Op: Ping, Epoch: c.cfg.Token.Epoch, Digests: []uint64{c.cfg.Token.KeyCheck()}}
	if c.way.self != 0 {
		q.K, q.Digests = TreeVersion, slices.Repeat(q.Digests, PingDigests)
	}
	return q
}

// repeat sends a question again and again until it is answered, for at most pingTime.
func (c *Client) repeat(answered func() bool, send func()) {
	deadline := c.now() + pingTime
	for try := 0; !answered() && c.now() < deadline; try++ {
		if try%50 == 0 {
			send()
		}
		c.mu.Unlock()
		time.Sleep(10 * time.Millisecond)
		c.mu.Lock()
	}
}

// receivePong takes the answer to a Ping.
func (c *Client) receivePong(msg []byte, refused bool) {
	var reply Reply
	err := reply.Decode(msg)
	switch {
	case refused || err != nil && !errors.Is(err, ErrVersion):
	case err != nil, c.way.self != 0 && reply.Status == OK && (len(reply.Copies) != 1 || reply.Copies[0] != TreeVersion):
		c.pong, c.reason = ErrOther, otherVersion
	case reply.Status == OK:
		c.pong = nil
	case reply.Status == Bad:
		c.pong = ErrKey
	case reply.Status == WrongEpoch:
		c.pong = fmt.Errorf("%w: %s", ErrRefused, refusals[WrongEpoch])
	} // other failures are temporary
}
