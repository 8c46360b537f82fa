// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/engine/hubclient/natslink"
)

// TestConnections has a site connect again and again: the server takes a limited number, and
// other sites all the same.
func TestConnections(t *testing.T) {
	l := newLab(t, func(s *Settings) { s.Slices = 1 })
	var all []*nats.Conn
	for range maxConnections {
		conn, err := l.member("a")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, conn)
	}
	for range 3 {
		if _, _, err := natslink.Dial(l.token("a"), func(error) {}); !errors.Is(err, natslink.ErrFull) {
			t.Fatalf("one more: %v", err)
		}
	}
	l.sensor("b").ask([]uint64{1}, []int64{time.Now().UnixNano()})
	all[0].Close()
	wait.Until(t, "room for another connection", func() bool {
		_, err := l.member("a")
		return err == nil
	})
	if _, _, err := natslink.Dial(l.token("a"), func(error) {}); !errors.Is(err, natslink.ErrFull) {
		t.Errorf("one too many: %v", err)
	}
}

// TestBanSpan bans a site at various times: for longer if it goes on soon.
func TestBanSpan(t *testing.T) {
	clock := time.Now()
	a := authenticator{now: func() time.Time { return clock }}
	a.setUsers([]user{{who: "hub", key: "H"}, {who: "site a", key: "A", site: "a"}})
	for _, c := range []struct{ after, want time.Duration }{
		{0, shortestBan}, {shortestBan / 2, 0}, {shortestBan / 2, 2 * shortestBan}, {3 * shortestBan, 4 * shortestBan}, {12*shortestBan + 1, shortestBan},
	} {
		clock = clock.Add(c.after)
		if _, got := a.ban("a"); got != c.want {
			t.Errorf("after %v: banned for %v, want %v", c.after, got, c.want)
		}
	}
	for range 20 {
		clock = a.accounts["A"].until
		if _, got := a.ban("a"); got > longestBan {
			t.Errorf("banned for %v", got)
		}
	}
	if got := a.bans(); len(got) != 1 || got["a"].Count != 24 || !got["a"].Until.Equal(clock.Add(longestBan)) {
		t.Errorf("bans %v", got)
	}
	for _, site := range []string{"", "b"} {
		if _, got := a.ban(site); got != 0 {
			t.Errorf("site %q is banned for %v", site, got)
		}
	}
}

// numberedClient is a client of which the server knows a number.
type numberedClient struct {
	server.ClientAuthentication
	id uint64
}

func (c numberedClient) GetID() uint64 { return c.id }

// TestSetUsers replaces the users: sites without a key, and ones with another name, have to go.
func TestSetUsers(t *testing.T) {
	a := authenticator{now: time.Now}
	a.setUsers([]user{{who: "hub", key: "H"}, {key: "A", site: "a"}, {key: "B", site: "b"}, {key: "C", site: "c"}})
	for key, id := range map[string]uint64{"A": 1, "B": 2, "C": 3} {
		a.accounts[key].conns = []server.ClientAuthentication{numberedClient{id: id}}
	}
	a.ban("a")
	gone := a.setUsers([]user{{who: "hub", key: "H"}, {key: "A", site: "a"}, {key: "B", site: "renamed"}})
	if slices.Sort(gone); !slices.Equal(gone, []uint64{2, 3}) {
		t.Errorf("connections %d have to go", gone)
	}
	if a.bans()["a"].Count != 1 || len(a.accounts["A"].conns) != 1 || a.siteOf("B") != "renamed" || a.siteOf("C") != "" {
		t.Errorf("accounts %+v", a.accounts)
	}
}
