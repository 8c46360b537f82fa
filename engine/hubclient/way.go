// SPDX-License-Identifier: Apache-2.0

package hubclient

import (
	"slices"
	"strconv"
	"time"
)

// Hubs that ask each other in a ring would take new packets for copies of themselves: these come
// back to a hub that has them already. So a hub uses the answers of the hub above only once it has
// heard that the way up ends, at a hub without a hub above. Its question carries the identities of
// the hubs that it has come through. Each hub on the way passes it on to the hub above, and answers
// Ring if it finds itself there.
//
// To hear it once suffices, as a hub has the same hub above until it is started again. Of the
// hubs of a ring, consider the hub started last. When it asks, all others have the hubs above that
// close the ring, so its question comes back. It uses no answers, and the others are a tree below.
const (
	// wayEvery is the time between two questions.
	wayEvery = time.Second
	// maxWay bounds the hubs of a way.
	maxWay = 32
	// maxQuestions bounds the questions that have no answer yet.
	maxQuestions = 1024
)

// wayWord is the word before the number of a question in the subject of its answer.
const wayWord = "way."

// Reasons why a hub does not use the hub above, for users. See Client.Failing.
const (
	inRing     = "hubs ask each other in a ring: give one of them another --parent, or none"
	unknownWay = "it does not answer which hubs are above it"
)

// way is what a hub knows about the way up.
type way struct {
	self  uint64 // ClientConfig.Hub
	ends  bool   // the way up has ended
	ring  bool   // by the last answer
	at    time.Duration
	seq   uint64
	waits map[uint64]question
}

// question is a question without an answer. The answer goes to done, or is about the own way.
type question struct {
	until time.Duration
	done  func(Status)
}

// known reports whether there was an answer.
func (w *way) known() bool { return w.ends || w.ring }

// closed reports whether the hub above must not be asked about packets. Sensors may always ask.
func (w *way) closed() bool { return w.self != 0 && (w.ring || !w.ends) }

// AskWay passes on the question of a hub below, which has come through the given hubs. done gets OK
// if the way up ends, else Ring, from another goroutine. Without an answer it is not called.
func (c *Client) AskWay(through []uint64, done func(Status)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.askWay(through, done)
}

// askWay sends a question, and again if it is lost.
func (c *Client) askWay(through []uint64, done func(Status)) {
	w, now := &c.way, c.now()
	w.at = now + wayEvery
	for seq, q := range w.waits {
		if now >= q.until {
			delete(w.waits, seq)
		}
	}
	if len(w.waits) >= maxQuestions {
		return
	}
	w.seq++
	w.waits[w.seq] = question{now + pingTime, done}
	q := c.pingRequest()
	q.Digests = slices.Concat(q.Digests, through, []uint64{w.self})
	_ = c.to.Send(c.subject(0, Ping).String(), c.inbox+wayWord+strconv.FormatUint(w.seq, 10), q.Append(nil))
}

// receiveWay takes the answer to the question with a number.
func (c *Client) receiveWay(number string, msg []byte) {
	var reply Reply
	seq, err := strconv.ParseUint(number, 10, 64)
	w := &c.way
	q, asked := w.waits[seq]
	if err != nil || !asked || reply.Decode(msg) != nil {
		return
	}
	delete(w.waits, seq)
	switch {
	case reply.Status != OK && reply.Status != Ring && reply.Status != Bad: // it is asked again
	case q.done == nil: // Bad is of another version, which does not know the question
		w.ring, w.ends = reply.Status == Ring, reply.Status == OK || w.ends && reply.Status == Ring
	case reply.Status != Bad:
		go q.done(reply.Status)
	}
}

// WayOf returns the identities of the hubs that a question came through, from a hub below on. It is
// nil for other requests.
func (r *Request) WayOf() []uint64 {
	if r.Op != Ping || r.K != TreeVersion {
		return nil
	}
	return r.Digests[min(PingDigests, len(r.Digests)):]
}

// ComesBack reports whether a question has come through a hub before, or through too many.
func ComesBack(through []uint64, hub uint64) bool {
	return slices.Contains(through, hub) || len(through) >= maxWay
}
