// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
)

// TestFailures expects only the reasons that keep a hub from answering.
func TestFailures(t *testing.T) {
	l := newLab(t, func(s *Settings) { s.Slices = 4 })
	require := func(want ...string) {
		t.Helper()
		var got []string
		if !wait.For(func() bool {
			got = l.hub.Failures()
			return slices.Equal(got, want)
		}) {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	require()
	own := func(id string) {
		l.hub.layout.mu.Lock()
		defer l.hub.layout.mu.Unlock()
		r := l.hub.layout.slices[sliceKey(2)]
		r.Hub = id
		l.hub.layout.slices[sliceKey(2)] = r
	}
	own("one that is gone")
	l.hub.unnoted.Store(true)
	require("1 of 4 slices have no hub", "journals take no requests")
	own(l.hub.id)
	l.hub.unnoted.Store(false)
	require()
	l.hub.cancel()
	require("the lease of this hub is not renewed, so it does not answer")
	l.stop()
}

// TestFailuresCut names a connection that is gone.
func TestFailuresCut(t *testing.T) {
	l := newLab(t, func(s *Settings) { s.Slices = 1 })
	h := l.hub
	l.stop()
	if got, want := h.Failures(), []string{"there is no connection to the NATS server"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestMergeTimes puts hubs in several time zones together: times are in UTC, and the ban that ends
// last counts.
func TestMergeTimes(t *testing.T) {
	at := time.Date(2026, 11, 27, 12, 0, 0, 0, time.FixedZone("", -3*3600-1800))
	hub := func(after time.Duration) part {
		return part{Started: at, Reports: map[string]siteReport{"a": {At: at}}, Bans: map[string]Ban{"a": {Until: at.Add(after), Count: 1}}}
	}
	st := merge(Settings{}, []part{hub(time.Second), hub(time.Minute), hub(0)})
	site := st.Sites[0]
	for name, times := range map[string][2]time.Time{
		"started":      {st.Hubs[0].Started, at},
		"reported":     {*site.Reported, at},
		"banned until": {*site.BannedUntil, at.Add(time.Minute)},
	} {
		if got := times[0]; got.Location() != time.UTC || !got.Equal(times[1]) {
			t.Errorf("%s %v, want %v in UTC", name, got, times[1].UTC())
		}
	}
}
