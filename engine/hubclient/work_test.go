// SPDX-License-Identifier: Apache-2.0

package hubclient

import (
	"testing"
	"time"
)

// answering is a hub whose answer to a report comes as the client closes.
type answering struct {
	silent
	client *Client
}

func (a *answering) Send(_, reply string, _ []byte) error {
	if reply == "" {
		go a.client.Receive("", nil, false)
	}
	return nil
}

// TestCloseAtOnce has messages come while clients close: none waits for its next tick.
func TestCloseAtOnce(t *testing.T) {
	begin := time.Now()
	for range 100 {
		hub := new(answering)
		hub.client = NewClient(ClientConfig{Token: someToken(), Wait: time.Second}, hub, "run")
		hub.client.Close()
	}
	if took := time.Since(begin); took > reportEvery/2 {
		t.Errorf("%v to close", took)
	}
}

// TestAtOnce has batches far apart: each goes to the hub at once, and no tick comes once it is answered.
func TestAtOnce(t *testing.T) {
	n := newNetwork(10)
	c := n.site("a", 20*time.Millisecond)
	n.pass(thinDelay)
	for i := range 100 {
		var a Answers
		digests, times, skip := batchOf(40*i, 40)
		if c.Ask(&a, digests, times, skip); len(n.messages) == 0 {
			t.Fatalf("batch %d waits", i)
		}
		n.pass(10 * time.Millisecond)
		if !c.Ready(&a) || a.Unchecked > 0 {
			t.Fatalf("batch %d: %+v", i, a)
		}
		if c.due != c.reportAt {
			t.Fatalf("batch %d: a tick %v before the report", i, c.reportAt-c.due)
		}
	}
}

// TestBundlesRarely has small batches each 0.2 ms: a bundle goes each batchDelay, and the rest soon
// after the last batch.
func TestBundlesRarely(t *testing.T) {
	n := newHubs()
	c := n.site("a", 20*time.Millisecond)
	c.to = n
	c.took = 0 // the hub is near
	all := make([]Answers, 200)
	for i := range all {
		digests, times, skip := batchOf(4*i, 4)
		c.Ask(&all[i], digests, times, skip)
		n.pass(200 * time.Microsecond)
	}
	n.pass(pauseDelay + 2*n.delay)
	for i := range all {
		if !c.Ready(&all[i]) || all[i].Unchecked > 0 {
			t.Fatalf("batch %d: %+v", i, all[i])
		}
	}
	if n.bundled < 24 || n.bundled > 27 || n.single > 0 {
		t.Errorf("%d bundles and %d single requests for 40 ms", n.bundled, n.single)
	}
}

// TestCrowd has answers that take long as too many are under way: Ask waits for some of them.
func TestCrowd(t *testing.T) {
	n := newNetwork(11)
	c := n.site("a", time.Minute)
	c.to, c.cfg.Block = silent{}, true
	digests, times, skip := batchOf(0, 2*crowd)
	half := func(from int) {
		c.Ask(&Answers{}, digests[from:from+crowd], times[from:from+crowd], skip[:crowd/64])
		c.Flush()
	}
	half(0)
	if c.underWay != crowd {
		t.Fatalf("%d digests are under way", c.underWay)
	}
	c.took, c.least = 10*time.Millisecond, time.Millisecond
	asked, answers := make(chan bool), 0
	c.Answered(func() { answers++ })
	go func() {
		half(crowd)
		close(asked)
	}()
	select {
	case <-asked:
		t.Error("asked before any answer")
	case <-time.After(20 * time.Millisecond):
	}
	c.mu.Lock()
	answerAll(c)
	c.mu.Unlock()
	<-asked
	if answers != 1 {
		t.Errorf("%d complete answers, want those of the first half", answers)
	}
}
