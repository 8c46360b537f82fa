// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/flowdedup/flowdedup/engine/cluster/chain"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// asker is a client of site a that sends one request at a time.
type asker struct {
	t    *testing.T
	conn *nats.Conn
	name string
}

// askers connects clients to the lab. They share a connection.
func (l *lab) askers(t *testing.T, n int) (all []asker) {
	t.Helper()
	token := l.token("a")
	conn, err := connect(token.URL, "askers", []byte(token.Seed), newTestLog(t), nats.CustomInboxPrefix(hubclient.Inbox("a")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	for i := range n {
		all = append(all, asker{t, conn, fmt.Sprint("run", i)})
	}
	return all
}

// request returns a request of an asker about two digests that no other has.
func (a *asker) request(seq uint64) (reply string, msg []byte) {
	r := hubclient.Request{Op: hubclient.TestAndSet, Epoch: 1, Seq: seq, Time: 1e15}
	for i := range uint64(2) {
		r.Digests = append(r.Digests, (seq<<16|uint64(a.name[3])<<8|i)*0x9e3779b97f4a7c15&(1<<hubclient.DigestBits-1))
	}
	return fmt.Sprintf("%s.%s.0.%d", hubclient.Inbox("a"), a.name, seq), r.Append(nil)
}

// ask returns the answer to a request. A hub that has just begun may not get it yet.
func (a *asker) ask(seq uint64) (answer hubclient.Reply) {
	a.t.Helper()
	reply, msg := a.request(seq)
	sub, err := a.conn.SubscribeSync(reply)
	if err != nil {
		a.t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := a.conn.PublishRequest(goodSubject, reply, msg); err != nil {
		a.t.Fatal(err)
	}
	m, err := sub.NextMsg(10 * time.Second)
	if err == nil {
		err = answer.Decode(m.Data)
	}
	if err != nil {
		a.t.Fatalf("%s: %v", reply, err)
	}
	return answer
}

// repeats has askers repeat requests whose answers may be forgotten. Each is answered as it was, or
// refused: its digests are no copies of themselves. answered means that some are answered: a hub
// below another one has forgotten the answers from above.
func repeats(t *testing.T, askers []asker, to uint64, answered bool) {
	t.Helper()
	refused, all := 0, 0
	for seq := uint64(1); seq <= to; seq++ {
		for i := range askers {
			all++
			switch a := askers[i].ask(seq); {
			case a.Status == hubclient.Stale:
				refused++
			case a.Status != hubclient.OK || a.Copies[0] != 0:
				t.Fatalf("asker %d, request %d: status %v, copies %x", i, seq, a.Status, a.Copies)
			}
		}
	}
	if refused == 0 || answered != (refused < all) {
		t.Errorf("%d of %d requests refused", refused, all)
	}
}

// journaled are filters with journals, of one slice that sites send to.
func journaled() map[string]func(*Settings) {
	all := map[string]func(*Settings){}
	for _, primitive := range chain.Primitives {
		for _, links := range []int{1, 3} {
			shape := vertical(links, chain.Bloom)
			shape.Primitive = primitive
			all[shape.String()] = func(s *Settings) { shaped(shape)(s); s.Journal = true }
		}
	}
	timers := vertical(3, chain.Timers)
	timers.WindowUS *= 600
	all[timers.String()] = func(s *Settings) { shaped(timers)(s); s.Journal = true }
	return all
}

// TestJournalAskers crashes a hub to which three askers of one site have sent more requests
// than slices remember answers of. Its journal distinguishes repeated requests from new ones.
func TestJournalAskers(t *testing.T) {
	for name, change := range journaled() {
		t.Run(name, func(t *testing.T) { crashed(t, newLab(t, change)) })
	}
	t.Run("rows below a filter", func(t *testing.T) {
		root := newLab(t, shaped(vertical(1, chain.Bloom)))
		crashed(t, root.under("north", func(s *Settings) { s.Slices, s.Journal = 1, true }))
	})
}

func crashed(t *testing.T, l *lab) {
	const asked = 8
	askers := l.askers(t, 3)
	for seq := uint64(1); seq <= asked; seq++ {
		for i := range askers {
			if a := askers[i].ask(seq); a.Status != hubclient.OK || a.Copies[0] != 0 {
				t.Fatalf("%+v", a)
			}
		}
	}
	for range 2 {
		l.crash(t)
		l.begin()
		repeats(t, askers, asked, l.hub.parent == nil)
	}
	if a := askers[0].ask(asked + 1); a.Status != hubclient.OK || a.Copies[0] != 0 {
		t.Errorf("a new request: %+v", a)
	}
}
