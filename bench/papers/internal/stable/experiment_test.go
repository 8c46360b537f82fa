package stable

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// TestTable2 makes a small copy of the first two parts of Table 2. The order of the
// methods must be the printed one in all rows, and so must the Bloom filter's
// rates, within 3 % and the digits that are printed.
func TestTable2(t *testing.T) {
	table, err := measureTable2(t.Context(), datasets()[:2], []int{1, 64}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) != 10 {
		t.Fatalf("%d rows, want 10", len(table.Rows))
	}
	for _, row := range table.Rows {
		if best := row.Cells[5]; best.Ours != best.Printed {
			t.Errorf("%s: SBF misses least: %v, printed %v", row.Name, best.Ours, best.Printed)
		}
		if bloom := row.Cells[4]; math.Abs(bloom.Ours-bloom.Printed) > 0.03*bloom.Printed+0.101 {
			t.Errorf("%s: Bloom filter's FPR %.3f %%, printed %v %%", row.Name, bloom.Ours, bloom.Printed)
		}
	}
}

// TestMissRate holds the measurements of Figures 1 and 2 against the closed form:
// within 6 standard deviations of the count and a relative 1 %.
func TestMissRate(t *testing.T) {
	const n, gap = 100_000, 1000
	for _, s := range []setting{{1, 1, 0.1}, {3, 2, 0.1}, {7, 3, 0.1}} {
		model, err := s.model(30_000, 3)
		if err != nil {
			t.Fatal(err)
		}
		want, err := model.FNR(gap)
		if err != nil {
			t.Fatal(err)
		}
		got, err := missRate(t.Context(), model, gap, n)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got-want) > 6*math.Sqrt(want*(1-want)*2/n)+0.01*want {
			t.Errorf("%s: %.5f missed, closed form %.5f", s, got, want)
		}
	}
}

func TestZerosAt(t *testing.T) {
	model := theory.Stable{Cells: 50_000, K: 3, P: 10, Max: 1}
	times := []int{1000, 5000, 20_000}
	zeros := make([]float64, len(times))
	if err := zerosAt(t.Context(), model, newDistinctTrace(20_000), times, zeros); err != nil {
		t.Fatal(err)
	}
	for i, n := range times {
		want, err := model.ZerosAfter(n)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(zeros[i]-want) > 0.02 {
			t.Errorf("%.4f zeros after %d, closed form %.4f", zeros[i], n, want)
		}
	}
}

// TestParameters requires every printed K and P.
func TestParameters(t *testing.T) {
	table, err := Experiment().Run(t.Context(), "p0.parameters", result.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range table.Rows {
		for i, cell := range row.Cells {
			if cell.HasPrinted() && cell.Ours != cell.Printed {
				t.Errorf("%s, %s: %v, printed %v", row.Name, table.Columns[i], cell.Ours, cell.Printed)
			}
		}
	}
}

func TestRunErrors(t *testing.T) {
	e := Experiment()
	if _, err := e.Run(t.Context(), "p0.table1", result.Options{Workers: 1}); err == nil {
		t.Error("no error for a table that is not there")
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range e.Tables {
		_, err := e.Run(done, name, result.Options{Workers: 1})
		if name != "p0.parameters" && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want %v", name, err, context.Canceled)
		}
	}
}
