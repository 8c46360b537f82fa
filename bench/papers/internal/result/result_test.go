// SPDX-License-Identifier: Apache-2.0

package result

import (
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/bench/papers/chart"
)

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 12: "12", 999999: "999999", 53.26812: "53.27", 0.5: "0.5000", 1234.56: "1235", 1e7: "1.000e+07",
	} {
		if got := number(v); got != want {
			t.Errorf("number(%v) = %q, want %q", v, got, want)
		}
	}
}

// TestSummary: emulated faults count apart, and the median of two is their mean.
func TestSummary(t *testing.T) {
	table := Table{Rows: []Row{{"one", []Cell{Compared(1.01, 1, "%"), Compared(0, 0, "%"), {Blank: true}}}}}
	emulated, corrected := Compared(1, 1, "%"), Compared(3, 1, "%")
	emulated.Kind, corrected.Kind = Emulated, Corrected
	table.Rows = append(table.Rows, Row{"two", []Cell{Compared(1.03, 1, "%"), emulated, corrected}})
	want := "3 printed numbers. 2 of methods as described; relative difference: median 2.00 %, at most 3.0 %. " +
		"1 with faults of the authors' program emulated: median 0.00 %, at most 0.0 %; the same methods without these faults: median 200.00 %, at most 200.0 %."
	if got := table.Summary(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestNew reads a table's text, fills it in and makes it.
func TestNew(t *testing.T) {
	const text = "# Nine\n\n### p9.table1: Rates of {}\n\nOf {} elements.\n\n| memory | SBF | BSBF |\n|---|---|---|\n| 8 MB | 1.5 | |\n| 64 MB | 0 | |\n| more |\n\n" +
		"- At {%.1f} %.\n\n![Rates](../p9-1.svg) memory, log; rate, %, log\n\n### p9.empty: None\n"
	e := New("p9", text, map[string]Maker{"table1": func(o Options, t *Table) {
		t.Say("two", o.Size(8, 16), 0.25)
		t.Fill("%", func(row, column int) float64 { return float64(o.Size(0, 3) + column - 3*row) })
		t.Rows[2].Cells = []Cell{Measured(0.00001234, ""), {Blank: true}}
		t.Draw(0, chart.Line{Name: "rate"})
	}})
	if e.Title != "Nine" || !slices.Equal(e.Tables, []string{"p9.table1", "p9.empty"}) {
		t.Fatalf("%+v", e)
	}
	table := e.Make("p9.table1", Options{Full: true})
	want := "### p9.table1: Rates of two\n\nOf 16 elements.\n\n| memory | SBF | BSBF |\n|---|---|---|\n| 8 MB | 1.500 → 3 % (+100.0 %) | 4 % |\n| 64 MB | 0 → 0 % | 1 % |\n| more | 1.234e-05 |  |\n\n" +
		"1 printed numbers; relative difference: median 100.00 %, at most 100.0 %.\n\n- At 0.2 %.\n\n![Rates](charts/p9-1.svg)\n\n"
	if got := table.Markdown("charts"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if c := table.Charts[0].Chart; c.X != "memory" || c.Y != "rate, %" || !c.LogX || !c.LogY || len(c.Lines) != 1 {
		t.Errorf("chart %+v", c)
	}
}

func TestGrid(t *testing.T) {
	got := Grid(Options{Workers: 2}, 2, 3, func(row, column int) int { return 10*row + column })
	if want := [][]int{{0, 1, 2}, {10, 11, 12}}; !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAddColumn(t *testing.T) {
	table := Table{Rows: []Row{MeasuredRow("first", "%", 1), MeasuredRow("second", "%", 2)}, Columns: []string{"a"}}
	table.AddColumn("b", Cells("", 3)...)
	table.Rows[0] = table.Rows[0].And("%", 4)
	if cells := table.Rows[0].Cells; len(cells) != 3 || cells[1].Ours != 3 || cells[2].Unit != "%" || !table.Rows[1].Cells[1].Blank {
		t.Errorf("rows %+v", table.Rows)
	}
}
