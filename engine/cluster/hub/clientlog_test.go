// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/engine/hubclient"
	"github.com/flowdedup/flowdedup/engine/hubclient/natslink"
)

// keptLab is newLab whose server keeps what it logs. It ends the hub.
func keptLab(t *testing.T) (*lab, *keptWarnings) {
	t.Helper()
	l := newLab(t, func(s *Settings) { s.Slices = 1 })
	l.stop()
	log := &keptWarnings{}
	var err error
	if l.server, err = StartServer(l.folder, l.settings, nil, log); err != nil {
		t.Fatal(err)
	}
	l.settings.URL = l.server.URL()
	l.begin()
	return l, log
}

// TestRefusedLog has clients without a valid token, and one process of a site too many, connect again
// and again: each is one line, and leaves room for lines about the server.
func TestRefusedLog(t *testing.T) {
	l, log := keptLab(t)
	removed := l.token("paris")
	if err := errors.Join(l.folder.Remove("paris"), l.hub.Reload()); err != nil {
		t.Fatal(err)
	}
	for range maxConnections {
		if _, err := l.member("berlin"); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 * maxLogged {
		for want, token := range map[error]hubclient.Token{natslink.ErrToken: removed, natslink.ErrFull: l.token("berlin")} {
			if _, _, err := natslink.Dial(token, func(error) {}); !errors.Is(err, want) {
				t.Fatal(err)
			}
		}
	}
	server := &clientLog{l.server, newServerLog(log), newServerLog(log)}
	server.Errorf("no room on the disk")
	server.Errorf("Address %q can not be resolved properly", "0.0.0.0") // on a host with loopback only
	want := []string{
		`NATS: no room on the disk`,
		`a client at 127.0.0.1 named "flowdedup at paris" is refused: its token is not valid, or not any more`,
		`site berlin: 16 processes use its token, and another one at 127.0.0.1 is refused`,
	}
	if got := slices.Sorted(slices.Values(log.all())); !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestDenied has a site send to subjects of others: the log and the status name it, and it is banned
// if it sends many.
func TestDenied(t *testing.T) {
	l, log := keptLab(t)
	a, err := l.member("a")
	if err != nil {
		t.Fatal(err)
	}
	send := func(n int) {
		t.Helper()
		for i := range n {
			err = errors.Join(err, a.Publish(fmt.Sprintf("fd.%s.%s.1.0.tas.b%d", l.settings.Namespace, l.settings.Filter, i), nil))
		}
		if err = errors.Join(err, a.FlushTimeout(wait.Timeout)); err != nil {
			t.Fatal(err)
		}
	}
	sweep := func() map[string]Ban {
		l.server.sweepAt(l.server.swept.at.Add(sweepEvery))
		return l.server.Bans()
	}
	l.server.swept.mu.Lock() // no other sweep comes
	defer l.server.swept.mu.Unlock()
	few := int(l.settings.mostUnanswered() / deniedCost)
	send(few)
	if bans := sweep(); len(bans) > 0 {
		t.Errorf("bans %v after %d messages", bans, few)
	}
	send(2 * few)
	if bans := sweep(); len(bans) != 1 || bans["a"].Count != 1 {
		t.Errorf("bans %v", bans)
	}
	sites := l.hub.Status().Sites
	if len(sites) != 1 || sites[0].Site != "a" || sites[0].Bad != uint64(3*few) {
		t.Errorf("sites %+v", sites)
	}
	want := []string{"site a is banned for 1s, as it does far more than sensors do", "site a sends bad requests: subjects that are not its own"}
	if got := slices.Sorted(slices.Values(log.all())); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestClientLine has clients choose what the log says: no other site is accused.
func TestClientLine(t *testing.T) {
	log := &keptWarnings{}
	s := &Server{log: log}
	s.auth.setUsers([]user{{key: "A", site: "a"}, {key: "B", site: "b"}})
	s.auth.clients[1], s.auth.clients[2] = s.auth.accounts["A"], s.auth.accounts["B"]
	l := &clientLog{s, newServerLog(log), newServerLog(log)}
	for range 3 {
		l.Errorf(`[::1]:7 - cid:1 - "v1:go:x:1 - cid:2 - y" - Publish Violation - Subject %q`, `9:9 - cid:2 - Violation - `)
		l.Errorf("192.0.2.1:7 - cid:3 - authentication timeout")
		l.Errorf("192.0.2.1:8 - cid:4 - authentication timeout")
	}
	if got := s.Denied(); len(got) != 1 || got["a"] != 3 {
		t.Errorf("denied %v", got)
	}
	want := []string{"site a sends bad requests: subjects that are not its own", "NATS: 192.0.2.1 - authentication timeout"}
	if got := log.all(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
