package remote

import (
	"slices"
	"strconv"
	"time"
)

// slice is what a client knows of a slice.
type slice struct {
	number  int
	subject string
	next    *request   // is collected; nil for none
	flight  []*request // were sent, in their order
	window  int        // how many may be
	seq     uint64     // of the last request
	fencing uint64     // the highest that was seen
	fails   int        // in a row
	// failedAt is when it failed the last time.
	failedAt time.Duration
}

// request is a request that is collected, or on its way.
type request struct {
	digests  []uint64
	times    []int64
	asks     []ask
	min, max int64 // of times
	since    time.Duration
	seq      uint64
	reply    string
	msg      []byte
	sent     time.Duration // first
	again    time.Duration // when to send it again
	deadline time.Duration
	tries    int
}

// ask is where the answer for a digest goes.
type ask struct {
	answers *Answers
	index   uint32
}

// fits reports whether a packet of that time can be in the request.
func (r *request) fits(t int64) bool {
	low, high := min(r.min, t), max(r.max, t)
	return high-low >= 0 && high-low < (maxSpan-DeltaUnit)*int64(time.Microsecond)
}

// broken reports whether the slice is not to be asked: it has failed, and is not to be tried
// now.
func (s *slice) broken(now time.Duration) bool {
	return s.fails >= breakAfter && (now < s.failedAt+probeEvery || len(s.flight) > 0)
}

// succeeded notes an answer.
func (s *slice) succeeded() {
	s.fails = 0
	s.window = min(s.window+1, maxWindow)
}

// failed notes that a request got no answer of use.
func (s *slice) failed(now time.Duration) {
	s.fails++
	s.failedAt = now
}

// find returns the request of a number that is on its way, or nil.
func (s *slice) find(seq uint64) *request {
	for _, r := range s.flight {
		if r.seq == seq {
			return r
		}
	}
	return nil
}

// remove takes a request off those on their way, and reports whether it was one.
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

// collect adds a digest to the next request.
func (c *Client) collect(s *slice, d uint64, t int64, k ask, now time.Duration) {
	r := s.next
	if r == nil {
		r = c.unused()
		r.since, r.min, r.max = now, t, t
		s.next = r
		c.collected++
	}
	r.min, r.max = min(r.min, t), max(r.max, t)
	r.digests, r.times, r.asks = append(r.digests, d), append(r.times, t), append(r.asks, k)
}

// unused returns memory for a request.
func (c *Client) unused() *request {
	if len(c.free) == 0 {
		return &request{}
	}
	r := c.free[len(c.free)-1]
	c.free = c.free[:len(c.free)-1]
	return r
}

// recycle takes the memory of a request.
func (c *Client) recycle(r *request) {
	clear(r.asks) // batches may go
	*r = request{digests: r.digests[:0], times: r.times[:0], asks: r.asks[:0], msg: r.msg[:0]}
	c.free = append(c.free, r)
}

// send sends what was collected for a slice, once there is room for it: see
// ClientConfig.Block.
func (c *Client) send(s *slice) {
	r := s.next
	if r == nil {
		return
	}
	s.next = nil
	c.collected--
	for c.cfg.Block && len(s.flight) >= s.window && s.fails < breakAfter && !c.abandoned {
		c.arm()
		c.progress.Wait()
	}
	if s.full() || c.abandoned {
		c.resolve(s, r, nil)
		return
	}
	c.launch(s, r)
}

// full reports whether no request may be sent now.
func (s *slice) full() bool {
	return len(s.flight) >= s.window || s.fails >= breakAfter && len(s.flight) > 0
}

// launch sends a request for the first time.
func (c *Client) launch(s *slice, r *request) {
	now := c.now()
	s.seq++
	r.seq, r.sent = s.seq, now
	r.deadline = r.since + c.cfg.Wait
	if c.cfg.Block {
		r.deadline = now + c.cfg.Wait
	}
	text := append(make([]byte, 0, 80), c.inbox...)
	text = strconv.AppendInt(text, int64(s.number), 10)
	text = strconv.AppendUint(append(text, '.'), r.seq, 10)
	r.reply = string(text)
	c.encode(r)
	s.flight = append(s.flight, r)
	c.inFlight++
	c.try(s, r, now)
}

// encode writes the message of a request.
func (c *Client) encode(r *request) {
	base := floorDiv(r.min, int64(time.Microsecond))
	q := Request{Op: TestAndSet, Times: true, Epoch: c.cfg.Token.Epoch, Seq: r.seq, Time: uint64(base), Digests: r.digests}
	if !c.cfg.Block {
		behind := min(max(time.Since(time.Unix(0, r.min)), time.Duration(r.max-r.min)), maxBehind)
		q.Deadline = uint32((behind + c.cfg.Wait + lateLeeway) / time.Millisecond)
	}
	q.Deltas = c.deltas[:len(r.times)]
	for i, t := range r.times {
		q.Deltas[i] = uint16((t/int64(time.Microsecond) - base) / DeltaUnit)
	}
	r.msg = q.Append(r.msg[:0])
}

// try sends a request.
func (c *Client) try(s *slice, r *request, now time.Duration) {
	if r.tries++; r.tries > 1 {
		c.stats.Retries++
	}
	r.again = now + max(c.cfg.Wait/maxTries, time.Millisecond)
	if err := c.to.Send(s.subject, r.reply, r.msg); err != nil {
		c.again(r, now)
	}
}

// sendAll sends what was collected.
func (c *Client) sendAll() {
	for i := range c.slices {
		c.send(&c.slices[i])
	}
}

// floorDiv divides, and rounds down.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
