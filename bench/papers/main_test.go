// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/bench/papers/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
)

// samples replaces experiments() by tables that take no time, except the second of p8,
// which is interrupted.
func samples(interrupt func()) []result.Experiment {
	maker := func(_ result.Options, t *result.Table) {
		t.Fill("%", func(_, _ int) float64 { return 2 })
		t.Draw(0, chart.Line{Name: "rate", X: []float64{1, 2}, Y: []float64{3, 4}})
	}
	slow := func(result.Options, *result.Table) {
		interrupt()
		select {}
	}
	section := func(name string) string {
		return fmt.Sprintf("\n### %s: Rates of %s\n\nAll.\n\n| row | rate |\n| all | 1 |\n\n![%s](charts/%s.svg) x; y\n", name, name, name, name)
	}
	return []result.Experiment{
		result.New("p8", "# Eight\n"+section("p8.table1")+section("p8.table2"), map[string]result.Maker{"table1": maker, "table2": slow}),
		result.New("p9", "# Nine\n"+section("p9.figure1"), map[string]result.Maker{"figure1": maker}),
	}
}

// runSamples makes all tables of the samples, until one is interrupted.
func runSamples(t *testing.T, o options, without ...string) (report, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	all := samples(cancel)
	all[0].Tables = slices.DeleteFunc(all[0].Tables, func(name string) bool { return slices.Contains(without, name) })
	chosen, err := choose(all, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.run.Counts = &stream.Counts{}
	r, err := runAll(ctx, chosen, o)
	r.all = all
	return r, err
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		only []string
		want []string
	}{
		{nil, []string{"p8.table1", "p8.table2", "p9.figure1"}},
		{[]string{"p9", "p8.table1"}, []string{"p8.table1", "p9.figure1"}},
		{[]string{"p8", "p8.table2"}, []string{"p8.table1", "p8.table2"}},
	} {
		chosen, err := choose(samples(nil), c.only)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, one := range chosen {
			names = append(names, one.table)
		}
		if !slices.Equal(names, c.want) {
			t.Errorf("-only %v: %v, want %v", c.only, names, c.want)
		}
	}
	if _, err := choose(samples(nil), []string{"p8", "p7"}); !errors.Is(err, errUsage) || !strings.Contains(err.Error(), "p7") {
		t.Errorf("an unknown paper: %v", err)
	}
}

// TestReport checks that tables made before an interrupt are written.
func TestReport(t *testing.T) {
	folder := t.TempDir()
	o, err := parse([]string{"-markdown", filepath.Join(folder, "R.md"), "-charts", filepath.Join(folder, "charts")})
	if err != nil {
		t.Fatal(err)
	}
	r, err := runSamples(t, o)
	if !errors.Is(err, context.Canceled) || len(r.made) != 1 {
		t.Errorf("%d tables, error %v", len(r.made), err)
	}
	if err := r.write(o); err != nil {
		t.Fatal(err)
	}
	requireText(t, filepath.Join(folder, "R.md"), "| p8.table1 | Rates of p8.table1 | 1 printed numbers",
		"## p8: Eight\n", "1 → 2 % (+100.0 %)", "![p8.table1](charts/p8.table1.svg)")
	o.check = filepath.Join(folder, "R.md")
	if err := r.check(o); err != nil {
		t.Error(err)
	}
	r.made[0].Rows[0].Cells[0].Ours = 3
	if err := r.check(o); err == nil || !strings.Contains(err.Error(), "1 → 3 %") {
		t.Errorf("another number: %v", err)
	}
	requireText(t, filepath.Join(folder, "charts", "p8.table1.svg"), "<svg")
}

// TestKept: a table that is made again takes its place in the report, and the others stay.
func TestKept(t *testing.T) {
	r, err := runSamples(t, options{}, "p8.table2")
	if err != nil {
		t.Fatal(err)
	}
	text := r.markdown("charts", "")
	again := report{args: r.args, commit: r.commit, made: r.made[1:], all: r.all}
	if got := again.markdown("charts", text); got != text {
		t.Errorf("got\n%s\nwant\n%s", got, text)
	}
	again.made[0].Title, again.commit = "Changed", "abc"
	want := strings.ReplaceAll(text, "Rates of p9.figure1", "Changed")
	want = strings.ReplaceAll(want, "at most 100.0 % | "+r.commit+" |\n\n", "at most 100.0 % | abc |\n\n")
	if got := again.markdown("charts", text); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	again.all = r.all[1:]
	if got := again.markdown("charts", text); strings.Contains(got, "p8") {
		t.Errorf("a table that is no more stays:\n%s", got)
	}
}

func requireText(t *testing.T, name string, wanted ...string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range wanted {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s has no %q", filepath.Base(name), want)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"-workers", "0"}, {"extra"}, {"-bogus"}} {
		if _, err := parse(args); !errors.Is(err, errUsage) {
			t.Errorf("%v: %v, want wrong usage", args, err)
		}
	}
}

// TestExperiments checks that names are unique and belong to their paper.
func TestExperiments(t *testing.T) {
	known := map[string]bool{}
	for _, e := range experiments() {
		if e.Title == "" || len(e.Tables) == 0 {
			t.Errorf("%s has no title or no tables", e.Paper)
		}
		for _, table := range e.Tables {
			if known[table] || !strings.HasPrefix(table, e.Paper+".") {
				t.Errorf("%s is there twice or not of %s", table, e.Paper)
			}
			known[table] = true
		}
	}
}

// slow are the papers and tables that take more than a second or two of a processor, or
// measure time. `make papers SUITE=check` makes them too.
var slow = []string{
	"p0.table2", "p0.figure1", "p0.figure4", "p0.cells", "p0.buffers", "p0.speed", "p1.table1", "p1.table2", "p1.table3", "p1.table4", "p1.table5", "p1.table6",
	"p1.table7", "p1.table8", "p1.table9", "p1.algorithm1", "p1.phases", "p2.figure6", "p2.figure7", "p2.figure9", "p2.text",
	"p3.table2", "p3.table3", "p3.table4", "p3.table5", "p3.semisort", "p3.attack",
	"p4.figure5", "p4.figure7", "p4.figure7c", "p4.figure8", "p4.figure9", "p4.figure11", "p4.figure12c", "p4.treetimers", "p4.lemma1",
	"rivals",
}

// TestResults makes the fast tables and charts and compares them with the checked-in
// ones, which `make papers` makes anew. Other processors round otherwise.
func TestResults(t *testing.T) {
	if testing.Short() || runtime.GOARCH != "amd64" {
		t.Skip("takes half a minute of a processor, and needs amd64")
	}
	o, err := parse([]string{"-check", "RESULTS.md", "-charts", "charts"})
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := choose(experiments(), nil)
	if err != nil {
		t.Fatal(err)
	}
	isSlow := func(c choice) bool {
		return slices.Contains(slow, c.table) || slices.Contains(slow, c.experiment.Paper)
	}
	o.run.Counts = &stream.Counts{}
	r, err := runAll(t.Context(), slices.DeleteFunc(chosen, isSlow), o)
	if err := errors.Join(err, r.check(o)); err != nil {
		t.Error(err)
	}
}
