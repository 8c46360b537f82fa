// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/certs/certstest"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/web"
	"github.com/flowdedup/flowdedup/engine/cluster/counts"
	"github.com/flowdedup/flowdedup/engine/cluster/hub"
)

var update = flag.Bool("update", false, "write the metrics of testdata instead of checking them")

// whole is the status of a hub that has all that there is to describe.
func whole() *hub.Status {
	at, offset := time.Unix(1_800_000_000, 0), 3*time.Millisecond
	var distinct hub.CountsStatus
	distinct.Bytes, distinct.Refused, distinct.Evicted = 1<<20, 2, 3
	distinct.Rows = []counts.Row{{WindowStart: &at, Of: "flow", Family: "all", Distinct: 48_210, Missing: []string{"rome"}}}
	return &hub.Status{
		Slices: 4, Owned: 3, Refused: hub.Refusals{WrongEpoch: 1, NotOwner: 2, Stale: 3, Overloaded: 4, Bad: 5},
		Sites: []hub.SiteStatus{
			{Site: "berlin", Digests: 1000, Copies: 10, Unchecked: 1, Bad: 2, Bans: 3, BannedUntil: &at, AnswerP99: 2 * time.Millisecond},
			{Site: "hamburg", Digests: 2000, Copies: 20, AnswerP99: 3 * time.Millisecond, Offset: &offset, OffsetOf: "berlin"},
		},
		Matrix:   []hub.PairStatus{{First: "berlin", Copy: "hamburg", Copies: 20}},
		PerSlice: []hub.SliceStatus{{Slice: 0, Digests: 750, MemoryBytes: 1 << 16, Fill: 0.5, FPR: 0.001, EvictedLive: 7, Filters: 2}},
		Chains:   &hub.ChainStatus{Lost: 1, FPR: 0.002, FNR: 0.1, Hops: 3, HopBits: 200, Fairness: 0.99},
		Tree: &hub.TreeStatus{
			Digests: 1000, Hits: 600, Asked: 400, HitsAbove: 100, Unchecked: 5, Accesses: 1400, Messages: 10, Bytes: 3600, AnswerP99: time.Millisecond,
			PerDigest: 0.01, Bits: 29, TheoryMsgs: 0.4, TheoryBits: 22, FPR: 0.003,
		},
		TopDown: &hub.TopDownStatus{Probed: 50, Unconfirmed: 3, Unanswered: 2},
		Counts:  &distinct,
	}
}

// TestMetrics compares the metrics with testdata (-update writes it), which the checks of rules and
// dashboards read. Every metric is there.
func TestMetrics(t *testing.T) {
	var written bytes.Buffer
	files := certstest.Load(t, certstest.New(t), time.Hour)
	if err := web.WriteMetrics(&written, hubMetrics(files), whole()); err != nil {
		t.Fatal(err)
	}
	text := []byte(certstest.Hide(files, written.Bytes()))
	name := filepath.Join("testdata", "metrics.txt")
	if *update {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, want) {
		t.Errorf("go test -run TestMetrics -update writes\n%s", text)
	}
	for _, m := range hubMetrics(nil) {
		if !bytes.Contains(want, []byte("# TYPE "+m.Name+" "+m.Kind+"\n")) {
			t.Errorf("%s has no value", m.Name)
		}
		if strings.HasSuffix(m.Name, "_total") != (m.Kind == web.Counter) {
			t.Errorf("%s is a %s", m.Name, m.Kind)
		}
	}
}

var metricName = regexp.MustCompile(`\b(flowdedup|process|go)_\w+`)

// contrib returns a file for those who run hubs.
func contrib(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../../cmd/flowdedup/contrib", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestDashboard checks that the dashboard shows every metric of the hub, and no others except
// the metrics of the process, each from the chosen data source.
func TestDashboard(t *testing.T) {
	type source struct{ Type, UID string }
	type panel struct {
		ID         int
		Type       string
		Title      string
		Datasource source
		GridPos    struct{ X, Y, W, H int }
		Targets    []struct{ Expr string }
		Panels     []panel // of a row that is collapsed
	}
	var dashboard struct {
		UID    string
		Panels []panel
	}
	if err := json.Unmarshal(contrib(t, "hub-grafana-dashboard.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	var names, shown []string
	for _, m := range hubMetrics(nil) {
		names = append(names, m.Name)
	}
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, row := range dashboard.Panels {
		for _, p := range row.Panels {
			p.GridPos.Y += 1000 * row.ID // they push the rows below away
			dashboard.Panels = append(dashboard.Panels, p)
		}
	}
	for _, p := range dashboard.Panels {
		if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %d is twice there, or too wide", p.ID)
		}
		ids[p.ID] = true
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if other := cells[at]; other != "" {
					t.Fatalf("%s covers %s", p.Title, other)
				}
				cells[at] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Datasource != (source{"prometheus", "${datasource}"}) || len(p.Targets) == 0 {
			t.Errorf("%s asks %+v", p.Title, p.Datasource)
		}
		for _, target := range p.Targets {
			shown = append(shown, metricName.FindAllString(target.Expr, -1)...)
		}
	}
	for _, name := range names {
		if !slices.Contains(shown, name) {
			t.Errorf("%s is not on the dashboard", name)
		}
	}
	exists(t, "the dashboard", names, shown)
}

// exists reports metrics that no hub has.
func exists(t *testing.T, where string, names, shown []string) {
	t.Helper()
	for _, name := range shown {
		if strings.HasPrefix(name, "flowdedup_") && !slices.Contains(names, name) {
			t.Errorf("%s: no metric %s", where, name)
		}
	}
}

// TestAlerts checks that the rules ask for metrics that exist, and for all that means that packets
// pass unchecked.
func TestAlerts(t *testing.T) {
	rules := string(contrib(t, "hub-prometheus-alerts.yml"))
	var names []string
	for _, m := range hubMetrics(nil) {
		names = append(names, m.Name)
	}
	exists(t, "the rules", names, metricName.FindAllString(rules, -1))
	for _, want := range []string{
		"slices_owned", "slices_lost", "refused_requests_total", "site_unchecked_total", "site_bad_requests_total", "site_bans_total",
		"slice_evicted_live_total", "tree_parent_up", "counts_evicted_files_total",
	} {
		if !strings.Contains(rules, "flowdedup_hub_"+want) {
			t.Errorf("no rule for %s", want)
		}
	}
}
