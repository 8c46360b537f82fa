// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"

	"github.com/flowdedup/flowdedup/capture/certs/certstest"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/web/metricstest"
)

// TestMetrics compares the metrics with testdata, whose names contrib/check checks, and with
// the output of the Prometheus library.
func TestMetrics(t *testing.T) {
	whole := wholeSample(3600)
	whole.TLS = certstest.Load(t, certstest.New(t), time.Hour)
	text := metricstest.Write(t, runMetrics(), whole)
	golden(t, "metrics.txt", certstest.Hide(whole.TLS, text))
	for _, s := range []*Status{whole, hostile()} {
		text := metricstest.Write(t, runMetrics(), s)
		families := metricstest.Parse(t, text)
		var theirs bytes.Buffer
		for _, m := range runMetrics() {
			if family := families[m.Name]; family != nil {
				if _, err := expfmt.MetricFamilyToText(&theirs, family); err != nil {
					t.Fatal(err)
				}
			}
		}
		if theirs.String() != string(text) {
			t.Errorf("the library writes\n%s\nnot\n%s", theirs.String(), text)
		}
	}
}

// TestMetricsOfNothing writes metrics of a status that lacks parts.
func TestMetricsOfNothing(t *testing.T) {
	for _, s := range []Status{{}, {Distinct: make([]Distinct, 1)}} {
		metricstest.Parse(t, metricstest.Write(t, runMetrics(), &s))
	}
	if w := get(new(Server), "/metrics"); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "flowdedup_packets") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestMetricsBeforeDuplicates checks that series exist before their first event, because
// a counter that appears with its first value has no rate for it.
func TestMetricsBeforeDuplicates(t *testing.T) {
	s := new(Server)
	s.Update(Status{})
	text := get(s, "/metrics").Body.String()
	for _, protocol := range commonProtocols {
		if want := fmt.Sprintf("flowdedup_duplicates_total{protocol=%q} 0\n", protocol); !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
}

// TestMetricsOfBadNames checks that all values appear even if names are not UTF-8 or
// occur twice.
func TestMetricsOfBadNames(t *testing.T) {
	s := new(Server)
	status := hostile()
	status.Outputs = append(status.Outputs, sink.Output{Name: "twice"}, sink.Output{Name: "twice"}, sink.Output{Name: "\xff"})
	s.Update(*status)
	w := get(s, "/metrics")
	for _, want := range []string{"flowdedup_packets_total ", `output="twice"`, `flowdedup_ring_interface_down{interface="eth1",ring="0"} 1`, "\ufffd", "go_goroutines ", "go_build_info{"} {
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%d, no %q", w.Code, want)
		}
	}
}

// contrib reads a file that is given to users.
func contrib(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "contrib", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var metricName = regexp.MustCompile(`\b(flowdedup|process|go)_\w+`)

// wholeSample is a sample of a run that does everything.
func wholeSample(seconds int) *Status {
	status := sample(seconds)
	status.Networks = []Network{
		{Name: "tcp-listen://:57012", ReceiverStats: &pcapoverip.ReceiverStats{Peers: 2, Connected: 1, PeersDropped: 1}, LatePackets: 3},
		{Name: "vxlan://", Mirrored: &Mirrored{Malformed: map[string]uint64{"header": 4}, Control: 5, Unwanted: 6, Points: 7}},
	}
	status.Matrix = []traits.Cell{{First: "eth1 VLAN 10", Copy: "eth1 VLAN 20", Count: 8}}
	status.Learned = &Learned{Decisions: 1, Dedup: true, Identity: "l3", Window: "1ms", Keep: "first", Passed: 9}
	status.HubCopies, status.Unchecked, status.HubDelay = new(uint64), new(uint64), new(dedup.HubDelay)
	status.Unopened = map[string]uint64{"ethertype-88b5": 12, "linktype-290": 3}
	whole, checksum := uint64(10), uint64(11)
	status.WholePreferred, status.ChecksumPreferred = &whole, &checksum
	return status
}

// served are the names of what /metrics gives.
func served(t *testing.T) map[string]bool {
	t.Helper()
	s := new(Server)
	whole := wholeSample(10)
	whole.TLS = certstest.Load(t, certstest.New(t), time.Hour)
	s.Update(*whole)
	names := map[string]bool{}
	for _, line := range regexp.MustCompile(`(?m)^# TYPE \w+`).FindAllString(get(s, "/metrics").Body.String(), -1) {
		names[strings.TrimPrefix(line, "# TYPE ")] = true
	}
	flows, err := os.ReadFile("../flows/testdata/metrics.txt") // all that its tests found
	if err != nil {
		t.Fatal(err)
	}
	for name := range metricstest.Parse(t, flows) {
		names[name] = true
	}
	return names
}

// TestDashboard checks that the dashboard shows every metric of the runs, and no other,
// each from the chosen data source.
func TestDashboard(t *testing.T) {
	type target struct{ Expr string }
	type source struct{ Type, UID string }
	var dashboard struct {
		Templating struct{ List []struct{ Name, Type string } }
		Panels     []struct {
			ID         int
			Type       string
			Datasource source
			GridPos    struct{ X, W int }
			Targets    []target
		}
	}
	if err := json.Unmarshal([]byte(contrib(t, "grafana-dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	names, shown, ids := served(t), map[string]bool{}, map[int]bool{}
	for _, p := range dashboard.Panels {
		if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %d is twice there, or too wide", p.ID)
		}
		ids[p.ID] = true
		if p.Type != "row" && p.Datasource != (source{"prometheus", "${datasource}"}) {
			t.Errorf("panel %d asks %+v", p.ID, p.Datasource)
		}
		for _, target := range p.Targets {
			for _, name := range metricName.FindAllString(target.Expr, -1) {
				shown[name] = true
				if !names[name] {
					t.Errorf("panel %d: no metric %s", p.ID, name)
				}
			}
		}
	}
	for name := range names {
		if strings.HasPrefix(name, "flowdedup_") && !shown[name] {
			t.Errorf("%s is not on the dashboard", name)
		}
	}
	if v := dashboard.Templating.List[0]; v.Name != "datasource" || v.Type != "datasource" {
		t.Errorf("the first variable is %+v", v)
	}
}

// TestNamedMetrics checks that every metric that the alert rules and the manual name
// exists.
func TestNamedMetrics(t *testing.T) {
	names, rules := served(t), contrib(t, "prometheus-alerts.yml")
	for _, name := range metricName.FindAllString(rules+contrib(t, "../doc/live.md")+contrib(t, "../doc/flows.md"), -1) {
		if !names[name] {
			t.Errorf("no metric %s", name)
		}
	}
	for _, drops := range []string{"flowdedup_kernel_dropped_total", "flowdedup_flows_datagrams_dropped_total"} {
		if !strings.Contains(rules, drops) {
			t.Errorf("no rule for %s", drops)
		}
	}
}

// TestUnit checks the units with systemd, and how much of the system they can reach. A different
// program stands in for ours, because the program must exist.
func TestUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("no systemd-analyze: ", err)
	}
	dir := t.TempDir()
	for unit, instances := range map[string][]string{
		"flowdedup@.service": {"eth0", `br\x2dlan`}, "flowdedup-flows@.service": {"edge", `two\x2dports`},
	} {
		text := strings.ReplaceAll(contrib(t, unit), "/usr/local/bin/flowdedup", analyze)
		if err := os.WriteFile(filepath.Join(dir, unit), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		kind := strings.TrimSuffix(unit, ".service")
		for _, instance := range instances {
			name := filepath.Join(dir, kind+instance+".service")
			out, err := exec.Command(analyze, "verify", "--man=no", name).CombinedOutput()
			if err != nil || strings.Contains(string(out), kind) {
				t.Errorf("%s: %v: %s", name, err, out)
			}
			// In tenths: 1.5 with systemd 252; later versions may ask for more.
			out, err = exec.Command(analyze, "security", "--no-pager", "--offline=true", "--threshold=20", name).CombinedOutput()
			switch {
			case strings.Contains(string(out), "unrecognized option"):
				t.Log("not judged by an older systemd: ", string(out))
			case err != nil:
				t.Errorf("%s: %v: %s", name, err, out)
			}
		}
	}
}
