// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/engine/cluster/chain"
	"github.com/flowdedup/flowdedup/engine/cluster/slice"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// later is the status of a request that is answered when the hub above has answered. It is not
// sent.
const later hubclient.Status = 0xff

// climbing is an owner's state of the requests that the hub above is asked about.
// Repeated requests are not sent up again: a filter that knows no sites would take them
// for copies of themselves.
type climbing struct {
	waits   map[climberKey]bool
	replies map[string]*slice.Replies // by site, with the answers from above
	closed  bool                      // the slice is closed
	idle    chan struct{}             // closed when nothing waits any more; nil while nobody wants that
	skip    []uint64
	times   []int64
}

// ended says that a request waits no more.
func (u *climbing) ended(key climberKey) {
	if delete(u.waits, key); len(u.waits) == 0 && u.idle != nil {
		close(u.idle)
		u.idle = nil
	}
}

// climberKey names a request of a site. A site that begins again may use a number again.
type climberKey struct {
	site      string
	seq, time uint64
	first     uint64
	n         int
}

// climber is a request with the local verdicts on its digests and the answer of the hub
// above.
type climber struct {
	hubclient.Answers
	owner   *owner
	site    string
	to      string // where the answer goes
	fence   uint64
	request hubclient.Request
	copies  []byte // this hub's verdicts, and at the end the answer
	// remaining is how long copies stay copies, nil if that is unknown, or not asked for.
	remaining []uint16
	held      []chain.Held
	again     bool  // the slice has received it before
	clock     int64 // how much the site's clock is ahead, in microseconds
	// passed has a bit for each digest that no hub below confirms as a copy, and news is their
	// number: they are new, and the hub above is not asked.
	passed []byte
	news   int
}

func (c *climber) key() climberKey {
	r := &c.request
	return climberKey{c.site, r.Seq, r.Time, r.Digests[0], len(r.Digests)}
}

// climbRows passes the request to rows, and its new digests to the hub above.
func (o *owner) climbRows(rows *slice.Slice, site string) hubclient.Status {
	again, clock := rows.Repeated(site, o.reply, &o.request)
	if status := o.applyRows(rows, site); status != hubclient.OK {
		return status
	}
	status, copies := o.climb(&climber{
		site: site, to: o.reply, fence: o.fence, request: o.request, copies: o.bits, again: again, clock: clock,
	})
	o.silent, o.bits = status == later, append(o.bits[:0], copies...)
	return status
}

// climbLink is climb for the answer of a link, which it replaces.
func (o *owner) climbLink(result *chain.Result) {
	a := result.Answer
	if o.hub.parent == nil && o.hub.settings.TopDown == 0 || a.Request == nil || a.Status != hubclient.OK {
		return
	}
	a.Status, a.Copies = o.climb(&climber{
		site: a.Site, to: a.Reply, fence: a.Fence, request: *a.Request, copies: a.Copies, remaining: a.Remaining, held: result.Held, again: a.Again,
	})
}

// climb asks the hubs below about the copies, if they have to confirm them, and then the hub
// above about the digests that are new here. It returns the answer to the site, or later. The
// owner is locked. Request and copies are the caller's.
func (o *owner) climb(c *climber) (status hubclient.Status, copies []byte) {
	if len(c.request.Digests) == 0 {
		return hubclient.OK, nil
	}
	if o.up.closed {
		return hubclient.NotOwner, nil
	}
	c.passed = make([]byte, len(c.copies))
	if o.up.waits[c.key()] {
		return later, nil
	}
	before := o.up.replies[c.site]
	if before != nil {
		if copies, ok := before.Find(&c.request); ok {
			return hubclient.OK, copies
		}
	}
	if c.again { // another owner may have asked about it
		return hubclient.Stale, nil
	}
	if before == nil {
		if o.up.replies == nil {
			o.up.replies, o.up.waits = map[string]*slice.Replies{}, map[climberKey]bool{}
		}
		before = &slice.Replies{} // slices bound the number of sites
		o.up.replies[c.site] = before
	}
	if o.descend(c) {
		return later, nil
	}
	return o.ascend(c)
}

// ascend is climb without the hubs below.
func (o *owner) ascend(c *climber) (status hubclient.Status, copies []byte) {
	p, asked := o.hub.parent, 0
	if p != nil {
		asked = o.skipCopies(c)
		p.count(c, asked)
	}
	if asked == 0 {
		o.up.replies[c.site].Keep(&c.request, c.copies)
		return hubclient.OK, c.copies
	}
	if p.waiting.Add(1) > maxClimbing {
		p.waiting.Add(-1)
		p.unchecked.Add(uint64(asked))
		o.settle(c) // all of its digests pass
		return hubclient.Overloaded, nil
	}
	o.up.waits[c.key()] = true
	c.owner, c.copies = o, slices.Clone(c.copies)
	c.request.Digests, c.request.Deltas = slices.Clone(c.request.Digests), nil
	c.Done = func() { p.done <- c } // the channel has room
	shape := &o.hub.settings
	entry := o.number
	if !shape.Shape.Rows() {
		entry, _ = shape.Shape.Place(o.number)
	}
	p.client.AskSlice(&c.Answers, entry*p.token.Slices/shape.entries(), c.request.Digests, o.up.times, o.up.skip)
	return later, nil
}

// skipCopies marks the digests that the hub above is not asked about, and finds all
// times. It returns how many digests are asked about.
func (o *owner) skipCopies(c *climber) (asked int) {
	r, n := &c.request, len(c.request.Digests)
	asked = n
	o.up.skip = slices.Grow(o.up.skip[:0], (n+63)/64)[:(n+63)/64]
	clear(o.up.skip)
	o.up.times = slices.Grow(o.up.times[:0], n)[:n]
	for i := range n {
		if known := c.copies[i/8] | c.passed[i/8]; known>>(i%8)&1 != 0 {
			o.up.skip[i/64] |= 1 << (i % 64)
			asked--
		}
		t := int64(r.Time) - c.clock
		if r.Times {
			t += int64(r.Deltas[i]) * hubclient.DeltaUnit
		}
		o.up.times[i] = t * int64(time.Microsecond)
	}
	return asked
}

// count counts a new request, and reports it to the hub above.
func (p *parent) count(c *climber, asked int) {
	n := len(c.request.Digests)
	p.digests.Add(uint64(n))
	p.hits.Add(uint64(n - asked - c.news))
	p.asked.Add(uint64(asked))
	p.client.Count(uint64(n), uint64(n-asked-c.news))
}

// landed answers a site once all verdicts are known.
func (o *owner) landed(c *climber) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range c.request.Digests {
		if c.Copies[i/64]>>(i%64)&1 != 0 {
			c.copies[i/8] |= 1 << (i % 8)
			o.hub.parent.hitsAbove.Add(1)
			if c.remaining == nil && c.Remaining != nil {
				c.remaining = make([]uint16, len(c.request.Digests))
			}
			if c.Remaining != nil {
				c.remaining[i] = c.Remaining[i]
			}
		}
	}
	o.hub.parent.hitsAbove.Add(-uint64(c.Assumed)) // these count as copies without being known
	o.hub.parent.unchecked.Add(uint64(c.Unchecked))
	o.settle(c)
	o.up.replies[c.site].Keep(&c.request, c.copies)
	o.answerLater(c, hubclient.OK)
	o.up.ended(c.key())
}

// answerLater sends a site the answer that was to come later.
func (o *owner) answerLater(c *climber, status hubclient.Status) {
	reply := hubclient.Reply{
		Status: status, N: uint32(len(c.request.Digests)), Seq: c.request.Seq, Epoch: o.hub.settings.Epoch, Fencing: c.fence,
		Unchecked: uint32(min(c.Unchecked, len(c.request.Digests))), Copies: c.copies,
	}
	if c.request.Remaining {
		reply.Remaining = c.remaining
	}
	o.out = reply.Append(o.out[:0])
	o.publish(c.site, c.to)
}

// settle sets held digests that are not copies, and in a dense tree copies, too. The owner is
// locked.
func (o *owner) settle(c *climber) {
	if link, ok := o.slice.(*chain.Link); ok && len(c.held) > 0 && !o.up.closed {
		result, set := link.Settle(c.held, c.copies, c.remaining)
		o.hub.parent.sets.Add(uint64(set))
		o.send(&result)
	}
}

// land waits until the hubs above and below have answered all requests, or are given up.
func (o *owner) land() {
	o.mu.Lock()
	if len(o.up.waits) == 0 {
		o.mu.Unlock()
		return
	}
	idle := make(chan struct{})
	o.up.idle = idle
	o.mu.Unlock()
	waitFor(idle)
}

// closeSlice gives the memory of the slice back.
func (o *owner) closeSlice() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.up.closed = true
	return o.slice.Close()
}
