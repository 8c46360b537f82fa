// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/engine/cluster/counts"
	"github.com/flowdedup/flowdedup/engine/cluster/hub"
)

// counter is a sensor that counts, and its capture.
type counter struct {
	*process
	captures []string
}

// count starts a sensor that counts the flows of some ports, each second.
func (l *lab) count(site, ports, folder, run string) *counter {
	l.t.Helper()
	iface := ""
	for _, s := range sites {
		if s.name == site {
			iface = s.iface
		}
	}
	kept, removed := filepath.Join(l.dir, run+".kept.pcapng"), filepath.Join(l.dir, run+".removed.pcapng")
	p := l.start(l.at(site), "flowdedup", "live", "-i", iface, "--hub", l.token(site), patient, "--of", "dst,flow", "--every", "1s",
		"--slide", "0", "--save", folder, "--reports", filepath.Join(l.dir, run+".jsonl"), "-w", kept, "--duplicates", removed,
		"udp", "portrange", ports)
	p.wait("started")
	return &counter{p, []string{kept, removed}}
}

// TestCounts has four sites count flows while one of them ends and begins again: it then
// sends all of its files again. The unions of the hub must be the counts of all captures
// together, and name the sites that lack a window.
func TestCounts(t *testing.T) {
	l := newLab(t, "--window", wide)
	folders := map[string]string{}
	for _, s := range sites {
		folders[s.name] = t.TempDir()
	}
	ports := map[string]string{"a": "7777-7900", "b": "7850-8000", "c": "7777-7777", "d": "7950-8100"}
	var running, all []*counter
	for _, site := range []string{"a", "b", "c"} {
		running = append(running, l.count(site, ports[site], folders[site], site))
	}
	l.spread(1500, 1000, 300)
	running[1].stop()
	all, running = append(all, running[1]), slices.Delete(running, 1, 2)
	running = append(running, l.count("b", ports["b"], folders["b"], "b2"), l.count("d", ports["d"], folders["d"], "d"))
	l.spread(1500, 1000, 300)
	for _, c := range running {
		c.stop()
	}
	var captures []string
	for _, c := range append(all, running...) {
		if strings.Contains(c.stderr.String(), "counts do not arrive") || strings.Contains(c.stderr.String(), "lacks") {
			t.Error(c.stderr.String())
		}
		captures = append(captures, c.captures...)
	}
	type row struct {
		WindowStart    *time.Time `json:"window_start"`
		Of, Family     string
		Distinct, High uint64
	}
	name := func(start *time.Time, of, family string) string {
		return fmt.Sprintf("%v %s %s", start.UTC(), of, family)
	}
	want := map[string]uint64{}
	text := l.hubNet.run(filepath.Join(l.programs, "flowdedup"), append([]string{"distinct", "--json", "--of", "dst,flow", "--every", "1s"}, captures...)...)
	for line := range strings.Lines(text) {
		var r row
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err, line)
		}
		want[name(r.WindowStart, r.Of, r.Family)] = r.Distinct
	}
	var st *hub.CountsStatus
	if !wait.For(func() bool {
		st = l.status().Counts
		return st.Pending == 0
	}) {
		t.Fatalf("unions are never made: %+v", st)
	}
	if st.Refused != 0 || len(st.Rows) != len(want) {
		t.Errorf("%d rows, want %d; %d refused", len(st.Rows), len(want), st.Refused)
	}
	seen := map[string]bool{}
	for i := range st.Rows {
		r := &st.Rows[i]
		if n, ok := want[name(r.WindowStart, r.Of, r.Family)]; !ok || r.Distinct != n || r.High != n {
			t.Errorf("%+v, want %d", r, n)
		}
		if len(r.Sensors) != 3 || r.Sensors[2] != '4' || int(r.Sensors[0]-'0') != 4-len(r.Missing) {
			t.Errorf("sensors %s, missing %q", r.Sensors, r.Missing)
		}
		seen[strings.Join(r.Missing, " ")] = true
	}
	if !seen["d"] {
		t.Error("d is in every window: ", seen)
	}
	file := filepath.Join(l.dir, "union.counts")
	said := l.hubNet.run(filepath.Join(l.programs, "flowdedup-hub"), "counts", file, "--state", l.dir+"/hub")
	merged := l.hubNet.run(filepath.Join(l.programs, "flowdedup"), "distinct", "--merge", "--json", file)
	if n := strings.Count(merged, "\n"); n != len(want) || !strings.Contains(said, "windows") {
		t.Errorf("%d rows of the saved union, want %d: %s", n, len(want), said)
	}
	for line := range strings.Lines(merged) {
		var r counts.Row
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Distinct != want[name(r.WindowStart, r.Of, r.Family)] {
			t.Errorf("%v: saved union: %s", err, line)
		}
	}
	for site, folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil || len(entries) == 0 {
			t.Errorf("%s: %v, %d files", site, err, len(entries))
		}
	}
}
