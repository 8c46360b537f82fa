package biased

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
)

// tableOf returns one of the tables.
func tableOf(t *testing.T, name string) table {
	t.Helper()
	for _, table := range tables() {
		if table.name == name {
			return table
		}
	}
	t.Fatalf("no table %s", name)
	return table{}
}

// TestPrinted checks the numbers' shape, and that Tables 1 to 3 and Table 8 agree
// where they print the same run: k = 2 at 128 and 512 MB, but for one of two numbers being
// rounded to four decimals.
func TestPrinted(t *testing.T) {
	all := map[string]table{}
	for _, table := range tables() {
		all[table.name] = table
		for _, m := range table.memories {
			if len(m.fpr) != len(table.methods) || len(m.fnr) != len(table.methods) {
				t.Errorf("%s, %d MB: %d and %d rates for %d methods", table.name, m.megabytes, len(m.fpr), len(m.fnr), len(table.methods))
			}
		}
	}
	if len(all) != 9 {
		t.Fatalf("%d tables, want 9", len(all))
	}
	same := func(a, b float64) bool { return math.Abs(a-b) < 0.000051 }
	table8 := all["p1.table8"].memories
	for i, name := range []string{"p1.table1", "p1.table2", "p1.table3"} {
		for in, in8 := range map[int]int{1: 1, 2: 3} {
			one, eight := all[name].memories[in], table8[in8]
			if one.megabytes != eight.megabytes || !same(one.fpr[1], eight.fpr[2+i]) || !same(one.fnr[1], eight.fnr[2+i]) {
				t.Errorf("%s, %d MB: %v and %v, Table 8 has %v and %v", name, one.megabytes,
					one.fpr[1], one.fnr[1], eight.fpr[2+i], eight.fnr[2+i])
			}
		}
	}
}

// requireRates holds the cells of a table against the printed ones: within 4 standard
// deviations of their count, 1 % for filters of a thousandth of the size, and 2 % more for
// the miss rates that the authors' program has lower (see addClosedForm). No rate may be
// allowed to be more than a tenth off: a test of that rate would say little.
func requireRates(t *testing.T, name string, scale int) result.Table {
	t.Helper()
	table := tableOf(t, name)
	made, err := table.make(t.Context(), result.Options{Workers: 2}, scale, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := table.size(scale)
	for _, row := range made.Rows {
		of, slack := float64(s.distinct), 0.01
		if strings.Contains(row.Name, "FNR") {
			of, slack = float64(s.elements-s.distinct), 0.03
		}
		for i, cell := range row.Cells {
			if !cell.HasPrinted() || cell.Kind == result.Corrected {
				continue
			}
			allowed := slack + 4*math.Sqrt(100/(cell.Printed*of))
			if math.Abs(cell.Difference()) > allowed || allowed > 0.1 {
				t.Errorf("%s of %s: %.4f %%, printed %.4f %%, allowed %.1f %%", row.Name, made.Columns[i], cell.Ours, cell.Printed, 100*allowed)
			}
		}
	}
	return made
}

// TestManyErrors runs a small copy of one of the tables with the most errors. With positions
// of all bits the SBF misses a seventh more at 512 MB than with those of 31 bits, whose
// rates are printed: 1.152 times as many in Table 9, 1.142 in Table 8 of the report.
func TestManyErrors(t *testing.T) {
	name, scale := "p1.table9", 1024
	if testing.Short() {
		name, scale = "p1.table8", 2048
	}
	made := requireRates(t, name, scale)
	rows := map[string]result.Cell{}
	for _, row := range made.Rows {
		rows[row.Name] = row.Cells[0]
	}
	whole, restricted := rows["512 MB, FNR"], rows["512 MB, FNR, positions of 31 bits"]
	if whole.Kind != result.Corrected || restricted.Kind != result.Emulated || whole.Ours < 1.12*restricted.Ours || whole.Ours > 1.17*restricted.Ours {
		t.Errorf("the SBF misses %.3f %%, restricted %.3f %%", whole.Ours, restricted.Ours)
	}
}

// TestTable2 has the closed form within 2 % of what is measured for full filters, where
// the printed rates are lower: some 50,000 misses of arrays of 26,000 bits or more, whose
// loads waver by half a percent.
func TestTable2(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of filters")
	}
	made := requireRates(t, "p1.table2", 512)
	for i, formula := range made.Rows[2].Cells {
		if measured := made.Rows[1].Cells[i].Ours; math.Abs(measured/formula.Ours-1) > 0.02 {
			t.Errorf("%s: %.3f %% missed, closed form %.3f %%", made.Columns[i], measured, formula.Ours)
		}
	}
}

func TestRunRepeats(t *testing.T) {
	var texts [2]string
	for i := range texts {
		made, err := tableOf(t, "p1.table3").make(t.Context(), result.Options{Workers: 1 + 2*i}, 1<<15, 2)
		if err != nil {
			t.Fatal(err)
		}
		if made.Rows[0].Cells[0].Spread == 0 {
			t.Error("two seeds have the same rate")
		}
		texts[i] = made.Markdown("")
	}
	if texts[0] != texts[1] {
		t.Error("a second run gives another table")
	}
}

// TestCounts interrupts a run that keeps its rows. Another goes on from there, and gives the
// table of a run in one piece.
func TestCounts(t *testing.T) {
	table := tableOf(t, "p1.table3")
	o := result.Options{Full: true, Workers: 1, Counts: filepath.Join(t.TempDir(), "counts.json")}
	table.memories = table.memories[:2]
	if _, err := table.make(t.Context(), o, 1<<15, 1); err != nil {
		t.Fatal(err)
	}
	table = tableOf(t, "p1.table3")
	done, cancel := context.WithCancel(t.Context())
	cancel()
	part, err := table.make(done, o, 1<<15, 1)
	if err != nil || len(part.Rows) != 5 { // two memories, and a closed form
		t.Fatalf("%d rows, error %v", len(part.Rows), err)
	}
	if none, err := tableOf(t, "p1.table1").make(done, o, 1<<15, 1); err != nil || len(none.Rows) != 0 || len(none.Notes) != 1 {
		t.Errorf("a table without rows: %+v, error %v", none, err)
	}
	rest, err := table.make(t.Context(), o, 1<<15, 1)
	if err != nil {
		t.Fatal(err)
	}
	o.Counts = ""
	whole, err := table.make(t.Context(), o, 1<<15, 1)
	if err != nil {
		t.Fatal(err)
	}
	rest.Notes = rest.Notes[:len(whole.Notes)] // without those of the times
	if rest.Markdown("") != whole.Markdown("") {
		t.Error("a run in two parts gives another table")
	}
}

// TestFigures holds ends of lines against the printed tables, within 1 % and 4 standard
// deviations of the count of errors, which are 100 at least.
func TestFigures(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of filters")
	}
	for _, f := range figures {
		made, err := f.make(t.Context(), result.Options{Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		s := newSize(f.millions, f.percent, figureScale)
		compared := 0
		for _, row := range made.Rows {
			of, cell := float64(s.distinct), row.Cells[shown-1]
			if strings.HasSuffix(row.Name, "FNR") {
				of = float64(s.elements - s.distinct)
			}
			if !cell.HasPrinted() {
				continue
			}
			compared++
			if events := of * cell.Printed / 100; math.Abs(cell.Difference()) > 0.01+4/math.Sqrt(events) || events < 100 {
				t.Errorf("%s, %s: %.4f %%, printed %.4f %%", f.name, row.Name, cell.Ours, cell.Printed)
			}
			if row.Cells[0].Ours <= 0 {
				t.Errorf("%s, %s begins with %v", f.name, row.Name, row.Cells[0].Ours)
			}
		}
		if want := map[bool]int{true: 0, false: 8}[f.table == ""]; compared < want {
			t.Errorf("%s: %d rates compared", f.name, compared)
		}
	}
}

// TestFigurePoints compares points of a line with the scores of streams that end there: the
// first elements of the figure's. A point may be one element late, of each twentieth.
func TestFigurePoints(t *testing.T) {
	f := figure{millions: 1000, percent: 60, megabytes: []int{128}, table: "p1.table8"}
	s := newSize(f.millions, f.percent, 20_001) // no multiple of the number of points
	lines, err := f.lines(t.Context(), 128, s)
	if err != nil {
		t.Fatal(err)
	}
	filters, err := build(rivals(), 128, s, 0)
	if err != nil {
		t.Fatal(err)
	}
	var score stream.Score
	p := 0
	err = s.run(t.Context(), 0, s.elements, filters[2:3], func(_ int, known, seen []bool) {
		score.Add(known[0], seen[0])
		if done := score.Distinct + score.Duplicates; done*points/s.elements > p {
			if got := lines[2].values[p]; math.Abs(got-score.FPR()) > 0.01*score.FPR() {
				t.Errorf("%s is %.5f at point %d, %.5f after %d elements", lines[2].name, got, p, score.FPR(), done)
			}
			p++
		}
	})
	if err != nil || p != points {
		t.Errorf("%d points, error %v", p, err)
	}
}

// TestRecurrence has the closed form within 0.01 and 3 % of the measured X, whose filters
// have 20,000 bits: five standard deviations. The printed recurrences are above both
// everywhere, and by half at least at the end, but for BSBFSD, which fills up.
func TestRecurrence(t *testing.T) {
	made, err := recurrence(t.Context(), result.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(made.Rows); i += 3 {
		for j := range made.Columns {
			printed, measured, closed := made.Rows[i].Cells[j].Ours, made.Rows[i+1].Cells[j].Ours, made.Rows[i+2].Cells[j].Ours
			if math.Abs(measured-closed) > 0.01+0.03*closed || printed < closed {
				t.Errorf("%s at %s: %.4f, closed form %.4f, printed %.4f", made.Rows[i+1].Name, made.Columns[j], measured, closed, printed)
			}
			last := j == len(made.Columns)-1
			if fills := strings.HasPrefix(made.Rows[i].Name, "BSBFSD"); last && !fills && printed < 1.5*closed {
				t.Errorf("%s ends at %.4f, closed form %.4f", made.Rows[i].Name, printed, closed)
			}
		}
	}
}

func TestRunErrors(t *testing.T) {
	if _, err := Experiment().Run(t.Context(), "p1.table10", result.Options{Workers: 1}); err == nil {
		t.Error("no error for a table that is not there")
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{"p1.table1", "p1.figure2", "p1.recurrence"} {
		if _, err := Experiment().Run(done, name, result.Options{Workers: 1}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want %v", name, err, context.Canceled)
		}
	}
}
