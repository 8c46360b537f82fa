// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/engine/hubclient"
	"github.com/flowdedup/flowdedup/engine/hubclient/natslink"
)

// rawConn connects a site by nothing but a socket, which is as fast as an attacker can be.
func rawConn(t testing.TB, token hubclient.Token) (conn net.Conn, rest *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(token.URL, "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	rest = bufio.NewReader(conn)
	var info struct{ Nonce string }
	line, err := rest.ReadString('\n')
	if err == nil {
		err = json.Unmarshal([]byte(strings.TrimPrefix(line, "INFO ")), &info)
	}
	if err != nil {
		t.Fatal(err)
	}
	keys, err := nkeys.FromSeed([]byte(token.Seed))
	if err != nil {
		t.Fatal(err)
	}
	sig, err := keys.Sign([]byte(info.Nonce))
	if err != nil {
		t.Fatal(err)
	}
	public, err := keys.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(conn, "CONNECT {\"verbose\":false,\"nkey\":%q,\"sig\":%q,\"protocol\":1}\r\nPING\r\n", public, base64.RawURLEncoding.EncodeToString(sig))
	if err != nil {
		t.Fatal(err)
	}
	return conn, rest
}

// flood sends requests of n digests on many connections without end. The channel gets a value for
// each connection that the server ends.
func (l *lab) flood(token hubclient.Token, connections, n int) (ended <-chan struct{}) {
	l.t.Helper()
	var blob []byte
	r := hubclient.Request{Op: hubclient.TestAndSet, Epoch: 1, Time: uint64(time.Now().UnixMicro()), Digests: make([]uint64, n)}
	for i := range r.Digests {
		r.Digests[i] = uint64(i) * 0x9e3779b97f4a7c15
	}
	for k := range l.settings.Slices {
		r.Seq++
		body := r.Append(nil)
		subject := hubclient.Subject{Namespace: l.settings.Namespace, Filter: l.settings.Filter, Epoch: 1, Slice: k, Op: r.Op, Site: token.Site}
		blob = append(blob, fmt.Sprintf("PUB %s %s.flood.%d.1 %d\r\n", subject, hubclient.Inbox(token.Site), k, len(body))...)
		blob = append(append(blob, body...), "\r\n"...)
	}
	done := make(chan struct{}, connections)
	type socket struct {
		conn net.Conn
		rest io.Reader
	}
	var all []socket
	for range connections {
		conn, rest := rawConn(l.t, token)
		all = append(all, socket{conn, rest})
	}
	for _, s := range all {
		go func() {
			_, _ = io.Copy(io.Discard, s.rest) // until the connection ends, in whichever way
			done <- struct{}{}
		}()
		go func() {
			for {
				if _, err := s.conn.Write(blob); err != nil {
					return
				}
			}
		}()
	}
	return done
}

// member is a site's connection for single messages.
func (l *lab) member(site string) (*nats.Conn, error) {
	l.t.Helper()
	token := l.token(site)
	conn, err := connect(token.URL, "test", []byte(token.Seed), newTestLog(l.t), nats.MaxReconnects(0), nats.CustomInboxPrefix(hubclient.Inbox(site)))
	if err == nil {
		l.t.Cleanup(conn.Close)
	}
	return conn, err
}

// TestTurns has a site fill its queue at a slice, over and over: another site's request does not
// wait behind these, and is neither refused nor dropped.
func TestTurns(t *testing.T) {
	l := newLab(t, func(s *Settings) { s.Slices = 1 })
	a, o := newAttacker(t, l), l.hub.all()[0]
	b, err := l.member("b")
	if err != nil {
		t.Fatal(err)
	}
	answers, err := b.SubscribeSync(hubclient.Inbox("b") + ".run.>")
	if err != nil {
		t.Fatal(err)
	}
	of := func(site string) *nats.Subscription {
		l.hub.siteConns.mu.Lock()
		defer l.hub.siteConns.mu.Unlock()
		return o.subs[site]
	}
	o.mu.Lock() // it takes nothing
	for range mostWaiting + 10 {
		if err := a.conn.PublishRequest(a.mine[0], "_INBOX.a.run.0.7", a.bodies[5]); err != nil {
			t.Fatal(err)
		}
	}
	wait.Until(t, "messages to be dropped", func() bool {
		dropped, err := of("a").Dropped()
		return err == nil && dropped > 0
	})
	r := goodRequest()
	r.Digests = []uint64{99}
	subject := hubclient.Subject{Namespace: l.settings.Namespace, Filter: l.settings.Filter, Epoch: 1, Op: r.Op, Site: "b"}
	const sent = 8 // as a sensor has under way
	for i := range uint64(sent) {
		r.Seq = i
		if err := b.PublishRequest(subject.String(), fmt.Sprintf("%s.run.0.%d", hubclient.Inbox("b"), i), r.Append(nil)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the requests", func() bool {
		n, _, err := of("b").Pending()
		return err == nil && n >= sent-1
	})
	o.mu.Unlock()
	for range sent {
		m, err := answers.NextMsg(wait.Timeout)
		if err != nil {
			t.Fatal(err)
		}
		var reply hubclient.Reply
		if err := reply.Decode(m.Data); err != nil || reply.Status != hubclient.OK {
			t.Errorf("%v, %v", reply.Status, err)
		}
	}
	if n, err := of("b").Dropped(); n != 0 || err != nil {
		t.Errorf("%d messages of an honest site were dropped: %v", n, err)
	}
}

// TestBan has a site send without end on all of its connections. It is banned, and may
// connect again after a while; another site notices nothing.
func TestBan(t *testing.T) {
	l := newLab(t, func(s *Settings) { s.Slices = 1 })
	clock := time.Now()
	l.server.auth.mu.Lock()
	l.server.auth.now = func() time.Time { return clock }
	l.server.auth.mu.Unlock()
	l.bans.Store(true)
	b, token := l.sensor("b"), l.token("a")
	o := l.hub.all()[0]
	o.mu.Lock() // it takes nothing
	ended := l.flood(token, maxConnections, 1)
	for range maxConnections {
		<-ended
	}
	o.mu.Unlock()
	link, unreached, err := natslink.Dial(token, func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(link.Close)
	if !errors.Is(unreached, natslink.ErrBanned) {
		t.Errorf("a sensor that starts in the ban: %v", unreached)
	}
	at := slices.IndexFunc(l.hub.Status().Sites, func(s SiteStatus) bool {
		return s.Site == "a" && s.Bans == 1 && s.BannedUntil.Equal(clock.Add(shortestBan))
	})
	if at < 0 {
		t.Errorf("the status shows no ban: %+v", l.hub.Status().Sites)
	}
	b.ask([]uint64{1}, []int64{time.Now().UnixNano()})
	l.server.auth.mu.Lock()
	l.server.auth.now = time.Now // what is under way of the flood may cause another ban
	l.server.auth.mu.Unlock()
	wait.Until(t, "the sensor's connection after the time", link.Connected)
	for _, one := range []*nats.Conn{l.hub.conn, l.hub.sites} {
		if one.Stats().Reconnects > 0 {
			t.Error("the flood has cut a connection of the hub")
		}
	}
}

// TestBanOfOthers has a hub without a server get more of a site than it takes: the hub with the server
// bans the site. The site itself cannot have another one banned.
func TestBanOfOthers(t *testing.T) {
	l := newLab(t, func(s *Settings) { s.Slices = 2 })
	l.bans.Store(true)
	l.sensor("b")
	a, err := l.member("a")
	if err != nil {
		t.Fatal(err)
	}
	other := l.another("other")
	defer func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}()
	awaitSlices(t, map[*Hub]int{l.hub: 1, other: 1})
	if err := errors.Join(a.Publish(l.settings.banSubject("b"), nil), a.Flush()); err != nil {
		t.Fatal(err)
	}
	other.siteConns.flooded("a")
	wait.Until(t, "a ban", func() bool { return len(l.server.Bans()) > 0 })
	if bans := l.server.Bans(); len(bans) != 1 || bans["a"].Count != 1 {
		t.Errorf("bans %v", bans)
	}
}

// TestStall has a slice take nothing for a while, as while it is saved, and as many sensors as a token
// serves wait for their answers meanwhile: the site has done nothing wrong, and is not banned.
func TestStall(t *testing.T) {
	l := newLab(t, func(s *Settings) { s.Slices = 1 })
	l.bans.Store(true)
	token, o := l.token("a"), l.hub.all()[0]
	const n = 8 * 1024 // all that a sensor has under way at a slice
	digests, times := make([]digest.Digest, n), make([]int64, n)
	for i := range digests {
		digests[i][0], times[i] = uint64(i)*0x9e3779b97f4a7c15, time.Now().UnixNano()
	}
	var clients []*hubclient.Client
	for i := range maxConnections {
		link, unreached, err := natslink.Dial(token, func(error) {})
		if err = errors.Join(unreached, err); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(link.Close)
		c := hubclient.NewClient(hubclient.ClientConfig{Token: token, Wait: 20 * time.Millisecond}, link, fmt.Sprintf("run%d", i))
		t.Cleanup(c.Close)
		if err := link.Listen(c.Inbox(), c.Receive); err != nil {
			t.Fatal(err)
		}
		clients = append(clients, c)
	}
	o.mu.Lock()
	var group sync.WaitGroup
	for _, c := range clients {
		group.Go(func() {
			for range 3 {
				var a hubclient.Answers
				c.Ask(&a, digests, times, make([]uint64, n/64))
				c.Wait(&a)
				if a.Unchecked != n {
					t.Errorf("%d unchecked, want %d", a.Unchecked, n)
				}
			}
		})
	}
	group.Wait()
	l.hub.siteConns.mu.Lock()
	dropped, err := o.subs["a"].Dropped()
	most, bytes, _ := o.subs["a"].MaxPending()
	l.hub.siteConns.mu.Unlock()
	o.mu.Unlock()
	if dropped != 0 || err != nil {
		t.Errorf("%d requests were dropped: %v", dropped, err)
	}
	t.Logf("%d requests of %d bytes have waited", most, bytes)
	if bans := l.server.Bans(); len(bans) > 0 {
		t.Errorf("bans %v", bans)
	}
}

// TestDrainClosed ends subscriptions of a connection that is closed before or meanwhile: drain
// returns at once, and no end counts twice.
func TestDrainClosed(t *testing.T) {
	l := newLab(t, func(s *Settings) { s.Slices = 1 })
	for round := range 50 {
		conn, err := l.member("a")
		if err != nil {
			t.Fatal(err)
		}
		var subs []*nats.Subscription
		for i := range 20 {
			sub, err := conn.Subscribe(fmt.Sprintf("%s.%d", hubclient.Inbox("a"), i), func(*nats.Msg) {})
			if err != nil {
				t.Fatal(err)
			}
			subs = append(subs, sub)
		}
		if round == 0 {
			conn.Close()
		} else {
			go conn.Close()
		}
		if err := drain(subs); err != nil {
			t.Fatal(err)
		}
	}
}
