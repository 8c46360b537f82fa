// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// TestBanOfCut has a site send more than a hub receives, until the server cuts the hub's connection:
// the site is banned once, and another site of the same connection is not.
func TestBanOfCut(t *testing.T) {
	l := newLab(t, func(s *Settings) { s.Slices = 1 })
	patient := *l.server.options
	patient.WriteDeadline = time.Hour // the server cuts no connection for a slow test
	if err := l.server.server.ReloadOptions(&patient); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the hub to connect again", func() bool { return l.hub.conn.Stats().Reconnects > 0 && l.hub.mayAnswer(time.Now()) })
	a, err := l.member("a")
	if err != nil {
		t.Fatal(err)
	}
	l.sensor("b").ask([]uint64{1}, []int64{time.Now().UnixNano()})
	seed, err := l.folder.hubSeed()
	if err != nil {
		t.Fatal(err)
	}
	if seed, err = answersSeed(seed); err != nil {
		t.Fatal(err)
	}
	hub, rest := rawConn(t, hubclient.Token{URL: l.server.URL(), Seed: string(seed)})
	subject := func(site string) string {
		return fmt.Sprintf("fd.%s.%s.9.none.0.%s", l.settings.Namespace, l.settings.Filter, site)
	}
	if _, err := fmt.Fprintf(hub, "SUB %s 1\r\nSUB %s 2\r\nPING\r\n", subject("b"), subject("a")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the answers to both pings; then it reads no more
		if _, err := rest.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if n := l.server.server.NumSlowConsumersClients(); n != 0 {
		t.Fatalf("%d connections were cut before", n)
	}
	const megabytes = 200 // of which the kernel takes some
	for range megabytes {
		if a.Publish(subject("a"), make([]byte, 1<<20)) != nil {
			break // it is banned
		}
	}
	wait.Until(t, "a ban", func() bool { return len(l.server.Bans()) > 0 })
	l.server.sweep()
	if bans := l.server.Bans(); len(bans) != 1 || bans["a"].Count != 1 {
		t.Errorf("bans %v", bans)
	}
}

// TestBanUnanswered has a site send to a slice that does not exist: many messages, or much.
func TestBanUnanswered(t *testing.T) {
	for _, c := range []struct{ bytes, count int }{{16, 2 * minUnanswered}, {1 << 19, 2 * minUnanswered * requestBytes >> 19}} {
		l := newLab(t, func(s *Settings) { s.Slices = 1 })
		a, err := l.member("a")
		if err != nil {
			t.Fatal(err)
		}
		subject := fmt.Sprintf("fd.%s.%s.900.none.0.a", l.settings.Namespace, l.settings.Filter)
		// One sweep sees all, however slow the machine is.
		l.server.swept.mu.Lock()
		for range c.count {
			if err = errors.Join(err, a.Publish(subject, make([]byte, c.bytes))); err != nil {
				break
			}
		}
		err = errors.Join(err, a.FlushTimeout(time.Minute))
		l.server.sweepAt(l.server.swept.at.Add(sweepEvery))
		l.server.swept.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		if bans := l.server.Bans(); len(bans) != 1 || bans["a"].Count == 0 {
			t.Errorf("%d messages of %d bytes: bans %v", c.count, c.bytes, bans)
		}
	}
}

// TestLateSweep has a site leave messages unanswered for ten seconds before a sweep comes, as where the
// machine is overloaded: fewer than it may in that time.
func TestLateSweep(t *testing.T) {
	s := &Server{settings: defaults(), log: newTestLog(t), auth: authenticator{now: time.Now}}
	s.auth.setUsers([]user{{key: "A", site: "a"}})
	sent := traffic{in: 2 * s.settings.mostUnanswered()}
	if s.banUnanswered(map[string]traffic{"a": sent}, 10); len(s.Bans()) > 0 {
		t.Errorf("bans %v", s.Bans())
	}
	if s.banUnanswered(map[string]traffic{"a": sent}, 0.5); s.Bans()["a"].Count != 1 {
		t.Errorf("bans %v of a flood", s.Bans())
	}
}

// TestUnanswered counts the messages of sites that have all answers, lose some, or get none.
func TestUnanswered(t *testing.T) {
	const limit = 4000
	for _, c := range []struct {
		name       string
		each, want traffic
	}{
		{"all answered", traffic{1 << 20, 1 << 20, 1 << 32}, traffic{}},
		{"several answers each", traffic{1000, 8000, 1 << 20}, traffic{}},
		{"as many lost as a site may", traffic{5000, 4000, 5000 * requestBytes}, traffic{}},
		{"more lost", traffic{5000, 2000, 5000 * requestBytes}, traffic{in: 8000, bytes: 8000 * requestBytes}},
		{"large ones lost", traffic{10, 0, 1 << 24}, traffic{bytes: 4<<24 - 4000*requestBytes}},
		{"nothing sent", traffic{}, traffic{}},
	} {
		var u traffic
		for range 4 {
			u = u.plus(c.each, limit/4)
		}
		if u != c.want {
			t.Errorf("%s: %+v after a second, want %+v", c.name, u, c.want)
		}
	}
}

// TestSubscriptions has a site subscribe to its inbox again and again, so that each answer is sent
// as often: it is banned. The hub has more subscriptions than that, and stays.
func TestSubscriptions(t *testing.T) {
	l := newLab(t, func(s *Settings) { s.Slices = 2 * maxSubscriptions })
	b := l.sensor("b")
	conn, err := l.member("a")
	if err != nil {
		t.Fatal(err)
	}
	subscribe := func(n int) {
		t.Helper()
		for i := range n {
			if _, err := conn.Subscribe(fmt.Sprintf("%s.%d.>", hubclient.Inbox("a"), i), func(*nats.Msg) {}); err != nil {
				t.Fatal(err)
			}
		}
		if err := conn.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	subscribe(maxSubscriptions)
	l.server.sweep()
	if err := conn.Flush(); err != nil {
		t.Fatalf("with %d: %v", maxSubscriptions, err)
	}
	subscribe(1)
	l.server.sweep()
	if _, err := l.member("a"); err == nil || l.server.Bans()["a"].Count != 1 {
		t.Errorf("with one more: %v, bans %v", err, l.server.Bans())
	}
	b.ask([]uint64{1, 1 << 40}, make([]int64, 2))
	for _, one := range []*nats.Conn{l.hub.conn, l.hub.sites} {
		if one.Stats().Reconnects > 0 {
			t.Error("a connection of the hub was cut")
		}
	}
}
