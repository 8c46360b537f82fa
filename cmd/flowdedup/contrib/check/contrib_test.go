// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// Grafana replaces these variables.
var variables = strings.NewReplacer("$__rate_interval", "1m", "$__range", "1h")

// judged parses an expression and returns the labels of its result.
func judged(t *testing.T, where, expr string, offered map[string]*metric) []string {
	t.Helper()
	e, err := parser.ParseExpr(expr)
	if err != nil {
		t.Errorf("%s: %s: %v", where, expr, err)
		return nil
	}
	j := &judge{offered: offered}
	given := j.labels(e)
	for _, fault := range j.faults {
		t.Errorf("%s: %s", where, fault)
	}
	if len(j.names) == 0 {
		t.Errorf("%s: %s asks for nothing", where, expr)
	}
	return given
}

// wanted reports labels that a text shows and its series lack.
func wanted(t *testing.T, where, text string, pattern *regexp.Regexp, given []string) {
	t.Helper()
	for _, found := range pattern.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(given, found[1]) {
			t.Errorf("%s: %q shows the label %s, and there are %v", where, text, found[1], given)
		}
	}
}

// TestDashboards parses the expressions of every panel.
func TestDashboards(t *testing.T) {
	for name, folders := range map[string][]string{"grafana-dashboard.json": ofRuns, "hub-grafana-dashboard.json": ofHubs} {
		t.Run(name, func(t *testing.T) { dashboard(t, name, folders) })
	}
}

func dashboard(t *testing.T, name string, folders []string) {
	type panel struct {
		Title   string
		Targets []struct{ Expr, LegendFormat string }
		Panels  []panel // of a row that is collapsed
	}
	var dashboard struct {
		Panels     []panel
		Templating struct {
			List []struct{ Type, Definition string }
		}
	}
	text, err := os.ReadFile("../" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	offered, shown := offer(t, folders), regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)
	expressions := 0
	for _, row := range dashboard.Panels {
		dashboard.Panels = append(dashboard.Panels, row.Panels...)
	}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			expressions++
			given := judged(t, p.Title, variables.Replace(target.Expr), offered)
			wanted(t, p.Title, target.LegendFormat, shown, given)
		}
	}
	if expressions == 0 {
		t.Error("no panel asks for anything")
	}
	asked := regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)
	for _, v := range dashboard.Templating.List {
		if v.Type != "query" {
			continue
		}
		parts := asked.FindStringSubmatch(v.Definition)
		if parts == nil {
			t.Fatalf("the variable %q", v.Definition)
		}
		if given := judged(t, v.Definition, parts[1], offered); !slices.Contains(given, parts[2]) {
			t.Errorf("%s: no such label", v.Definition)
		}
	}
}

// TestAlerts parses the rules and their templates.
func TestAlerts(t *testing.T) {
	for name, folders := range map[string][]string{"prometheus-alerts.yml": ofRuns, "hub-prometheus-alerts.yml": ofHubs} {
		t.Run(name, func(t *testing.T) { alerts(t, name, folders) })
	}
}

func alerts(t *testing.T, name string, folders []string) {
	groups, errs := rulefmt.ParseFile("../"+name, false, model.UTF8Validation)
	for _, err := range errs {
		t.Error(err)
	}
	if groups == nil {
		return
	}
	offered, shown := offer(t, folders), regexp.MustCompile(`\$labels\.(\w+)`)
	rules := 0
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			rules++
			given := judged(t, rule.Alert, rule.Expr, offered)
			for _, text := range rule.Annotations {
				wanted(t, rule.Alert, text, shown, given)
			}
		}
	}
	if rules == 0 {
		t.Error("no rules")
	}
}
