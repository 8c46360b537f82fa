// SPDX-License-Identifier: Apache-2.0

package hubclient

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// above is a hub above that takes messages, and answers none by itself.
type above struct{ asked []sent }

func (a *above) Connected() bool { return true }

func (a *above) Send(subject, reply string, msg []byte) error {
	if !strings.Contains(subject, ".report.") {
		a.asked = append(a.asked, sent{subject: subject, reply: reply, body: slices.Clone(msg)})
	}
	return nil
}

// way returns the last question for the way up.
func (a *above) way(t *testing.T) (q Request, to string) {
	t.Helper()
	last := a.asked[len(a.asked)-1]
	if err := q.Decode(last.body); err != nil || len(q.WayOf()) == 0 {
		t.Fatalf("no question: %+v %v", q, err)
	}
	return q, last.reply
}

// TestWay has hubs above give every answer about the way up. Packets are asked about only if it
// ends, and are no copies in a ring, not even where packets without an answer are.
func TestWay(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers []Status
		asks    bool
		copies  bool // with ClientConfig.Closed
		failure string
	}{
		{"none", nil, false, false, unknownWay},
		{"it ends", []Status{OK}, true, true, ""},
		{"ring", []Status{Ring}, false, false, inRing},
		{"a ring later", []Status{OK, Ring}, false, false, inRing},
		{"a ring no more", []Status{Ring, OK}, true, true, ""},
		{"overloaded later", []Status{OK, Overloaded}, true, true, ""},
		{"overloaded", []Status{NotOwner, Overloaded}, false, false, unknownWay},
		{"an older version later", []Status{OK, Bad}, false, false, unknownWay},
	} {
		for _, closed := range []bool{false, true} {
			to, now := &above{}, time.Duration(0)
			token := someToken()
			token.Slices = 1
			client := newClient(ClientConfig{Token: token, Wait: 10 * time.Millisecond, Anytime: true, Closed: closed, Hub: 7}, to, "run", time.Unix(1, 0), func() time.Duration { return now })
			tick := func(d time.Duration) {
				client.mu.Lock()
				defer client.mu.Unlock()
				now += d
				client.tick(now)
			}
			for _, status := range c.answers {
				tick(wayEvery)
				q, reply := to.way(t)
				if !slices.Equal(q.WayOf(), []uint64{7}) {
					t.Errorf("%s: %v", c.name, q.WayOf())
				}
				client.Receive(reply, (&Reply{Status: status, Seq: q.Seq}).Append(nil), false)
			}
			tick(3 * wayEvery)
			if got := client.Failing(); got != c.failure {
				t.Errorf("%s: fails by %q, want %q", c.name, got, c.failure)
			}
			before := len(to.asked)
			var a Answers
			digests, times, skip := batchOf(0, 100)
			client.Ask(&a, digests, times, skip)
			client.Flush()
			if asks := len(to.asked) > before; asks != c.asks {
				t.Errorf("%s: asks %v", c.name, asks)
			}
			client.Abandon()
			if copies := a.Copies[0] != 0; a.Unchecked != 100 || copies != (closed && c.copies) || a.Assumed > 0 != copies {
				t.Errorf("%s: %d unchecked, copies %v", c.name, a.Unchecked, copies)
			}
		}
	}
}

// TestWayPassed passes on questions of hubs below: this hub joins the way, each gets its own answer
// once, and a bounded number waits, not for ever.
func TestWayPassed(t *testing.T) {
	to, now := &above{}, time.Duration(0)
	client := newClient(ClientConfig{Token: someToken(), Hub: 7}, to, "run", time.Unix(1, 0), func() time.Duration { return now })
	answers := make(chan Status, 2)
	client.AskWay([]uint64{3, 5}, func(s Status) { answers <- s })
	q, reply := to.way(t)
	if !slices.Equal(q.WayOf(), []uint64{3, 5, 7}) {
		t.Fatal(q.WayOf())
	}
	for range 2 {
		client.Receive(reply, (&Reply{Status: Ring}).Append(nil), false)
	}
	if s := <-answers; s != Ring || client.way.known() {
		t.Errorf("%v, %+v", s, client.way)
	}
	for range 2 * maxQuestions {
		client.AskWay(nil, func(s Status) { answers <- s })
	}
	if len(client.way.waits) != maxQuestions || len(to.asked) != maxQuestions+1 {
		t.Errorf("%d wait, %d asked", len(client.way.waits), len(to.asked))
	}
	now += pingTime
	client.AskWay(nil, nil)
	if len(client.way.waits) != 1 || len(answers) != 0 {
		t.Errorf("%d wait, %d more answers", len(client.way.waits), len(answers))
	}
	long := make([]uint64, maxWay)
	if !ComesBack([]uint64{1, 2}, 2) || ComesBack([]uint64{1, 2}, 3) || !ComesBack(long, 3) {
		t.Error("ComesBack")
	}
}
