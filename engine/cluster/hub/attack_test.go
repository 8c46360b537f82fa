// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/engine/cluster/counts"
	"github.com/flowdedup/flowdedup/engine/distinct"
	"github.com/flowdedup/flowdedup/engine/distinct/countfile"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// subjects returns every subject with a subscriber at the hub's server, including
// JetStream and the hub's own connections, with words in place of wildcards: the
// attacker's words, and another site's.
func (l *lab) subjects() (all []string) {
	l.t.Helper()
	table, err := l.server.server.Subsz(&server.SubszOptions{Subscriptions: true, Limit: 1 << 20})
	if err != nil {
		l.t.Fatal(err)
	}
	name := fmt.Sprintf("%s_%s_%d", l.settings.Namespace, l.settings.Filter, l.settings.Epoch)
	for _, sub := range table.Subs {
		for _, word := range []string{"a", "b"} {
			words := strings.Split(sub.Subject, ".")
			for i, w := range words {
				switch {
				case w == "*" && i == 3 && words[0] == "fd":
					words[i] = "1"
				case w == "*" && i == 5 && words[0] == "fd":
					words[i] = "tas"
				case w == "*" || w == ">":
					words[i] = word
				}
			}
			all = append(all, strings.Join(words, "."))
		}
	}
	for _, bucket := range []string{"lease", "layout"} {
		for _, key := range []string{"ghost", l.hub.id, sliceKey(0)} {
			all = append(all, "$KV.fd_"+bucket+"_"+name+"."+key)
		}
	}
	for _, stream := range []string{"KV_fd_layout_", "KV_fd_lease_", "OBJ_fd_snap_", "fd_log_"} {
		for _, what := range []string{"PURGE", "DELETE", "INFO"} {
			all = append(all, "$JS.API.STREAM."+what+"."+stream+name)
		}
	}
	all = append(all, statusSubject(&l.settings), reloadSubject(&l.settings), "fdlog."+name+"."+sliceKey(0), "$SYS.REQ.SERVER.PING")
	slices.Sort(all)
	return slices.Compact(all)
}

// attacker has a token, and misuses it.
type attacker struct {
	t      *testing.T
	conn   *nats.Conn
	mine   []string // subjects that the server takes from it
	bodies [][]byte
}

func newAttacker(t *testing.T, l *lab) *attacker {
	t.Helper()
	token := l.token("a")
	conn, err := connect(token.URL, "attacker", []byte(token.Seed), newTestLog(t), nats.CustomInboxPrefix(hubclient.Inbox("a")),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	ping := goodRequest()
	ping.Op, ping.Digests = hubclient.Ping, nil
	ask := goodRequest()
	ask.Digests = []uint64{0xdead, 0xbeef}
	wild := ask
	wild.Time, wild.Deadline = 1<<64-1, 1
	part := hubclient.CountsPart{Size: 1<<63 - 1, Start: -1 << 62, Data: []byte("FLOWCNT1")}
	a := &attacker{t: t, conn: conn, bodies: [][]byte{
		nil, []byte("{}"), []byte(`{"Hub":""}`), []byte(`{"packets":18446744073709551615}`),
		ping.Append(nil), ask.Append(nil), wild.Append(nil), part.Append(nil), ask.Append(nil)[:50], bytes.Repeat([]byte{'x'}, 200_000),
	}}
	for k := range l.settings.Slices {
		for _, op := range []hubclient.Op{hubclient.TestAndSet, hubclient.Test, hubclient.Set, hubclient.Chain, hubclient.Ping} {
			a.mine = append(a.mine, hubclient.Subject{Namespace: l.settings.Namespace, Filter: l.settings.Filter, Epoch: 1, Slice: k, Op: op, Site: "a"}.String())
		}
	}
	own := hubclient.Subject{Namespace: l.settings.Namespace, Filter: l.settings.Filter, Epoch: 1, Site: "a"}
	a.mine = append(a.mine, own.Report(), own.Counts())
	return a
}

// spare keeps the server from sweeps, so that no site is banned.
func (l *lab) spare() {
	l.server.swept.mu.Lock()
	l.t.Cleanup(l.server.swept.mu.Unlock)
}

// round publishes to each of the subjects, subscribes to it and replies on it, and names
// it as the reply subject of each own request.
func (a *attacker) round(subjects []string) {
	a.t.Helper()
	for i, subject := range subjects {
		sub, err := a.conn.Subscribe(subject, func(m *nats.Msg) {
			for _, body := range a.bodies {
				_ = m.Respond(body) // the server refuses it, or nobody hears it
			}
		})
		if err != nil {
			a.t.Fatal(err)
		}
		for k, body := range a.bodies {
			own := a.mine[(i+k)%len(a.mine)]
			m := &nats.Msg{Subject: own, Reply: subject, Data: body, Header: nats.Header{"Nats-Trace-Dest": {subject}, "Nats-Rollup": {"all"}}}
			if err := errors.Join(a.conn.PublishRequest(subject, subjects[(i+k)%len(subjects)], body), a.conn.PublishMsg(m)); err != nil {
				a.t.Fatal(err)
			}
		}
		if i%50 == 0 {
			if err := a.conn.Flush(); err != nil {
				a.t.Fatal(err)
			}
		}
		if err := sub.Unsubscribe(); err != nil {
			a.t.Fatal(err)
		}
	}
	for _, subject := range a.mine { // a ping goes to each slice with each subject as its reply
		for _, reply := range subjects {
			if err := a.conn.PublishRequest(subject, reply, a.bodies[4]); err != nil {
				a.t.Fatal(err)
			}
		}
		if err := a.conn.Flush(); err != nil {
			a.t.Fatal(err)
		}
	}
}

// outcome is all answers to two honest sites, and the hub's status of them.
type outcome struct {
	verdicts [][]bool
	sites    []SiteStatus
	matrix   []PairStatus
	counts   []counts.Row
	unowned  []int
	fences   []uint64
}

// honest has two sites send the same packets, with an attack between their batches.
func (l *lab) honest(attack func()) (o outcome) {
	l.t.Helper()
	b, c := l.sensor("b"), l.sensor("c")
	rng := rand.New(rand.NewPCG(9, 9))
	now := time.Unix(1_700_000_000, 0).UnixNano()
	for range 4 {
		digests, times := make([]uint64, 400), make([]int64, 400)
		for i := range digests {
			now += 1000
			digests[i], times[i] = rng.Uint64(), now
		}
		for _, s := range []*sensor{b, c} {
			o.verdicts = append(o.verdicts, s.ask(digests, times))
			attack()
		}
	}
	for i, s := range []*sensor{b, c} {
		file := l.countsOf(s.client.Inbox(), []string{"b", "c"}[i])
		l.send(s, []string{"b", "c"}[i], file)
		attack()
	}
	if !wait.For(func() bool { t := l.hub.counts.Totals(); return t.Pending == 0 && t.Files == 2 }) {
		l.t.Fatal("the counts are never united")
	}
	st := l.hub.Status()
	for _, s := range st.Sites {
		if s.Site != "a" {
			s.DigestRate, s.CopyRate, s.Reported, s.AnswerP99, s.Packets = 0, 0, nil, 0, 0
			o.sites = append(o.sites, s)
		}
	}
	for _, p := range st.Matrix {
		if p.First != "a" && p.Copy != "a" {
			o.matrix = append(o.matrix, p)
		}
	}
	for _, s := range st.PerSlice {
		o.fences = append(o.fences, s.Fence)
	}
	o.counts, o.unowned = st.Counts.Rows, st.Unowned
	return o
}

// countsWindow is the begin of the window of files of counts.
var countsWindow = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC).UnixNano()

// countsOf returns a file of counts of a site.
func (l *lab) countsOf(seed, site string) []byte {
	l.t.Helper()
	words := []uint64{1, 2, 3, uint64(len(seed)) + 100, uint64(site[0])}
	slices.Sort(words)
	var file bytes.Buffer
	w := countfile.NewWriter(&file, countfile.Header{Sensor: site, Settings: []countfile.Setting{
		{Name: "of", Value: "flow"}, {Name: countfile.KeySetting, Value: l.settings.countsKey()}}})
	if err := w.Window(countfile.Whole(countsWindow, countsWindow+int64(time.Hour))); err != nil {
		l.t.Fatal(err)
	}
	if err := w.Series("flow", "ipv6", 9, distinct.Contents{Width: 64, Count: uint64(len(words)), Words: slices.Values(words)}); err != nil {
		l.t.Fatal(err)
	}
	if _, err := w.Close(); err != nil {
		l.t.Fatal(err)
	}
	return file.Bytes()
}

// send sends a file of counts as a site does.
func (l *lab) send(s *sensor, site string, file []byte) {
	l.t.Helper()
	subject := hubclient.Subject{Namespace: l.settings.Namespace, Filter: l.settings.Filter, Epoch: 1, Site: site}.Counts()
	err := hubclient.SendCounts(l.t.Context(), bytes.NewReader(file), int64(len(file)), countsWindow, func(msg []byte) ([]byte, error) {
		ctx, cancel := context.WithTimeout(l.t.Context(), wait.Timeout)
		defer cancel()
		return s.link.Request(ctx, subject, msg)
	})
	if err != nil {
		l.t.Error(err)
	}
}

// TestAttacker has a site with a valid token do everything possible with every subject,
// against a hub that two honest sites use: their verdicts and counts are as without it.
func TestAttacker(t *testing.T) {
	few := func(s *Settings) { s.Slices = 4 }
	want := newCountingLab(t, few).honest(func() {})
	l := newCountingLab(t, few)
	a := newAttacker(t, l)
	l.spare()
	subjects := l.subjects()
	if len(subjects) < 60 || !slices.ContainsFunc(subjects, func(s string) bool { return strings.HasPrefix(s, "$JS.API.") }) {
		t.Fatalf("%d subjects: %q", len(subjects), subjects)
	}
	ids := l.hub.layout.live(time.Now())
	got := l.honest(func() { a.round(subjects) })
	if err := a.conn.Flush(); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		for i := range want.verdicts {
			if !slices.Equal(got.verdicts[i], want.verdicts[i]) {
				t.Errorf("other verdicts in batch %d", i)
			}
		}
		got.verdicts, want.verdicts = nil, nil
		t.Errorf("with an attacker\n%+v, without\n%+v", got, want)
	}
	if now := l.hub.layout.live(time.Now()); !slices.Equal(now, ids) {
		t.Errorf("hubs %q, want %q", now, ids)
	}
	bad := l.hub.bad.all()
	if bad["a"] == 0 || len(bad) != 1 {
		t.Errorf("bad requests %v, want some of site a", bad)
	}
}

// newCountingLab is newLab of a hub that takes counts.
func newCountingLab(t *testing.T, change func(*Settings)) *lab {
	t.Helper()
	return startLab(t, change, 4<<20)
}

// TestReplySubjects has a site name inboxes of others, and subjects of the hub, as reply
// subjects. The hub publishes nothing there, and counts a bad request.
func TestReplySubjects(t *testing.T) {
	l := newLab(t, func(s *Settings) { s.Slices = 1 })
	a := newAttacker(t, l)
	seed, err := l.folder.hubSeed()
	if err != nil {
		t.Fatal(err)
	}
	spy, err := connect(l.server.URL(), "spy", seed, newTestLog(t), nats.CustomInboxPrefix("_SPY"))
	if err != nil {
		t.Fatal(err)
	}
	defer spy.Close()
	heard := make(chan string, 100)
	for _, subject := range []string{"_INBOX.>", "$KV.>", "x.>", "fdctl.>"} {
		if _, err := spy.Subscribe(subject, func(m *nats.Msg) {
			if !strings.HasPrefix(m.Subject, "$KV.fd_lease_main_packets_1."+l.hub.id) { // the hub's own renewals
				heard <- m.Subject
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := spy.Flush(); err != nil {
		t.Fatal(err)
	}
	replies := []string{
		"_INBOX.b.run.0.1", "_INBOX.ab.x", "_INBOX.a", "_INBOX.a.", "_INBOX.a..x", "_INBOX.a.*", "_INBOX.a.>", "_INBOX.A.x", "_inbox.a.x",
		"$KV.fd_lease_main_packets_1.ghost", "x._INBOX.a.y", "fdctl.main.packets.reload",
		"_INBOX.a." + strings.Repeat("x", 256-len("_INBOX.a.")),
	}
	const good = "_INBOX.a.run.0.7"
	for _, reply := range append(replies, good) {
		if err := a.conn.PublishRequest(a.mine[0], reply, a.bodies[5]); err != nil {
			t.Fatal(err)
		}
	}
	if got := <-heard; got != good {
		t.Errorf("the hub answers to %s", got)
	}
	if bad := l.hub.bad.all()["a"]; bad != uint64(len(replies)) || l.hub.Status().Refused.Bad != bad {
		t.Errorf("%d bad requests, want %d", bad, len(replies))
	}
}

// TestWall misuses the key that answers sites: even a hub that answers anywhere reaches
// only inboxes of sites.
func TestWall(t *testing.T) {
	l := newLab(t, func(s *Settings) { s.Slices = 1 })
	seed, err := l.folder.hubSeed()
	if err != nil {
		t.Fatal(err)
	}
	if seed, err = answersSeed(seed); err != nil {
		t.Fatal(err)
	}
	refused := make(chan string, 10)
	conn, err := connect(l.server.URL(), "test", seed, newTestLog(t), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		refused <- err.Error()
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	tried := func(subject string, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if text := <-refused; !strings.Contains(strings.ToLower(text), "permissions violation") {
			t.Errorf("%s: %s", subject, text)
		}
	}
	for _, subject := range []string{"$KV.fd_lease_main_packets_1.ghost", "$JS.API.INFO", "fdctl.main.packets.reload", "fdlog.main_packets_1.s000", controlInbox + ".x.y", goodSubject, "_INBOX.a"} {
		tried(subject, conn.Publish(subject, nil))
	}
	for _, subject := range []string{"$KV.>", controlInbox + ".>", "_INBOX.>", ">", "fd.>"} {
		_, err := conn.Subscribe(subject, func(*nats.Msg) {})
		tried(subject, err)
	}
}

// TestGhostLease writes leases of hubs that do not exist: without the key of hubs they count for
// nothing.
func TestGhostLease(t *testing.T) {
	l := newLab(t, func(s *Settings) { s.Slices = 2 })
	for i, content := range [][]byte{nil, []byte("x"), l.hub.layout.proof(l.hub.id)} {
		if _, err := l.hub.layout.leases.Put(t.Context(), fmt.Sprintf("ghost%d", i), content); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.hub.layout.leases.Put(t.Context(), "real", l.hub.layout.proof("real")); err != nil {
		t.Fatal(err)
	}
	if !wait.For(func() bool { return len(l.hub.layout.live(time.Now())) == 2 }) {
		t.Fatalf("hubs %q", l.hub.layout.live(time.Now()))
	}
	want := []string{l.hub.id, "real"}
	slices.Sort(want)
	if got := l.hub.layout.live(time.Now()); !slices.Equal(got, want) {
		t.Errorf("hubs %q, want %q", got, want)
	}
}
