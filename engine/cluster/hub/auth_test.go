// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/engine/hubclient"
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
	if a.bans()["a"].Count != 1 || a.siteOf(1) != "a" || a.siteOf(2)+a.siteOf(3) != "" || a.accounts["B"].site != "renamed" || a.accounts["C"] != nil {
		t.Errorf("accounts %+v", a.accounts)
	}
}

// TestKeys refuses unknown users, and subjects that sites must not use.
func TestKeys(t *testing.T) {
	l := newLab(t, nil)
	a, b := l.token("a"), l.token("b")
	stranger := a
	other, err := (&Folder{path: t.TempDir()}).seed("x.nk", true)
	if err != nil {
		t.Fatal(err)
	}
	stranger.Seed = string(other)
	if _, _, err := natslink.Dial(stranger, func(error) {}); !errors.Is(err, natslink.ErrToken) {
		t.Errorf("a stranger: %v", err)
	}
	wrongKey := a
	wrongKey.Key = make([]byte, 32)
	wrongEpoch := a
	wrongEpoch.Epoch++
	for _, c := range []struct {
		token hubclient.Token
		want  error
	}{{wrongKey, hubclient.ErrKey}, {wrongEpoch, hubclient.ErrRefused}, {a, nil}} {
		link, _, err := natslink.Dial(c.token, func(error) {})
		if err != nil {
			t.Fatal(err)
		}
		client := hubclient.NewClient(hubclient.ClientConfig{Token: c.token, Wait: time.Minute}, link, "run")
		if err := link.Listen(client.Inbox(), client.Receive); err != nil {
			t.Fatal(err)
		}
		if err := client.Ping(); !errors.Is(err, c.want) {
			t.Errorf("got %v, want %v", err, c.want)
		}
		client.Close()
		link.Close()
	}

	refused := make(chan string, 10)
	conn, err := connect(a.URL, "test", []byte(a.Seed), newTestLog(t), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		refused <- err.Error()
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	asB := hubclient.Subject{Namespace: b.Namespace, Filter: b.Filter, Epoch: 1, Op: hubclient.TestAndSet, Site: "b"}
	for _, subject := range []string{asB.String(), asB.Report(), statusSubject(&l.settings), hubclient.Inbox("b") + ".x", "$JS.API.INFO"} {
		if err := conn.Publish(subject, nil); err != nil {
			t.Fatal(err)
		}
		if text := <-refused; !strings.Contains(strings.ToLower(text), "permissions violation") {
			t.Errorf("%s: %s", subject, text)
		}
	}
	for _, subject := range []string{hubclient.Inbox("b") + ".>", "fd.>", ">"} {
		if _, err := conn.Subscribe(subject, func(*nats.Msg) {}); err != nil {
			t.Fatal(err)
		}
		if text := <-refused; !strings.Contains(strings.ToLower(text), "permissions violation") {
			t.Errorf("%s: %s", subject, text)
		}
	}
}

// TestRemove disconnects a site, and does not touch the others.
func TestRemove(t *testing.T) {
	l := newLab(t, nil)
	a, b := l.token("a"), l.sensor("b")
	closed := make(chan struct{}, 1)
	conn, err := connect(a.URL, "test", []byte(a.Seed), newTestLog(t), nats.MaxReconnects(0), nats.ClosedHandler(func(*nats.Conn) { closed <- struct{}{} }))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	l.settings.NATS = l.settings.URL // as the port is another each time
	admin, err := Dial(l.folder, l.settings, newTestLog(t))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if err := errors.Join(l.folder.Remove("a"), admin.Reload()); err != nil {
		t.Fatal(err)
	}
	<-closed
	b.ask([]uint64{1}, []int64{time.Now().UnixNano()})
	st, err := admin.Status()
	if err != nil || len(st.Sites) != 1 || st.Sites[0].Site != "b" || len(st.PerSlice) != 64 {
		t.Errorf("%v, %+v", err, st.Sites)
	}
	if err := l.folder.Remove("a"); !errors.Is(err, ErrNoSite) {
		t.Error(err)
	}
}
