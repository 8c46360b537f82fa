// SPDX-License-Identifier: Apache-2.0

package hubclient

import (
	"errors"
	"testing"
	"time"
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
	c.way.self = 1
	if err := ping(); !errors.Is(err, ErrOther) {
		t.Errorf("a hub above that names no version of trees: %v", err)
	}
	c.way.self = 0
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
