// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestSensorsAndChains runs a hub of each layout with two sensors on one routed path.
// Each packet must be in the output of one of them, and status must show messages between
// slices. These filters compare late packets with the present window, and a busy machine may
// run a sensor half a second later than the other.
func TestSensorsAndChains(t *testing.T) {
	for _, args := range []string{
		"--filter bloom --slices 4", "--layout vertical --filter bloom --slices 4",
		"--layout vertical --filter bloom --primitive first-test-then-set --slices 3",
		"--layout hv --filter timers --slices 2,3 --timers equal", "--layout vh --filter timers --slices 2,2",
		"--layout vertical --filter events --events 100000 --slices 3",
	} {
		t.Run(args, func(t *testing.T) {
			if testing.Short() && !strings.Contains(args, "hv") {
				t.Skip("one layout is enough")
			}
			l := newLab(t, append([]string{"--window", "20s"}, strings.Fields(args)...)...)
			for _, site := range []string{"a", "d"} {
				l.sensor(site, patient)
			}
			checked := l.checked()
			st := l.status()
			counts, unchecked := l.counts("a", "d")
			once(t, counts, checked)
			if c := st.Chains; c == nil || c.Lost != 0 || c.FNR != 0 || (c.Hops > 0) != (c.Shape.Links() > 1) {
				t.Errorf("%+v", c)
			}
			t.Logf("%d unchecked, %+v", unchecked, st.Chains)
		})
	}
}

// TestChainHubKilled shares the links of a chain between two hubs, and kills one of them: no
// packet is lost, and afterwards the rest decides by the heuristic, so that copies of new
// packets are found again.
func TestChainHubKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 20 s")
	}
	l := newLab(t, "--window", wide, "--layout", "vertical", "--filter", "timers", "--slices", "6", "--lost", "1")
	line := strings.TrimSpace(l.hubNet.run(filepath.Join(l.programs, "flowdedup-hub"), "hub-token", "--state", l.hubDir))
	second := l.start(l.hubNet, "flowdedup-hub", "--state", l.dir+"/second", "--join", line, "--name", "second", "--http", "none")
	second.wait("slices")
	l.shared(2)
	for _, site := range []string{"a", "d"} {
		l.sensor(site, "--verdict-wait=1s")
	}
	before := l.checked()
	second.kill()
	l.send(5000, 1000)
	l.shared(1)
	after := l.checked()
	st := l.status()
	counts, unchecked := l.counts("a", "d")
	once(t, counts, before, after)
	if st.Chains == nil || st.Chains.Lost != 0 {
		t.Errorf("slices have not recovered after a window: %+v", st.Chains)
	}
	t.Log(unchecked, "unchecked")
}
