// SPDX-License-Identifier: Apache-2.0

package hubclient

import (
	"slices"
	"strconv"
	"time"
)

// slice is a client's state of a slice.
type slice struct {
	number  int
	subject string
	next    *request   // request that is collecting; nil for none
	flight  []*request // sent requests, in their order
	window  int        // limit of sent requests
	seq     uint64     // of the last request
	fencing uint64     // the highest seen so far
	fails   int        // failures in a row
	// failedAt is the time of the last failure.
	failedAt time.Duration
	// misses counts bundles in a row that it did not answer, and until singleUntil it gets none.
	misses      int
	singleUntil time.Duration
}

// request is a request that is collected, or on its way.
type request struct {
	count    int // number of digests
	base     int64
	runs     []run
	last     *Answers // answers of the last run
	since    time.Duration
	seq      uint64
	late     uint32 // see Request.Deadline
	reply    string
	sent     time.Duration // time of the first transmission
	again    time.Duration // time of the next transmission
	deadline time.Duration
	tries    int
	bundled  bool // the last transmission was part of a bundle
	digests  [batchDigests]uint64
	deltas   [batchDigests]int32  // times of the digests, from base, in DeltaUnit
	indexes  [batchDigests]uint32 // places of the digests in their batches
}

// run is a part of a request, up to the next run: the digests of one batch.
type run struct {
	answers *Answers
	from    int
}

// maxDelta bounds the distance of a request's times from its first time, in DeltaUnit.
const maxDelta = 1 << 15

// units returns a time in DeltaUnit. It does not depend on the request, so verdicts stay
// the same however a stream is cut.
func units(t int64) int64 {
	const unit = int64(DeltaUnit * time.Microsecond)
	return (t - unit&(t>>63) + t>>63&1) / unit
}

// fits reports whether a packet of that time can be in the request.
func (r *request) fits(at int64) bool { return uint64(at-r.base+maxDelta) <= 2*maxDelta }

// broken reports whether the slice must not be asked: it has failed, and no probe is due.
func (s *slice) broken(now time.Duration) bool {
	return s.fails >= breakAfter && (now < s.failedAt+probeEvery || len(s.flight) > 0)
}

// succeeded records an answer.
func (s *slice) succeeded() {
	s.fails = 0
	s.window = min(s.window+1, maxWindow)
}

// failed records that a request got no usable answer.
func (s *slice) failed(now time.Duration) {
	s.fails++
	s.failedAt = now
}

// find returns the request under way with a number, or nil.
func (s *slice) find(seq uint64) *request {
	for _, r := range s.flight {
		if r.seq == seq {
			return r
		}
	}
	return nil
}

// remove removes a request that is under way, and reports whether it was.
func (s *slice) remove(r *request) bool {
	i := slices.Index(s.flight, r)
	if i < 0 {
		return false
	}
	s.flight = slices.Delete(s.flight, i, i+1)
	return true
}

// giveUp leaves all packets of the slice unchecked.
func (s *slice) giveUp(c *Client) {
	for len(s.flight) > 0 {
		c.resolve(s, s.flight[0], nil)
	}
	if r := s.next; r != nil {
		s.next = nil
		c.collected--
		c.resolve(s, r, nil)
	}
}

// begin begins collecting.
func (c *Client) begin(s *slice, at int64, now time.Duration) {
	if last := len(c.free) - 1; last >= 0 {
		s.next, c.free = c.free[last], c.free[:last]
	} else {
		s.next = &request{}
	}
	s.next.base, s.next.since = at, now
	c.collected++
}

// add adds a digest with its time, whose answer goes to a place in a batch.
func (r *request) add(digest uint64, at int64, a *Answers, index int) {
	if r.last != a {
		r.last = a
		r.runs = append(r.runs, run{a, r.count})
	}
	n := uint(r.count) % batchDigests
	r.digests[n], r.deltas[n], r.indexes[n] = digest, int32(at-r.base), uint32(index)
	r.count++
}

// recycle reuses the memory of a request.
func (c *Client) recycle(r *request) {
	clear(r.runs) // so that batches can be freed
	r.runs, r.last, r.count, r.tries = r.runs[:0], nil, 0, 0
	c.free = append(c.free, r)
}

// send sends the digests collected for a slice, once there is room: see
// ClientConfig.Block. It returns the time.
func (c *Client) send(s *slice) time.Duration {
	r := s.next
	if r == nil {
		return c.now()
	}
	s.next = nil
	c.collected--
	for c.cfg.Block && len(s.flight) >= s.window && s.fails < breakAfter && !c.abandoned {
		now := c.now()
		c.arm(now)
		c.post(now)
		c.progress.Wait()
	}
	if s.full() || c.abandoned {
		c.resolve(s, r, nil)
	} else {
		c.launch(s, r)
	}
	return c.now()
}

// full reports whether no request may be sent now.
func (s *slice) full() bool {
	return len(s.flight) >= s.window || s.fails >= breakAfter && len(s.flight) > 0
}

// launch sends a request for the first time.
func (c *Client) launch(s *slice, r *request) {
	now := c.now()
	s.seq++
	r.seq, r.sent, r.late = s.seq, now, 0
	r.deadline = now + c.cfg.Wait
	if !c.cfg.Block {
		r.deadline = r.since + c.cfg.Wait
	}
	if !c.cfg.Block && !c.cfg.Anytime {
		behind := min(max(time.Since(time.UnixMicro(r.base*DeltaUnit)), 0), maxBehind)
		r.late = uint32((behind + c.cfg.Wait + lateLeeway) / time.Millisecond)
	}
	text := append(make([]byte, 0, 80), c.inbox...)
	text = strconv.AppendInt(text, int64(s.number), 10)
	text = strconv.AppendUint(append(text, '.'), r.seq, 10)
	r.reply = string(text)
	s.flight = append(s.flight, r)
	c.inFlight++
	c.underWay += r.count
	c.try(s, r, now)
}

// encode returns the message of a request, until the next call. It is always the same.
func (c *Client) encode(r *request) []byte {
	q := Request{
		Op: TestAndSet, Times: true, Epoch: c.cfg.Token.Epoch, Seq: r.seq, Time: uint64(r.base * DeltaUnit), Deadline: r.late,
		Digests: r.digests[:r.count], Deltas: r.deltas[:r.count], Remaining: c.cfg.Remaining,
	}
	c.msg = q.Append(c.msg[:0])
	return c.msg
}

// try sends a request. One of few digests goes with others at first: the caller posts the bundle.
func (c *Client) try(s *slice, r *request, now time.Duration) {
	if r.tries++; r.tries > 1 {
		c.stats.Retries++
		if r.bundled {
			s.missed(now)
		}
	}
	r.again = now + c.retry()
	if r.bundled = r.tries == 1 && r.count < thinDigests && s.bundles(now); r.bundled {
		c.pack(s, r, now)
		return
	}
	if err := c.to.Send(s.subject, r.reply, c.encode(r)); err != nil {
		c.again(r, now)
	}
}

// sendAll sends all collected digests.
func (c *Client) sendAll() {
	for i := range c.slices {
		c.send(&c.slices[i])
	}
	c.post(c.now())
}
