// SPDX-License-Identifier: Apache-2.0

package hubclient

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
)

// TestSitesTogether has several sites send the same packets through networks of all kinds.
// Each packet must stay at one site or more, and at exactly one if all answers came.
func TestSitesTogether(t *testing.T) {
	const packets, size = 6000, 300
	for seed := range uint64(24) {
		n := newNetwork(seed)
		n.lossy = []int{0, 0, 20, 300}[seed%4]
		n.delay = []time.Duration{time.Millisecond, 3 * time.Millisecond, 15 * time.Millisecond}[seed%3]
		names := []string{"a", "b", "c", "d"}[:2+seed%3]
		stays := make([]int, packets)
		var batches [][]*Answers
		var clients []*Client
		for _, name := range names {
			clients = append(clients, n.site(name, 20*time.Millisecond))
			batches = append(batches, nil)
		}
		for from := 0; from < packets; from += size {
			for k, c := range clients {
				a := &Answers{}
				digests, times, skip := batchOf(from, size)
				c.Ask(a, digests, times, skip)
				batches[k] = append(batches[k], a)
				n.pass(time.Duration(n.rng.IntN(3)) * time.Millisecond)
			}
		}
		n.pass(50 * time.Millisecond)
		unchecked := 0
		for k, c := range clients {
			for j, a := range batches[k] {
				if !c.Ready(a) {
					t.Fatalf("seed %d: site %d waits for ever", seed, k)
				}
				unchecked += a.Unchecked
				for i, stay := range kept(a, size) {
					if stay {
						stays[j*size+i]++
					}
				}
			}
			s := c.Stats()
			if s.Asked != packets {
				t.Errorf("seed %d: site %d asked about %d packets", seed, k, s.Asked)
			}
			c.mu.Lock()
			if c.inFlight != 0 || c.collected != 0 {
				t.Errorf("seed %d: %d requests are left, and %d slices collect", seed, c.inFlight, c.collected)
			}
			c.mu.Unlock()
		}
		more := 0
		for i, stay := range stays {
			if stay == 0 {
				t.Fatalf("seed %d: packet %d is lost", seed, i)
			}
			more += stay - 1
		}
		if unchecked == 0 && more != 0 || more > unchecked {
			t.Errorf("seed %d: %d packets stayed too often, %d unchecked", seed, more, unchecked)
		}
		if lossless := n.lossy == 0 && n.delay < 10*time.Millisecond; lossless && unchecked != 0 {
			t.Errorf("seed %d: %d packets unchecked, though all answers came", seed, unchecked)
		}
	}
}

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
		n.pass(time.Millisecond)
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

// TestWindow has more requests than may be on their way. Others pass unchecked, at once.
func TestWindow(t *testing.T) {
	n := newNetwork(4)
	n.delay = 40 * time.Millisecond
	c := n.site("a", 100*time.Millisecond)
	c.slices = c.slices[:1]
	waiting := 0
	var all []*Answers
	for i := range 3 * maxWindow {
		a := &Answers{}
		digests, times, skip := batchOf(i*batchDigests, batchDigests)
		c.Ask(a, digests, times, skip)
		if all = append(all, a); !c.Ready(a) {
			waiting++
		}
	}
	if waiting != maxWindow {
		t.Errorf("%d requests are on their way, want %d", waiting, maxWindow)
	}
	n.connected = false
	n.pass(200 * time.Millisecond)
	for i, a := range all {
		if !c.Ready(a) || a.Unchecked != batchDigests {
			t.Errorf("batch %d: %d unchecked", i, a.Unchecked)
		}
	}
}

// TestAskAllocates wants no allocation a digest.
func TestAskAllocates(t *testing.T) {
	n := newNetwork(5)
	c := n.site("a", 20*time.Millisecond)
	c.to = silent{}
	digests, times, skip := batchOf(0, 4096)
	var a Answers
	round := func() {
		c.Ask(&a, digests, times, skip)
		c.mu.Lock()
		answerAll(c)
		c.sendAll()
		c.mu.Unlock()
	}
	round()
	if allocs := testing.AllocsPerRun(20, round); allocs > 40 { // of messages here
		t.Errorf("%v allocations for 4096 digests", allocs)
	}
}

// silent is a hub that says nothing.
type silent struct{}

func (silent) Send(string, string, []byte) error { return nil }
func (silent) Connected() bool                   { return true }

// TestTimes has packets far apart, out of order, before 1970, and without times.
func TestTimes(t *testing.T) {
	n := newNetwork(6)
	c := n.site("a", 20*time.Millisecond)
	c.slices = c.slices[:1]
	digests, times, skip := batchOf(0, 12)
	for i := range digests {
		digests[i][0] >>= 2 // the first of four slices
	}
	copy(times, []int64{0, 1, 1e9, 0.5e9, 1.2e9, -1e18, -1e18 - 9_999, 1 << 62, -1 << 62, -1 << 63, 1e9 + 655_339_999, 1e9})
	var a Answers
	c.Ask(&a, digests, times, skip)
	n.pass(20 * time.Millisecond)
	// One has no time, and three have times before 1970, which no slice takes.
	if !c.Ready(&a) || a.Unchecked != 4 {
		t.Errorf("%+v", a)
	}
	const span = maxDelta * 10_000
	for _, first := range []int64{0, -5, -10_000, 1e18, 1e18 + 9_999} {
		r := request{base: units(first)}
		times := []int64{first, first + span, first - span, first + 1}
		for i, at := range times {
			if !r.fits(units(at)) {
				t.Errorf("%d with %d: does not fit", at, first)
			}
			r.add(uint64(i), units(at), &a, i)
		}
		if r.fits(units(first+span+10_000)) || r.fits(units(first-span-10_000)) {
			t.Errorf("too much fits to %d", first)
		}
		var q Request
		if err := q.Decode(c.encode(&r)); err != nil {
			t.Fatal(err)
		}
		for i, at := range times {
			got := int64(q.Time)*1000 + int64(q.Deltas[i])*DeltaUnit*1000
			if at-got < 0 || at-got >= 10_000 || got%10_000 != 0 {
				t.Errorf("time %d is sent as %d", at, got)
			}
		}
	}
}

func TestPingAndReports(t *testing.T) {
	n := newNetwork(7)
	c := n.site("a", 20*time.Millisecond)
	ping := func() error {
		q := Request{Op: Ping, Epoch: 1, Digests: []uint64{c.cfg.Token.KeyCheck()}}
		c.pong = ErrSilent
		if err := n.Send(c.subject(0, Ping).String(), c.inbox+pingWord, q.Append(nil)); err != nil {
			t.Fatal(err)
		}
		n.pass(10 * time.Millisecond)
		return c.pong
	}
	if err := ping(); err != nil {
		t.Error(err)
	}
	n.hub.key++
	if err := ping(); !errors.Is(err, ErrKey) {
		t.Error(err)
	}
	n.hub.key--
	n.hub.version = version - 1
	if err := ping(); !errors.Is(err, ErrOther) {
		t.Error(err)
	}
	n.hub.version = 0
	c.cfg.Tree = true
	if err := ping(); !errors.Is(err, ErrOther) {
		t.Errorf("a hub above that names no version of trees: %v", err)
	}
	c.cfg.Tree = false
	for status, want := range map[Status]error{WrongEpoch: ErrRefused, NotOwner: ErrSilent, Overloaded: ErrSilent} {
		n.hub.status = status
		if err := ping(); !errors.Is(err, want) {
			t.Errorf("%s: %v", status, err)
		}
	}
	n.nobody = true
	if err := ping(); !errors.Is(err, ErrSilent) {
		t.Error(err)
	}
	n.nobody, n.hub.status = false, OK
	digests, times, skip := batchOf(0, 100)
	var a Answers
	c.Ask(&a, digests, times, skip)
	c.Count(250, 150)
	n.pass(2 * reportEvery)
	if len(n.reports) == 0 {
		t.Fatal("no reports")
	}
	r := n.reports[len(n.reports)-1]
	r.RTTP99US = 0
	if want := (Report{Packets: 250, CopiesLocal: 150, Run: "run"}); r != want {
		t.Errorf("%+v, want %+v", r, want)
	}
}

// FuzzReceive has anybody send anything to the inbox.
func FuzzReceive(f *testing.F) {
	r := Reply{N: 4, Seq: 1_000_000_001, Copies: []byte{15}}
	f.Add("_INBOX.a.run.0.1000000001", r.Append(nil), false)
	f.Add("_INBOX.a.run.ping", r.Append(nil), false)
	f.Add("_INBOX.a.run.9999999999999999999.1", []byte{}, true)
	f.Fuzz(func(t *testing.T, subject string, msg []byte, refused bool) {
		n := newNetwork(8)
		c := n.site("a", 20*time.Millisecond)
		digests, times, skip := batchOf(0, 16)
		var a Answers
		c.Ask(&a, digests, times, skip)
		n.connected = false
		c.Flush()
		c.Receive(subject, msg, refused)
		n.pass(100 * time.Millisecond)
		if !c.Ready(&a) {
			t.Error("waits for ever")
		}
	})
}
