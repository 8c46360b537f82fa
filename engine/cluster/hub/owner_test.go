// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"bytes"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/engine/cluster/slice"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// newOwner returns an owner without a network.
func newOwner(t testing.TB) *owner {
	t.Helper()
	settings := defaults()
	settings.Key = make([]byte, 32)
	s, err := slice.New(slice.Config{Window: settings.Window(), Memory: 1 << 12, Limit: 1 << 12, Slices: settings.Slices})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	h := &Hub{settings: settings, keyCheck: settings.token("x", "").KeyCheck(), started: time.UnixMicro(int64(goodRequest().Time))}
	h.siteConns = newSiteConns(h, nil)
	return &owner{hub: h, slice: s, fence: 7, lags: map[string]*lag{}}
}

// goodRequest is a request that a slice takes.
func goodRequest() hubclient.Request {
	return hubclient.Request{Op: hubclient.TestAndSet, Epoch: 1, Seq: 5, Time: 1_700_000_000_000_000, Digests: []uint64{1, 2, 3}}
}

const goodSubject = "fd.main.packets.1.s000.tas.a"

// TestRefused sends requests that no slice takes: the answer has the reason, and it is
// counted.
func TestRefused(t *testing.T) {
	o := newOwner(t)
	good := goodRequest()
	otherEpoch, late, ping := good, good, good
	otherEpoch.Epoch = 2
	late.Deadline = 100
	ping.Op = hubclient.Ping
	wild, far := late, late
	wild.Time, far.Time = 1<<64-1, 1<<62
	damaged := good.Append(nil)
	damaged[45]++
	version := good.Append(nil)
	version[2]++
	now := time.UnixMicro(int64(good.Time))
	for _, c := range []struct {
		name       string
		subject    string
		msg        []byte
		overloaded bool
		now        time.Time
		want       hubclient.Status
	}{
		{"good", goodSubject, good.Append(nil), false, now, hubclient.OK},
		{"good again", goodSubject, good.Append(nil), false, now, hubclient.OK},
		{"empty", goodSubject, nil, false, now, hubclient.Bad},
		{"cut", goodSubject, good.Append(nil)[:50], false, now, hubclient.Bad},
		{"damaged", goodSubject, damaged, false, now, hubclient.Bad},
		{"version", goodSubject, version, false, now, hubclient.Bad},
		{"other operation", "fd.main.packets.1.s000.test.a", good.Append(nil), false, now, hubclient.Bad},
		{"odd subject", "fd.main.packets.1.s000.tas", good.Append(nil), false, now, hubclient.Bad},
		{"wild time", goodSubject, wild.Append(nil), false, now, hubclient.Bad},
		{"far time", goodSubject, far.Append(nil), false, now, hubclient.Bad},
		{"epoch", "fd.main.packets.2.s000.tas.a", otherEpoch.Append(nil), false, now, hubclient.WrongEpoch},
		{"epoch inside", goodSubject, otherEpoch.Append(nil), false, now, hubclient.WrongEpoch},
		{"overloaded", goodSubject, good.Append(nil), true, now, hubclient.Overloaded},
		{"in time", goodSubject, late.Append(nil), false, now.Add(time.Second), hubclient.OK},
		{"late", goodSubject, late.Append(nil), false, now.Add(1500 * time.Millisecond), hubclient.Stale},
		{"no lease", goodSubject, good.Append(nil), false, now.Add(leaseTime/2 + 1), hubclient.NotOwner},
		{"foreign ping", "fd.main.packets.1.s000.ping.a", ping.Append(nil), false, now, hubclient.Bad},
	} {
		o.respond(c.subject, c.msg, c.overloaded, c.now)
		var r hubclient.Reply
		if err := r.Decode(o.out); err != nil {
			t.Fatal(c.name, err)
		}
		if r.Status != c.want || r.Fencing != 7 || r.Epoch != 1 {
			t.Errorf("%s: %+v, want status %v", c.name, r, c.want)
		}
	}
	if want := (Refusals{WrongEpoch: 2, NotOwner: 1, Stale: 1, Overloaded: 1, Bad: 9}); o.counts != want {
		t.Errorf("%+v, want %+v", o.counts, want)
	}
	if st := o.slice.Stats(); st.Sites[0].Digests != 3 || st.Sites[0].Replayed != 2 {
		t.Errorf("%+v", st.Sites)
	}
}

// TestLag has a site whose clock is off, and a network that is cut for 20 seconds.
func TestLag(t *testing.T) {
	var l lag
	start := time.Unix(1_700_000_000, 0)
	in := func(sent, arrives time.Duration) bool {
		r := hubclient.Request{Time: uint64(start.Add(sent - time.Hour).UnixMicro()), Deadline: 1000}
		return l.inTime(&r, start.Add(arrives))
	}
	for i := range time.Duration(100) {
		if at := i * 100 * time.Millisecond; !in(at, at+5*time.Millisecond) {
			t.Fatal(at)
		}
	}
	for i := range time.Duration(200) { // all arrive after the cut
		at := 10*time.Second + i*100*time.Millisecond
		if got, want := in(at, 30*time.Second), at > 28900*time.Millisecond; got != want {
			t.Fatalf("sent at %v: in time %v", at, got)
		}
	}
	for i := range time.Duration(700) { // its clock is set back by an hour
		at := 31*time.Second + i*100*time.Millisecond
		got := in(at-time.Hour, at)
		if want := at > 61100*time.Millisecond; got != want && at > 61200*time.Millisecond {
			t.Fatalf("after the change: %v: %v", at, got)
		}
	}
}

// TestOverload locks a slice: requests wait up to a bound, then they are refused, and all
// of them get an answer.
func TestOverload(t *testing.T) {
	l := newLab(t, nil)
	token := l.token("a")
	conn, err := connect(token.URL, "test", []byte(token.Seed), newTestLog(t), nats.CustomInboxPrefix(hubclient.Inbox("a")))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answers := make(chan hubclient.Status, 4*overloadAt)
	inbox := hubclient.Inbox("a") + ".x"
	if _, err := conn.Subscribe(inbox, func(m *nats.Msg) {
		var r hubclient.Reply
		if err := r.Decode(m.Data); err != nil {
			t.Error(err)
		}
		answers <- r.Status
	}); err != nil {
		t.Fatal(err)
	}
	o := l.hub.owners[0]
	o.mu.Lock()
	const sent = overloadAt + 100
	for i := range uint64(sent) {
		r := goodRequest()
		r.Seq, r.Digests = i, []uint64{i}
		if err := conn.PublishRequest(goodSubject, inbox, r.Append(nil)); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the requests", func() bool {
		n, _, err := o.subs["a"].Pending()
		if err != nil {
			t.Fatal(err)
		}
		return n >= sent-1
	})
	o.mu.Unlock()
	got := map[hubclient.Status]int{}
	for range sent {
		got[<-answers]++
	}
	if got[hubclient.Overloaded] < 90 || got[hubclient.OK] < overloadAt-10 || got[hubclient.OK]+got[hubclient.Overloaded] != sent {
		t.Error(got)
	}
}

// FuzzRespond gives any bytes as a message: there is an answer, which can be read.
func FuzzRespond(f *testing.F) {
	r := goodRequest()
	f.Add(goodSubject, r.Append(nil))
	r.Op, r.Times, r.Deltas = hubclient.Test, true, []int32{0, 1, 0xffff}
	f.Add("fd.main.packets.1.s000.test.b", r.Append(nil))
	f.Add("fd.main.packets.1.report.b", []byte{})
	o := newOwner(f)
	f.Fuzz(func(t *testing.T, subject string, msg []byte) {
		o.respond(subject, bytes.Clone(msg), false, time.Unix(1_700_000_000, 0))
		var r hubclient.Reply
		if err := r.Decode(o.out); err != nil {
			t.Error(err)
		}
	})
}
