package result

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
)

func sample() Table {
	return Table{
		Name: "p9.table1", Title: "Rates", Setting: "1000 elements.", Corner: "memory",
		Columns: []string{"SBF", "BSBF"},
		Rows: []Row{
			{"8 MB", []Cell{Compared(1.01, 1, "%"), Measured(0.00001234, "%")}},
			{"64 MB", []Cell{Compared(0, 0, "%"), {Blank: true}}},
		},
		Notes: []string{"One is too high."},
	}
}

func TestMarkdown(t *testing.T) {
	text := sample().Markdown("charts")
	for _, want := range []string{
		"### p9.table1: Rates\n", "| memory | SBF | BSBF |\n|---|---|---|\n",
		"| 8 MB | 1 → 1.010 % (+1.0 %) | 1.234e-05 % |\n", "| 64 MB | 0 → 0 % |  |\n",
		"1 printed numbers; relative difference: median 1.00 %, at most 1.0 %.\n", "- One is too high.\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestJSON(t *testing.T) {
	var out bytes.Buffer
	if err := WriteJSON(&out, []Table{sample()}); err != nil {
		t.Fatal(err)
	}
	var tables []jsonTable
	if err := json.Unmarshal(out.Bytes(), &tables); err != nil {
		t.Fatal(err)
	}
	cells := tables[0].Cells
	if len(cells) != 3 {
		t.Fatalf("%d cells, want 3", len(cells))
	}
	if d := cells[0].Difference; d == nil || math.Abs(*d-0.01) > 1e-12 {
		t.Errorf("difference %v, want 0.01", d)
	}
	if cells[1].Paper != nil || cells[2].Difference != nil {
		t.Errorf("undefined numbers are not null: %+v", cells[1:])
	}
}

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
	table := sample()
	emulated, corrected := Compared(1, 1, "%"), Compared(3, 1, "%")
	emulated.Kind, corrected.Kind = Emulated, Corrected
	table.Rows = append(table.Rows, Row{"two", []Cell{Compared(1.03, 1, "%"), emulated, corrected}})
	want := "3 printed numbers. 2 of methods as described; relative difference: median 2.00 %, at most 3.0 %. " +
		"1 with faults of the authors' program emulated: median 0.00 %, at most 0.0 %; the same methods without these faults: median 200.00 %, at most 200.0 %."
	if got := table.Summary(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestParallel(t *testing.T) {
	var sum atomic.Int64
	if err := Parallel(t.Context(), 100, 3, func(i int) error { sum.Add(int64(i)); return nil }); err != nil {
		t.Fatal(err)
	}
	if sum.Load() != 4950 {
		t.Errorf("sum %d, want 4950", sum.Load())
	}
	broken := errors.New("broken")
	if err := Parallel(t.Context(), 100, 3, func(i int) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Parallel(done, 1e9, 1, func(int) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}
