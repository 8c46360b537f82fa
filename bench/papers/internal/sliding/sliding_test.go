package sliding

import (
	"context"
	"errors"
	"io"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// short returns short streams.
func short(events int) *source {
	s := newSource()
	s.events, s.seeds = events, 1
	return s
}

// TestTables checks the form of all tables, and that the number of workers changes
// nothing.
func TestTables(t *testing.T) {
	for _, name := range Experiment().Tables {
		s := short(3000)
		table, err := figure(context.Background(), name, s, 2)
		if err != nil {
			t.Fatal(err)
		}
		if table.Name != name || len(table.Rows) == 0 || len(table.Charts) == 0 || len(table.Notes) == 0 {
			t.Errorf("%s: %d rows, %d charts, %d notes of %s", name, len(table.Rows), len(table.Charts), len(table.Notes), table.Name)
		}
		files := map[string]bool{}
		for _, p := range table.Charts {
			if err := p.Chart.SVG(io.Discard); err != nil || files[p.File] {
				t.Errorf("%s, chart %s: %v, or named twice", name, p.File, err)
			}
			files[p.File] = true
		}
		requireRows(t, table)
		again, err := figure(context.Background(), name, s, 1)
		if err != nil || !reflect.DeepEqual(values(again), values(table)) {
			t.Errorf("%s differs with one worker, error %v", name, err)
		}
	}
}

func requireRows(t *testing.T, table result.Table) {
	t.Helper()
	names := map[string]bool{}
	for _, row := range table.Rows {
		if len(row.Cells) != len(table.Columns) || names[row.Name] {
			t.Errorf("%s, row %s: %d cells for %d columns, or named twice", table.Name, row.Name, len(row.Cells), len(table.Columns))
		}
		names[row.Name] = true
		for _, cell := range row.Cells {
			if math.IsNaN(cell.Ours) || cell.Ours < 0 || cell.Unit == "%" && cell.Ours > 100 {
				t.Errorf("%s, row %s: %g %s", table.Name, row.Name, cell.Ours, cell.Unit)
			}
		}
	}
}

func values(table result.Table) (all []float64) {
	for _, row := range table.Rows {
		for _, cell := range row.Cells {
			all = append(all, cell.Ours)
		}
	}
	return all
}

// TestEqualTimersBalance checks what the paper's text says: k' = 2 is enough for a
// vertical filter, and takes k' = 3 in horizontal slices.
func TestEqualTimersBalance(t *testing.T) {
	s := short(30_000)
	runs := equalRuns(1000)
	results, err := runAll[equalRun, equalResult](context.Background(), s, 2, []equalRun{runs[0], runs[1], runs[equalK], runs[equalK+1], runs[equalK+2]})
	if err != nil {
		t.Fatal(err)
	}
	v1, v2, h1, h2, h3 := results[0].score, results[1].score, results[2].score, results[3].score, results[4].score
	if v1.FalseNegatives != 0 || h1.FalseNegatives != 0 {
		t.Errorf("without the heuristic %d and %d are missed", v1.FalseNegatives, h1.FalseNegatives)
	}
	if v2.FPR() > v1.FPR()/5 || v2.FNR() > .02 {
		t.Errorf("V, k' = 2: FPR %.4f after %.4f, FNR %.4f", v2.FPR(), v1.FPR(), v2.FNR())
	}
	if h2.FPR() < h1.FPR()/2 || h3.FPR() > h1.FPR()/2 || h3.FNR() > .05 {
		t.Errorf("H: FPR %.4f, %.4f, %.4f, FNR %.4f", h1.FPR(), h2.FPR(), h3.FPR(), h3.FNR())
	}
	if total := groupsTotal(results[0]); total != s.events {
		t.Errorf("%d events in groups, want %d", total, s.events)
	}
}

func groupsTotal(r equalResult) (total int) {
	for _, g := range r.groups {
		total += g.Distinct + g.Duplicates
	}
	return total
}

// TestBursts checks that filters are added in a burst and discarded after it, near the
// numbers of the closed form.
func TestBursts(t *testing.T) {
	s := short(30_000)
	runs := burstRunsOf(500, 500)
	results, err := runAll[burstRun, burstResult](context.Background(), s, 2, runs)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range runs {
		b := &results[i]
		for p, rate := range []int{1, r.burst, 1} {
			want, _, err := r.predict(s, rate)
			if err != nil {
				t.Fatal(err)
			}
			if got := b.phases[p].mean(); math.Abs(got-want) > .15*want {
				t.Errorf("%s, phase %d: %.3f filters, closed form %.3f", r.name(), p, got, want)
			}
		}
		if r.rule == paper.ByDensity && (b.phases[before].most != 1 || b.phases[after].most != 1) {
			t.Errorf("%s: %d and %d filters without a burst", r.name(), b.phases[before].most, b.phases[after].most)
		}
		if b.backIn > uint64(3*r.window) {
			t.Errorf("%s: %d units until as before", r.name(), b.backIn)
		}
	}
}

func TestUnits(t *testing.T) {
	r := burstRun{window: 2, burst: 5}
	const n = 36 // thirds of 12; the burst takes 3 units, the last of 2 events
	var units []uint64
	var parts []int
	for i := range n {
		units = append(units, r.unit(i, n))
		parts = append(parts, r.phaseOf(i, n))
	}
	if want := []uint64{11, 12, 12, 12, 12, 12, 13, 13, 13, 13, 13, 14, 14, 15, 16}; !slices.Equal(units[11:26], want) {
		t.Errorf("units are %v, want %v", units[11:26], want)
	}
	if first, in, last := slices.Index(parts, before), slices.Index(parts, during), slices.Index(parts, after); first != 6 || in != 22 || last != 30 {
		t.Errorf("phases begin at %d, %d and %d", first, in, last)
	}
}

func TestDeliveries(t *testing.T) {
	d := newDeliveries(10)
	if d.recent(3, 0) {
		t.Error("delivered before anything was")
	}
	d.add(3, 0)
	if !d.recent(3, 9) || d.recent(3, 10) || d.recent(4, 9) {
		t.Error("the window is not ten units")
	}
}

// The paper's sizes for k = 4 and 5700 elements are 48400, 35600 and 30000.
func TestSizes(t *testing.T) {
	for fpr, want := range map[float64]float64{.02: 48400, .05: 35600, .08: 30000} {
		if got := float64(size(4, 5700, fpr)); math.Abs(got-want) > .006*want {
			t.Errorf("%g: %g timers, want about %g", fpr, got, want)
		}
	}
	s := newSource()
	if got := s.distinct(s.events); math.Abs(got-16_850) > 1 {
		t.Errorf("%.1f distinct elements, want 16850", got)
	}
}

func TestFailures(t *testing.T) {
	if _, err := run(context.Background(), "p4.figure99", result.Options{Workers: 1}); err == nil {
		t.Error("no error for an unknown figure")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, name := range Experiment().Tables {
		if _, err := run(ctx, name, result.Options{Workers: 1}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want %v", name, err, context.Canceled)
		}
	}
}
