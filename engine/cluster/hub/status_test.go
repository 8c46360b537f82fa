// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"slices"
	"testing"

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
