package monitor

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

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

// served are the names of what /metrics gives.
func served(t *testing.T) map[string]bool {
	t.Helper()
	s := new(Server)
	s.Update(*sample(10))
	names := map[string]bool{}
	for _, line := range regexp.MustCompile(`(?m)^# TYPE \w+`).FindAllString(get(s, "GET", "/metrics").Body.String(), -1) {
		names[strings.TrimPrefix(line, "# TYPE ")] = true
	}
	return names
}

// TestDashboard wants the dashboard to show every metric of the run and none that is
// not there, each from the data source that is chosen.
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

// TestAlerts wants the rules to ask for nothing that is not there.
func TestAlerts(t *testing.T) {
	names, text := served(t), contrib(t, "prometheus-alerts.yml")
	for _, name := range metricName.FindAllString(text, -1) {
		if !names[name] {
			t.Errorf("no metric %s", name)
		}
	}
	if !strings.Contains(text, "flowdedup_kernel_dropped_total") {
		t.Error("no rule for drops")
	}
}

// TestUnit lets systemd judge the unit and how much of the system it leaves open, with
// another program in place of ours, which must exist.
func TestUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("no systemd-analyze: ", err)
	}
	unit := strings.ReplaceAll(contrib(t, "flowdedup@.service"), "/usr/local/bin/flowdedup", analyze)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "flowdedup@.service"), []byte(unit), 0o644); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "flowdedup@eth0.service")
	for _, unit := range []string{name, filepath.Join(dir, `flowdedup@br\x2dlan.service`)} {
		out, err := exec.Command(analyze, "verify", "--man=no", unit).CombinedOutput()
		if err != nil || strings.Contains(string(out), "flowdedup@") {
			t.Errorf("%s: %v: %s", unit, err, out)
		}
	}
	// In tenths: 1.5 with systemd 252, and later ones may ask for more.
	out, err := exec.Command(analyze, "security", "--no-pager", "--offline=true", "--threshold=20", name).CombinedOutput()
	switch {
	case strings.Contains(string(out), "unrecognized option"):
		t.Log("not judged by an older systemd: ", string(out))
	case err != nil:
		t.Errorf("%v: %s", err, out)
	}
}
