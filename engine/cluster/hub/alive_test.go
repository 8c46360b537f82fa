// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/engine/cluster/chain"
)

// TestSilentHub has a hub that is silent for as long as hubs answer. It keeps its slices while one
// of its connections lives, and loses them when none does. One that was heard of keeps them.
func TestSilentHub(t *testing.T) {
	l := newLab(t, func(s *Settings) { s.Slices = 2 })
	layout := l.hub.layout
	heard := time.Now().Add(time.Hour) // so that the hub's own look finds it alive
	hear := func(id string, at time.Time) {
		layout.mu.Lock()
		defer layout.mu.Unlock()
		layout.hubs[id] = at
	}
	hear("silent", heard)
	hear("busy", heard.Add(leaseTime/2))
	alive := func() bool {
		t.Helper()
		l.hub.dropDead(heard.Add(leaseTime/2 + 1))
		live := layout.live(time.Now())
		if !slices.Contains(live, "busy") || !slices.Contains(live, l.hub.id) {
			t.Fatalf("hubs %q", live)
		}
		return slices.Contains(live, "silent")
	}
	first, err := l.hub.conn.SubscribeSync(l.settings.aliveSubject("silent"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := l.hub.sites.SubscribeSync(l.settings.aliveSubject("silent"))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.hub.sites.Flush(); err != nil {
		t.Fatal(err)
	}
	if !alive() {
		t.Error("it has connections, but loses its slices")
	}
	if err := first.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	if !alive() {
		t.Error("it has one connection, but loses its slices")
	}
	if err := second.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	if err := l.hub.sites.Flush(); err != nil {
		t.Fatal(err)
	}
	if alive() {
		t.Error("it has no connection, but keeps its slices")
	}
	if wait := l.hub.untilShare(heard.Add(leaseTime - 3*silentMargin)); wait != 4*silentMargin {
		t.Errorf("%v until the next one is silent", wait)
	}
}

// TestChainTakenOver kills one of two hubs of a chain. The other takes its links, and the chain
// answers again, with all of its state.
func TestChainTakenOver(t *testing.T) {
	if testing.Short() {
		t.Skip("waits until a hub has been silent for long enough")
	}
	shape := vertical(4, chain.Timers)
	shape.WindowUS *= 600
	l := newLab(t, func(s *Settings) { shaped(shape)(s); s.Journal = true })
	other := l.another("second")
	awaitSlices(t, map[*Hub]int{l.hub: 2, other: 2})
	a, b := l.sensor("a"), l.sensor("b")
	digests, times := make([]uint64, 1000), make([]int64, 1000)
	for i := range digests {
		digests[i], times[i] = rand.Uint64(), time.Now().UnixNano()
	}
	a.ask(digests, times)
	crash(t, other)
	dead := time.Now()
	awaitSlices(t, map[*Hub]int{l.hub: 4})
	t.Logf("taken over after %v", time.Since(dead))
	if n := news(b.ask(digests, times)); n != 0 {
		t.Errorf("%d of %d are new after the hub has died", n, len(digests))
	}
	t.Logf("the chain answers after %v", time.Since(dead))
}
