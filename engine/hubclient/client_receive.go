// SPDX-License-Identifier: Apache-2.0

package hubclient

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Receive takes a message that came to the inbox. refused means that nobody took the
// request. Messages may come in any order, repeatedly, and from anybody.
func (c *Client) Receive(subject string, msg []byte, refused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	c.receive(subject, msg, refused, now)
	c.post(now)
	c.rest(now)
}

// receive is Receive at a given time.
func (c *Client) receive(subject string, msg []byte, refused bool, now time.Duration) {
	if subject == c.inbox+pingWord {
		c.receivePong(msg, refused)
		return
	}
	if number, ok := strings.CutPrefix(subject, c.inbox+wayWord); ok {
		c.receiveWay(number, msg)
		return
	}
	if subject == c.inbox+bundleWord {
		c.receiveBundle(msg, refused, now)
		return
	}
	if s, seq := c.parseReply(subject); s != nil {
		c.receivePart(s, seq, msg, refused, now)
	}
}

// receivePart takes the answer of a slice to the request of a number.
func (c *Client) receivePart(s *slice, seq uint64, msg []byte, refused bool, now time.Duration) {
	r := s.find(seq)
	if r == nil {
		c.stats.Late++
		if !refused { // the slice is back: the next request probes it
			s.failedAt = min(s.failedAt, now-probeEvery)
		}
		return
	}
	if refused {
		c.reason = "nobody has its slices"
		c.again(r, now)
		return
	}
	var reply Reply
	if err := reply.Decode(msg); err != nil || reply.Seq != seq || reply.N != uint32(r.count) {
		if errors.Is(err, ErrVersion) {
			c.reason = otherVersion
		}
		return
	}
	if reply.Fencing < s.fencing { // from an owner that was replaced
		return
	}
	s.fencing = reply.Fencing
	c.answered(s, r, &reply, now)
}

// answered handles the answer of the owner of a slice.
func (c *Client) answered(s *slice, r *request, reply *Reply, now time.Duration) {
	switch reply.Status {
	case OK:
		c.record(now - r.sent)
		if r.bundled {
			s.misses = 0
		}
		s.succeeded()
		if n := int(reply.Unchecked); n > 0 && len(r.runs) > 0 {
			r.runs[0].answers.Unchecked += n
			c.stats.Unchecked += uint64(n)
		}
		for i, k := range r.runs {
			k.answers.keepRemaining(r.indexes[k.from:r.end(i)], reply.Remaining, k.from)
		}
		c.resolve(s, r, reply.Copies)
		c.sendDue(s, now)
	case NotOwner:
		c.again(r, now)
	default:
		c.stats.Refused++
		c.reason = refusals[reply.Status]
		if reply.Status == Overloaded {
			s.window = max(1, s.window/2)
		}
		s.failed(now)
		c.resolve(s, r, nil)
	}
}

// record records the time that an answer took.
func (c *Client) record(took time.Duration) {
	c.took += (took - c.took) / 16
	c.least = min(c.least, took)
	us := min(max(1, took.Microseconds()), time.Hour.Microseconds())
	for _, h := range []*hdrhistogram.Histogram{c.rtt, c.all} {
		if err := h.RecordValue(us); err != nil {
			panic("hubclient: " + err.Error()) // only for values out of its range
		}
	}
}

// otherVersion is the reason, for users, that the hub's messages cannot be read.
const otherVersion = "it is of another version"

// refusals are reasons why the hub does not answer, for users.
var refusals = [...]string{
	WrongEpoch: "its slices were laid out anew: make a new token with flowdedup-hub join-token",
	Stale:      "requests reach it too late",
	Overloaded: "it has more to do than it can",
	Bad:        "it cannot read the requests: is it of another version?",
	Ring:       inRing,
}

// parseReply reads the subject of an answer: the number of a slice and of a request.
func (c *Client) parseReply(subject string) (*slice, uint64) {
	rest, ok := strings.CutPrefix(subject, c.inbox)
	if !ok {
		return nil, 0
	}
	number, seq, _ := strings.Cut(rest, ".")
	i, err := strconv.Atoi(number)
	if err != nil || i < 0 || i >= len(c.slices) {
		return nil, 0
	}
	n, err := strconv.ParseUint(seq, 10, 64)
	if err != nil {
		return nil, 0
	}
	return &c.slices[i], n
}

// again schedules a request that nobody took to be sent again.
func (c *Client) again(r *request, now time.Duration) {
	r.again = now + noOwnerDelay<<min(r.tries-1, 6)
	c.wakeAt(r.again, now)
}

// resolve gives the packets of a request their answers, nil for none, and ends it.
func (c *Client) resolve(s *slice, r *request, copies []byte) {
	for i, k := range r.runs {
		to := r.end(i)
		if copies == nil {
			c.unchecked(k.answers, r.indexes[k.from:to]...)
		} else {
			c.stats.Copies += k.answers.mark(r.indexes[k.from:to], copies, k.from)
		}
		if k.answers.settle(to - k.from); k.answers.pending == 0 && c.wakes != nil {
			c.wakes()
		}
	}
	if s.remove(r) {
		c.inFlight--
		c.underWay -= r.count
	}
	c.recycle(r)
	c.progress.Broadcast()
}

// end returns where a run ends.
func (r *request) end(run int) int {
	if run+1 < len(r.runs) {
		return r.runs[run+1].from
	}
	return r.count
}

// keepRemaining records how long copies stay copies, if that is known and asked for: entries
// from the first on.
func (a *Answers) keepRemaining(indexes []uint32, remaining []uint16, first int) {
	if len(remaining) == 0 || len(a.Remaining) == 0 {
		return
	}
	for i, index := range indexes {
		a.Remaining[index] = remaining[first+i]
	}
}

// mark records which packets are copies: those whose bits are 1, from the first on. It
// returns their number.
func (a *Answers) mark(indexes []uint32, copies []byte, first int) (count uint64) {
	for i, index := range indexes {
		at := first + i
		bit := uint64(copies[at/8] >> (at % 8) & 1)
		a.Copies[index/64] |= bit << (index % 64)
		count += bit
	}
	return count
}
