// SPDX-License-Identifier: Apache-2.0

package biased

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
)

// makeTable makes a small copy of one of the tables.
func makeTable(t *testing.T, name string, o result.Options, scale, seeds int) (table, result.Table) {
	t.Helper()
	for _, one := range tables {
		if one.name == name {
			out := result.Read(result.Section(text, "p1."+name))
			one.make(o, &out, scale, seeds)
			return one, out
		}
	}
	t.Fatalf("no table %s", name)
	return table{}, result.Table{}
}

// TestPrinted checks that Tables 1 to 3 and Table 8 agree where they print the same run:
// k = 2 at 128 and 512 MB, except that one of two numbers is rounded to four decimals.
func TestPrinted(t *testing.T) {
	rows := func(name string) []result.Row { return result.Read(result.Section(text, name)).Rows }
	eight := map[string]result.Row{}
	for _, row := range rows("p1.table8") {
		eight[row.Name] = row
	}
	for i, name := range []string{"p1.table1", "p1.table2", "p1.table3"} {
		for _, row := range rows(name)[2:] {
			if a, b := row.Cells[1].Printed, eight[row.Name].Cells[2+i].Printed; !(math.Abs(a-b) < 0.000051) {
				t.Errorf("%s, %s: %v, Table 8 has %v", name, row.Name, a, b)
			}
		}
	}
}

// requireRates compares the cells of a table with the printed ones: within 4 standard
// deviations of their count, 1 % for filters of a thousandth of the size, and 2 % more
// for the miss rates that the authors' program has lower (see addClosedForm). No rate may
// be allowed to be more than a tenth off: a test of that rate would say little.
func requireRates(t *testing.T, name string, scale int) result.Table {
	t.Helper()
	table, made := makeTable(t, name, result.Options{Workers: 2}, scale, 1)
	s := newSize(table.millions, table.percent, scale)
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

// TestManyErrors runs a small copy of one of the tables with the most errors. With
// positions of all bits the SBF misses a seventh more at 512 MB than with 31-bit
// positions, whose rates are printed: 1.152 times as many in Table 9, 1.142 in Table 8 of
// the report.
func TestManyErrors(t *testing.T) {
	name, scale := "table9", 1024
	if testing.Short() {
		name, scale = "table8", 2048
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

// TestTable2 requires the closed form within 2 % of the measured rates of full filters,
// where the printed rates are lower: some 50,000 misses of arrays of 26,000 bits or more,
// whose loads waver by half a percent.
func TestTable2(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of filters")
	}
	made := requireRates(t, "table2", 512)
	for i, formula := range made.Rows[2].Cells {
		if measured := made.Rows[1].Cells[i].Ours; math.Abs(measured/formula.Ours-1) > 0.02 {
			t.Errorf("%s: %.3f %% missed, closed form %.3f %%", made.Columns[i], measured, formula.Ours)
		}
	}
}

func TestRunRepeats(t *testing.T) {
	var texts [2]string
	for i := range texts {
		_, made := makeTable(t, "table3", result.Options{Workers: 1 + 2*i}, 1<<15, 2)
		if made.Rows[0].Cells[0].Spread == 0 {
			t.Error("two seeds have the same rate")
		}
		texts[i] = made.Markdown("")
	}
	if texts[0] != texts[1] {
		t.Error("a second run gives another table")
	}
}

// TestCounts makes two of three rows, which are kept in a file. An interrupted run makes the
// table of them. Another goes on from there, and gives the table of a run in one piece.
func TestCounts(t *testing.T) {
	o := result.Options{Full: true, Workers: 1}
	table, whole := makeTable(t, "table3", o, 1<<15, 1)
	file := filepath.Join(t.TempDir(), "counts.json")
	o.Counts = result.Must(stream.OpenCounts(file))
	o.Counts.Code = "the code of this test"
	first := result.Read(result.Section(text, "p1.table3"))
	first.Rows = first.Rows[:4]
	table.make(o, &first, 1<<15, 1)
	if o.Counts.Interrupt("p1.table1") || !o.Counts.Interrupt("p1.table3") || o.Counts.Err() != nil {
		t.Errorf("rows of another table are kept, error %v", o.Counts.Err())
	}
	_, part := makeTable(t, "table3", o, 1<<15, 1)
	if last := part.Notes[len(part.Notes)-1]; len(part.Rows) != 5 || !strings.HasPrefix(last, "Not made yet: 512 MB.") { // and a closed form
		t.Errorf("%d rows, note %q", len(part.Rows), last)
	}
	o.Counts = result.Must(stream.OpenCounts(file))
	_, rest := makeTable(t, "table3", o, 1<<15, 1)
	if kept := rest.Notes[len(whole.Notes)]; !strings.HasSuffix(kept, "kept; its code: the code of this test.") {
		t.Error(kept)
	}
	rest.Notes = rest.Notes[:len(whole.Notes)] // without the notes about times
	if rest.Markdown("") != whole.Markdown("") {
		t.Error("a run in two parts gives another table")
	}
}
