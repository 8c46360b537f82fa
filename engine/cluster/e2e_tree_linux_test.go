// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
)

// region is a hub at a router, below the lab's hub, for the sensors of that router.
type region struct {
	name, url string
	at        *namespace
	sites     []string
	process   *process
}

// regions starts two hubs below the lab's, and two sensors for each of them.
func (l *lab) regions(args ...string) (all []region) {
	l.t.Helper()
	program := filepath.Join(l.programs, "flowdedup-hub")
	for _, r := range []region{
		{"north", "10.91.0.2:4222", l.one, []string{"a", "b"}, nil}, {"south", "10.92.0.2:4222", l.two, []string{"c", "d"}, nil},
	} {
		r.process = l.start(r.at, "flowdedup-hub", append([]string{"--state", l.folder(r), "--listen", r.url, "--http", "none", "--parent", l.token(r.name)}, args...)...)
		r.process.wait("sensors connect")
		for _, site := range r.sites {
			token := r.at.run(program, "join-token", site, "--state", l.folder(r))
			l.sensorOf(site, strings.TrimSpace(token), patient)
		}
		all = append(all, r)
	}
	return all
}

func (l *lab) folder(r region) string { return filepath.Join(l.dir, r.name) }

// TestHubTree runs a tree of three levels: a root of two slices, two regional hubs, and
// four sensors, whose own filters are the leaves. Each packet is in exactly one output.
// Then the root dies: no packet is lost, and packets in two outputs were counted as
// unchecked. It comes back, and each packet is in one output again.
func TestHubTree(t *testing.T) {
	for name, args := range map[string][2]string{
		"rows":     {"--slices 2", "--slices 8"},
		"dense":    {"--filter bloom --layout vertical --slices 2", "--filter bloom --layout vertical --slices 3"},
		"sparse":   {"--filter timers --layout vertical --slices 2", "--filter timers --layout vertical --slices 3"},
		"top-down": {"--filter bloom --layout vertical --slices 2 --below north,south --top-down 1", "--filter bloom --layout vertical --slices 3"},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "rows" {
				t.Skip("one kind is enough")
			}
			l := newLab(t, append([]string{"--window", wide}, strings.Fields(args[0])...)...)
			regions := l.regions(append(strings.Fields(args[1]), "--parent-wait", "2s")...)
			before := l.checked()
			for _, r := range regions {
				st := l.statusAt(r.at, l.folder(r)).Tree
				if st == nil || st.Hits == 0 || st.Asked == 0 || st.Failure != "" || st.Sparse != (name == "sparse") {
					t.Errorf("%s: %+v", r.name, st)
				}
				t.Logf("%s: %+v", r.name, st)
			}
			if top := l.status().TopDown; (top != nil) != (name == "top-down") || top != nil && (top.Probed == 0 || top.Mixed) {
				t.Errorf("root: %+v", top)
			} else if top != nil {
				t.Logf("root: %+v", top)
			}
			l.hub.kill()
			l.send(3000, 1000)
			for _, r := range regions {
				if st := l.statusAt(r.at, l.folder(r)).Tree; st.Unchecked == 0 || st.Failure == "" {
					t.Errorf("%s: nothing is unchecked without the root: %+v", r.name, st)
				}
			}
			l.startHub()
			wait.Until(t, "the root", func() bool {
				for _, r := range regions {
					if l.statusAt(r.at, l.folder(r)).Tree.Failure != "" {
						return false
					}
				}
				// A chain that has lost its state passes packets until it has begun anew.
				l.send(50, 1000)
				chains := l.status().Chains
				return chains == nil || chains.Lost == 0
			})
			after := l.checked()
			counts, unchecked := l.counts("a", "b", "c", "d")
			once(t, counts, before, after)
			t.Log(unchecked, "unchecked")
		})
	}
}
