// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/hubclient"
	"github.com/flowdedup/flowdedup/engine/hubclient/natslink"
)

// crash ends a hub without saving anything.
func crash(t *testing.T, h *Hub) {
	t.Helper()
	h.cancel()
	h.conn.Close()
	h.siteConns.close()
	h.sites.Close()
	h.group.Wait()
	for _, o := range h.all() {
		o.mu.Lock()
		if err := o.slice.Close(); err != nil {
			t.Error(err)
		}
		o.mu.Unlock()
	}
}

// crash crashes the hub of the lab.
func (l *lab) crash(t *testing.T) {
	t.Helper()
	crash(t, l.hub)
}

// TestJournal crashes a hub again and again, with slices saved at various places: the
// restored state equals the lost one, bit for bit, and answers the same.
func TestJournal(t *testing.T) {
	l := newLab(t, func(s *Settings) { s.Slices, s.Journal = 3, true })
	twin := newLab(t, func(s *Settings) { s.Slices = 3 })
	rng := rand.New(rand.NewPCG(9, 1))
	sensors := []*sensor{l.sensor("a"), l.sensor("b")}
	twins := []*sensor{twin.sensor("a"), twin.sensor("b")}
	now := time.Now().UnixNano()
	for round := range 6 {
		for i := range 6 {
			digests, times := make([]uint64, 300), make([]int64, 300)
			for i := range digests {
				now += rng.Int64N(4) * 10_000
				digests[i], times[i] = rng.Uint64N(600)*0x9e3779b97f4a7c15, now
			}
			if want, got := twins[i%2].ask(digests, times), sensors[i%2].ask(digests, times); !slices.Equal(want, got) {
				t.Fatal("other answers")
			}
		}
		var before [][]byte
		for _, o := range l.hub.all() {
			o.mu.Lock()
			before = append(before, o.slice.Save(nil))
			if round%2 == 1 {
				if err := errors.Join(l.hub.layout.save(o.number, o.slice, o.journal.last), o.journal.saved(time.Now())); err != nil {
					t.Fatal(err)
				}
			}
			o.mu.Unlock()
		}
		l.crash(t)
		var err error
		l.hub, err = Start(Config{
			Name: "hub", Folder: l.folder, Settings: l.settings, Log: newTestLog(t), Memory: 1 << 22, Limit: 1 << 26,
			Dial: l.server.Dial(),
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range l.hub.all() {
			o.mu.Lock()
			if !bytes.Equal(o.slice.Save(nil), before[i]) {
				t.Errorf("round %d: slice %d differs", round, i)
			}
			o.mu.Unlock()
		}
	}
}

// TestJournalOwner has a message of another owner in the journal: this one answers no more,
// and begins anew with that message.
func TestJournalOwner(t *testing.T) {
	l := newLab(t, func(s *Settings) { s.Slices, s.Journal = 1, true })
	b := l.sensor("b")
	at := time.Now().UnixNano()
	b.ask([]uint64{7}, []int64{at})
	other := l.hub.layout.journal(0)
	o := l.hub.all()[0]
	o.mu.Lock()
	other.last = o.journal.last
	o.mu.Unlock()
	request := hubclient.Request{Op: hubclient.TestAndSet, Epoch: 1, Seq: 1, Time: uint64(at / 1000), Digests: []uint64{8}}
	if err := other.add(entry{"a", hubclient.Inbox("a") + ".run.0.1", request.Append(nil)}); err != nil {
		t.Fatal(err)
	}
	if got := b.ask([]uint64{8, 9}, []int64{at, at}); !slices.Equal(got, []bool{true, false}) {
		t.Error(got)
	}
}

// TestJournalFull has a journal that takes nothing, as on a full disk: packets pass
// unchecked, and once there is room again everything goes on, with the earlier state.
func TestJournalFull(t *testing.T) {
	l := newLab(t, func(s *Settings) { s.Slices, s.Journal = 1, true })
	a := l.sensor("a")
	at := time.Now().UnixNano()
	a.ask([]uint64{1}, []int64{at})
	room := func(bytes int64) {
		t.Helper()
		cfg := l.hub.layout.log.CachedInfo().Config
		cfg.MaxBytes, cfg.Discard = bytes, jetstream.DiscardNew
		if _, err := l.hub.layout.js.UpdateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	room(1)
	token := l.token("b")
	link, _, err := natslink.Dial(token, func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	client := hubclient.NewClient(hubclient.ClientConfig{Token: token, Wait: 200 * time.Millisecond, Block: true}, link, "run")
	defer client.Close()
	if err := link.Listen(client.Inbox(), client.Receive); err != nil {
		t.Fatal(err)
	}
	var answers hubclient.Answers
	client.Ask(&answers, []digest.Digest{{1}, {2}}, []int64{at, at}, []uint64{0})
	if client.Wait(&answers); answers.Unchecked != 2 || answers.Copies[0] != 0 {
		t.Errorf("%+v", answers)
	}
	room(-1)
	if got := l.sensor("c").ask([]uint64{1, 2}, []int64{at, at}); !slices.Equal(got, []bool{true, false}) {
		t.Error(got)
	}
}

// FuzzEntry gives any bytes as a message of a journal.
func FuzzEntry(f *testing.F) {
	f.Add([]byte("\x01a"))
	f.Add([]byte("\x05a"))
	f.Add([]byte("\x82"))
	f.Add((&entry{"a", "inbox.a.run.0.1", []byte("message")}).append(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := parseEntry(data)
		if err != nil && !errors.Is(err, errJournal) {
			t.Error(err)
		}
		if err != nil {
			return
		}
		again, err := parseEntry(e.append(nil))
		if err != nil || again.site != e.site || again.reply != e.reply || !bytes.Equal(again.msg, e.msg) || !bytes.HasSuffix(data, e.msg) {
			t.Errorf("%+v, again %+v: %v", e, again, err)
		}
	})
}
