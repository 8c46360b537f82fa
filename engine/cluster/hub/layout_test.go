// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// another starts one more hub, which shares the slices.
func (l *lab) another(name string) *Hub {
	l.t.Helper()
	line, err := l.folder.Invite(l.settings)
	if err != nil {
		l.t.Fatal(err)
	}
	folder, settings, err := Accept(l.t.TempDir(), line)
	if err != nil {
		l.t.Fatal(err)
	}
	h, err := Start(Config{Name: name, URL: settings.NATS, Folder: folder, Settings: settings, Log: newTestLog(l.t), Memory: 1 << 22, Limit: 1 << 26})
	if err != nil {
		l.t.Fatal(err)
	}
	return h
}

// awaitSlices waits until hubs have the given numbers of slices.
func awaitSlices(t *testing.T, hubs map[*Hub]int) {
	t.Helper()
	if !wait.For(func() bool {
		ok := true
		for h, want := range hubs {
			ok = ok && len(h.all()) == want
		}
		return ok
	}) {
		for h, want := range hubs {
			t.Errorf("%s has %d slices, want %d", h.name, len(h.all()), want)
		}
		t.FailNow()
	}
}

// TestMoves has three hubs, whose slices move to and from one another while sensors ask:
// the answers equal one hub's, and each later owner has a higher number.
func TestMoves(t *testing.T) {
	twelve := func(s *Settings) { s.Slices = 12 }
	one, many := newLab(t, twelve), newLab(t, twelve)
	rng := rand.New(rand.NewPCG(7, 1))
	names := []string{"a", "b", "c"}
	var atOne, atMany []*sensor
	for _, name := range names {
		atOne = append(atOne, one.sensor(name))
		atMany = append(atMany, many.sensor(name))
	}
	now := time.Now().UnixNano()
	ask := func() {
		t.Helper()
		for round := range 12 {
			digests, times := make([]uint64, 400), make([]int64, 400)
			for i := range digests {
				now += rng.Int64N(4) * 10_000
				digests[i], times[i] = rng.Uint64N(800)*0x9e3779b97f4a7c15, now
			}
			if want, got := atOne[round%3].ask(digests, times), atMany[round%3].ask(digests, times); !slices.Equal(want, got) {
				t.Fatal("other answers")
			}
		}
	}
	fences := func() (all []uint64) {
		for number := range many.settings.Slices {
			all = append(all, many.hub.layout.owner(number).revision)
		}
		return all
	}
	ask()
	first := fences()
	second := many.another("second")
	ask() // while slices move
	awaitSlices(t, map[*Hub]int{many.hub: 6, second: 6})
	ask()
	third := many.another("third")
	awaitSlices(t, map[*Hub]int{many.hub: 4, second: 4, third: 4})
	ask()
	for number, fence := range fences() {
		if fence < first[number] {
			t.Errorf("slice %d: number %d after %d", number, fence, first[number])
		}
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	ask()
	awaitSlices(t, map[*Hub]int{many.hub: 6, third: 6})
	ask()
	if err := third.Close(); err != nil {
		t.Error(err)
	}
	awaitSlices(t, map[*Hub]int{many.hub: 12})
	ask()
}

// TestSlowGift has a hub give away slices that take long to end, together longer than its lease: it
// keeps its other slices.
func TestSlowGift(t *testing.T) {
	const given = int(leaseTime/stopTime) + 1
	l := newLab(t, func(s *Settings) { s.Slices = 2 * given })
	kept := l.hub.all()[:given]
	released := make(chan struct{})
	defer close(released)
	for i, o := range l.hub.all()[given:] {
		subject := fmt.Sprintf("%s.%d", controlInbox, i)
		sub, err := l.hub.conn.Subscribe(subject, func(*nats.Msg) { <-released })
		if err == nil {
			err = l.hub.conn.Publish(subject, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		l.hub.siteConns.mu.Lock()
		o.subs["slow"] = sub
		l.hub.siteConns.mu.Unlock()
	}
	other := l.another("other")
	defer func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}()
	wait.Until(t, "the slices to move", func() bool {
		for number := given; number < 2*given; number++ {
			if other.layout.owner(number).Hub != other.id {
				return false
			}
		}
		return true
	})
	for _, o := range kept {
		if owner := other.layout.owner(o.number); owner.Hub != l.hub.id || owner.revision != o.fence {
			t.Errorf("slice %d has another owner", o.number)
		}
	}
}

// TestTwoOwners has a hub that was silent for too long while another took its slices: it
// does not answer, and drops them when it is back.
func TestTwoOwners(t *testing.T) {
	l := newLab(t, func(s *Settings) { s.Slices = 2 })
	other := l.another("other")
	defer func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}()
	awaitSlices(t, map[*Hub]int{l.hub: 1, other: 1})
	o := l.hub.all()[0]
	seen := l.hub.layout.owner(o.number)
	fence, err := other.layout.change(o.number, seen, other.id)
	if err != nil || fence <= o.fence {
		t.Fatal(fence, err)
	}
	if _, err := l.hub.layout.change(o.number, seen, l.hub.id); !isTaken(err) {
		t.Errorf("two owners: %v", err)
	}
	request := hubclient.Request{Op: hubclient.TestAndSet, Epoch: 1, Seq: 1, Time: 1, Digests: []uint64{1}}
	subject := fmt.Sprintf("fd.main.packets.1.s%03d.tas.a", o.number)
	o.mu.Lock()
	o.respond(subject, request.Append(nil), false, time.Now().Add(time.Hour))
	var reply hubclient.Reply
	if err := reply.Decode(o.out); err != nil || reply.Status != hubclient.NotOwner || reply.Fencing >= fence {
		t.Errorf("%v, %+v", err, reply)
	}
	o.mu.Unlock()
	wait.Until(t, "the slice to be dropped", func() bool {
		all := l.hub.all()
		return len(all) == 0 || all[0] != o
	})
}

// TestInvitation refuses lines that are none, and folders that have a hub.
func TestInvitation(t *testing.T) {
	folder, settings, err := MakeFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	line, err := folder.Invite(settings)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "fdhub1:", "fdhub1:e30", line[:len(line)-9], "fd1:" + line[7:]} {
		if _, _, err := Accept(t.TempDir(), bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	if _, _, err := Accept(folder.path, line); err == nil {
		t.Error("a folder with a hub was taken")
	}
	joined, settings, err := Accept(t.TempDir(), line)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := joined.Join(settings, "a"); err == nil {
		t.Error("a hub without a server made a token")
	}
}
