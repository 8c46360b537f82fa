// SPDX-License-Identifier: Apache-2.0

package hubclient

import (
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
)

// TestFailingHub has hubs fail in every way, and wants all packets to stay.
func TestFailingHub(t *testing.T) {
	for _, c := range []struct {
		name   string
		break_ func(n *network)
		reason string
	}{
		{"no connection", func(n *network) { n.connected = false }, "there is no connection"},
		{"nobody there", func(n *network) { n.nobody = true }, "nobody has its slices"},
		{"all is lost", func(n *network) { n.lossy = 1000 }, "its answers do not come in time"},
		{"too slow", func(n *network) { n.delay = time.Second }, "its answers do not come in time"},
		{"another version", func(n *network) { n.hub.version = version + 1 }, "it is of another version"},
		{"new layout", func(n *network) { n.hub.status = WrongEpoch }, refusals[WrongEpoch]},
		{"overloaded", func(n *network) { n.hub.status = Overloaded }, refusals[Overloaded]},
		{"not the owner", func(n *network) { n.hub.status = NotOwner }, "its answers do not come in time"},
		{"another program", func(n *network) { n.hub.status = 9 }, "its answers do not come in time"},
	} {
		n := newNetwork(1)
		n.hub.firsts = map[uint64]modelFirst{}
		digests, times, skip := batchOf(0, 4000)
		for _, d := range digests {
			// A site that believes the answer loses packets.
			n.hub.firsts[d[0]&digestMask] = modelFirst{"other", sliceOf(d[0], 4)}
		}
		c.break_(n)
		client := n.site("a", 20*time.Millisecond)
		answers := make([]Answers, 40)
		for i := range answers {
			at := i * 100
			client.Ask(&answers[i], digests[at:at+100], times[at:at+100], skip[:2])
			n.pass(3 * time.Millisecond)
		}
		if got := client.Failing(); got != c.reason {
			t.Errorf("%s: %q, want %q", c.name, got, c.reason)
		}
		n.pass(50 * time.Millisecond)
		for i := range answers {
			if !client.Ready(&answers[i]) || answers[i].Unchecked != 100 || slices.Contains(kept(&answers[i], 100), false) {
				t.Fatalf("%s: batch %d: %+v", c.name, i, answers[i])
			}
		}
		if s := client.Stats(); s.Unchecked != 4000 || s.Copies != 0 {
			t.Errorf("%s: %+v", c.name, s)
		}
		// All is well again: within a second or so, each slice is.
		n.connected, n.nobody, n.lossy, n.delay, n.hub.status, n.hub.version = true, false, 0, time.Millisecond, OK, 0
		n.hub.replies, n.messages = map[string][]byte{}, nil
		n.pass(probeEvery)
		for range 3 {
			client.Ask(&answers[0], digests[:400], times[:400], make([]uint64, 7))
			n.pass(20 * time.Millisecond)
		}
		if answers[0].Unchecked != 0 || slices.Contains(kept(&answers[0], 400), true) {
			t.Errorf("%s: %d unchecked after all was well again", c.name, answers[0].Unchecked)
		}
		if got := client.Failing(); got != "" {
			t.Errorf("%s: still %q", c.name, got)
		}
	}
}

// TestBreaker wants no packet to wait for a slice that has failed.
func TestBreaker(t *testing.T) {
	n := newNetwork(2)
	n.lossy = 1000
	c := n.site("a", 20*time.Millisecond)
	digests, times, skip := batchOf(0, 64)
	waits := 0
	for range 200 {
		var a Answers
		c.Ask(&a, digests, times, skip)
		if !c.Ready(&a) {
			waits++
		}
		n.pass(10 * time.Millisecond)
	}
	// Three requests of the first few batches, and one each half second.
	if waits > 5+4*3 {
		t.Errorf("%d of 200 batches waited", waits)
	}
}

// TestPause has the hub pause for longer than three requests wait. Once its late answers come, packets
// are checked again.
func TestPause(t *testing.T) {
	n := newNetwork(4)
	c := n.site("a", 5*time.Millisecond)
	digests, times, skip := batchOf(0, 64)
	ask := func(batches int) (unchecked int) {
		answers := make([]Answers, batches)
		for i := range answers {
			c.Ask(&answers[i], digests, times, skip)
			n.pass(2 * time.Millisecond)
		}
		n.pass(20 * time.Millisecond)
		for i := range answers {
			unchecked += answers[i].Unchecked
		}
		return unchecked
	}
	n.delay = 40 * time.Millisecond
	if ask(20); c.slices[0].fails < breakAfter {
		t.Fatal(c.slices[0].fails, "failures")
	}
	n.delay = time.Millisecond
	n.pass(60 * time.Millisecond)
	ask(5)
	if unchecked := ask(50); unchecked > 0 {
		t.Errorf("%d packets unchecked after a pause", unchecked)
	}
}

// TestFormerOwner has an owner that was replaced answer, who must not be believed.
func TestFormerOwner(t *testing.T) {
	n := newNetwork(3)
	c := n.site("a", 20*time.Millisecond)
	digests, times, skip := batchOf(0, 64)
	ask := func(fencing uint64) *Answers {
		a := &Answers{}
		n.hub.fencing = fencing
		c.Ask(a, digests, times, skip)
		n.pass(50 * time.Millisecond)
		return a
	}
	if a := ask(7); a.Unchecked != 0 {
		t.Fatal(a)
	}
	if a := ask(6); a.Unchecked != 64 {
		t.Errorf("believes a former owner: %+v", a)
	}
	if a := ask(8); a.Unchecked != 0 {
		t.Errorf("believes no later owner: %+v", a)
	}
}

// TestStall stops the process for longer than packets wait. Answers that have come meanwhile
// count.
func TestStall(t *testing.T) {
	for _, answers := range []bool{true, false} {
		n := newNetwork(9)
		c := n.site("a", 20*time.Millisecond)
		c.to = silent{}
		digests, times, skip := batchOf(0, 64)
		var a Answers
		c.Ask(&a, digests, times, skip)
		c.Flush()
		n.time += 50 * time.Millisecond
		c.mu.Lock()
		c.tick(n.time)
		if answers {
			answerAll(c)
		}
		c.mu.Unlock()
		n.pass(2 * batchDelay)
		want := 64
		if answers {
			want = 0
		}
		if !c.Ready(&a) || a.Unchecked != want {
			t.Errorf("answers %v: %+v", answers, a)
		}
	}
}

// answerAll says of all packets on their way that they are new. The caller holds c.mu.
func answerAll(c *Client) {
	for i := range c.slices {
		for s := &c.slices[i]; len(s.flight) > 0; {
			r := s.flight[0]
			reply := Reply{N: uint32(r.count), Seq: r.seq, Copies: make([]byte, (r.count+7)/8)}
			c.receive(r.reply, reply.Append(nil), false, c.now())
		}
	}
}

// TestAbandon gives up at once, with callers that wait for their turn.
func TestAbandon(t *testing.T) {
	token := someToken()
	token.Slices = 1
	c := NewClient(ClientConfig{Token: token, Wait: time.Hour, Block: true}, silent{}, "run")
	digests, times, skip := batchOf(0, 2*maxWindow*batchDigests)
	for i := range times {
		times[i] = 1e18
	}
	asked := make(chan int)
	go func() {
		var a Answers
		c.Ask(&a, digests, times, skip)
		c.Wait(&a)
		asked <- a.Unchecked
	}()
	wait.Until(t, "a full window", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.slices[0].flight) == maxWindow
	})
	c.Abandon()
	if n := <-asked; n != len(digests) {
		t.Errorf("%d packets unchecked, want %d", n, len(digests))
	}
	c.Close()
}
