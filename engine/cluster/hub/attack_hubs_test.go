// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

// TestAttackerOfHubs has the attacker face three hubs that share the slices: verdicts and counts
// of honest sites are as without it, each hub keeps its slices, and no hub takes it for another.
func TestAttackerOfHubs(t *testing.T) {
	nine := func(s *Settings) { s.Slices = 9 }
	want := newCountingLab(t, nine).honest(func() {})
	l := newCountingLab(t, nine)
	hubs := map[*Hub]int{l.hub: 3}
	for _, name := range []string{"second", "third"} {
		h := l.another(name)
		t.Cleanup(func() {
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		})
		hubs[h] = 3
	}
	awaitSlices(t, hubs)
	a := newAttacker(t, l)
	l.spare()
	subjects := l.subjects()
	for h := range hubs { // leases of each hub by name
		subjects = append(subjects, "$KV.fd_lease_"+l.settings.Namespace+"_"+l.settings.Filter+"_1."+h.id)
	}
	ids := l.hub.layout.live(time.Now())
	if len(ids) != len(hubs) {
		t.Fatalf("%d hubs: %q", len(ids), ids)
	}
	rounds := 0
	got := l.honest(func() {
		if rounds++; rounds%3 == 1 { // each round is thousands of messages for each hub
			a.round(subjects)
		}
	})
	if err := a.conn.Flush(); err != nil {
		t.Fatal(err)
	}
	for i := range want.verdicts {
		if !slices.Equal(got.verdicts[i], want.verdicts[i]) {
			t.Errorf("other verdicts in batch %d", i)
		}
	}
	if !reflect.DeepEqual(got.counts, want.counts) {
		t.Errorf("counts %+v, want %+v", got.counts, want.counts)
	}
	awaitSlices(t, hubs) // each slice has one still
	bad := uint64(0)
	for h := range hubs {
		if now := h.layout.live(time.Now()); !slices.Equal(now, ids) {
			t.Errorf("%s: hubs %q, want %q", h.name, now, ids)
		}
		all := h.bad.all()
		bad += all["a"]
		delete(all, "a")
		if len(all) > 0 {
			t.Errorf("%s: bad requests of honest sites: %v", h.name, all)
		}
	}
	if bad == 0 {
		t.Error("no bad requests of the attacker were counted")
	}
}
