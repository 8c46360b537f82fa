package stable

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// made makes a table at its default size.
func made(t *testing.T, name string) result.Table {
	t.Helper()
	table, err := Experiment().Run(t.Context(), name, result.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestTraces checks that elements are numbered by their first occurrence, and that
// gaps are what they should be.
func TestTraces(t *testing.T) {
	repeating, err := crawl(t.Context(), 20_000, 3)
	if err != nil {
		t.Fatal(err)
	}
	for name, tr := range map[string]trace{
		"distinct": distinctTrace(1000), "crawl": repeating,
		"Zipf": zipfTrace(20_000, 5000, 1, 3), "gap": lagTrace(20_000, 8, 8, 3), "gaps": lagTrace(20_000, 1, 90, 3),
	} {
		last := map[uint32]int{}
		for i, element := range tr {
			before, known := last[element]
			if !known && int(element) != len(last) {
				t.Fatalf("%s: element %d is new and called %d, want %d", name, i, element, len(last))
			}
			if known && (name == "gap" && i-before != 8 || name == "gaps" && i-before > 90) {
				t.Fatalf("%s: a lag of %d", name, i-before)
			}
			last[element] = i
		}
	}
}

// TestScore compares with a plain loop over a map.
func TestScore(t *testing.T) {
	tr := zipfTrace(3*batchSize+17, 50_000, 1, 3)
	const from = batchSize + 5
	c := config(theory.Stable{Cells: 20_000, K: 2, P: 4, Max: 1})
	got, err := tr.rates(t.Context(), c, from)
	if err != nil {
		t.Fatal(err)
	}
	f, err := paper.NewStable(c)
	if err != nil {
		t.Fatal(err)
	}
	var want stream.Score
	known := map[uint32]bool{}
	for i, element := range tr {
		if seen := f.TestAndSet(stream.Digest(uint64(element))); i >= from {
			want.Add(known[element], seen)
		}
		known[element] = true
	}
	if got != want || got.FalsePositives == 0 || got.FalseNegatives == 0 {
		t.Errorf("counted %+v, want %+v", got, want)
	}
}

// TestTable2 makes a small copy of the first two parts of Table 2.
//
// The Bloom filter's rates must be the printed ones within 3 % and the digits printed:
// they depend on the number of distinct elements alone. Those of the SBF depend on the
// order of the paper's stream, of which only the stack distances are known. In the two
// smallest memories, for which nearly the whole distribution of distances counts, they
// must be within 15 %. In the next two, where the start of the stream matters, the miss
// rate must be below the printed one by at most 30 %, and the false positive rate, which
// falls with memory, within 20 % and the digits. In the largest memory the printed rates
// have one digit.
func TestTable2(t *testing.T) {
	table, err := measureTable2(t.Context(), datasets()[:2], []int{1, 64}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) != 10 {
		t.Fatalf("%d rows, want 10", len(table.Rows))
	}
	const digits = 0.0501
	for i, row := range table.Rows {
		require := func(what string, c result.Cell, below, above, digits float64) {
			t.Helper()
			if d := c.Ours - c.Printed; d < -below*c.Printed-digits || d > above*c.Printed+digits {
				t.Errorf("%s: %s is %.3f %%, printed %v %%", row.Name, what, c.Ours, c.Printed)
			}
		}
		require("Bloom filter's FPR", row.Cells[2], .03, .03, 2*digits)
		switch i % 5 {
		case 0, 1:
			require("SBF's FNR", row.Cells[0], .15, .15, digits)
			require("SBF's FPR", row.Cells[1], .15, .15, digits)
		case 2, 3:
			require("SBF's FNR", row.Cells[0], .30, .02, digits)
			require("SBF's FPR", row.Cells[1], .20, .20, digits)
		default:
			require("SBF's FNR", row.Cells[0], .40, .10, digits)
		}
		// The stream is drawn so that buffers miss as printed where memory is small:
		// 5 standard deviations of the count are 0.6 %.
		if printed := datasets()[i/5].rows[i%5].bufferFNR; i%5 < 2 && i >= 5 && math.Abs(row.Cells[3].Ours-printed) > 0.8 {
			t.Errorf("%s: a buffer misses %.2f %%, printed %v %%", row.Name, row.Cells[3].Ours, printed)
		}
	}
}

// TestMissRate holds the measurements of Figures 1 and 2 against the closed form:
// within 6 standard deviations of the count and a relative 1 %, for cells that
// neighboring elements share.
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

// TestZerosAt allows 2 % of the cells: their states depend on each other, so that a share
// of 50,000 has a standard deviation of some 0.4 %.
func TestZerosAt(t *testing.T) {
	model := theory.Stable{Cells: 50_000, K: 3, P: 10, Max: 1}
	times, zeros := []float64{1000, 5000, 20_000}, make([]float64, 3)
	if err := zerosAt(t.Context(), model, distinctTrace(20_000), times, zeros); err != nil {
		t.Fatal(err)
	}
	for i, n := range times {
		want, err := model.ZerosAfter(int(n))
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(zeros[i]-want) > 0.02 {
			t.Errorf("%.4f zeros after %v, closed form %.4f", zeros[i], n, want)
		}
	}
}

// TestParameters requires every printed P, and every printed K but where the best is
// another; there the nearest printed K may miss a fifth more. These are computed, not
// measured, so nothing is allowed for.
func TestParameters(t *testing.T) {
	others := map[string][]float64{ // the best K at each level of misses
		"Max 1, FPS 20 %": {1, 1, 1, 4},
		"Max 1, FPS 10 %": {2, 2, 2, 2},
		"Max 1, FPS 1 %":  {3, 3, 3, 3},
		"Max 3, FPS 10 %": {3, 2, 2, 3},
		"Max 3, FPS 1 %":  {6, 4, 4, 4},
		"Max 15, FPS 1 %": {6, 6, 6, 6},
	}
	for _, row := range made(t, "p0.parameters").Rows {
		for level, want := range others[row.Name] {
			k, more := row.Cells[2*level], row.Cells[2*level+1]
			if k.Ours != want || k.Ours == k.Printed && more.Ours != 0 || !(more.Ours >= 0 && more.Ours < 20) {
				t.Errorf("%s, %g missed: K = %v, %.3g %% more with %v, want %v", row.Name, missLevels[level], k.Ours, more.Ours, k.Printed, want)
			}
		}
		if p := row.Cells[len(row.Cells)-2]; p.HasPrinted() && p.Ours != p.Printed {
			t.Errorf("%s: P = %v, printed %v", row.Name, p.Ours, p.Printed)
		}
	}
}

// TestBestMax: misses are as Eq. 15 has them, within 4 % and 5 standard deviations of a
// count, for the frequent elements that it does not know of. None of the three misses fewer
// than the chosen Max by more than 1 %, and all keep the bound.
func TestBestMax(t *testing.T) {
	if testing.Short() {
		t.Skip("a second of filters")
	}
	want := []float64{7, 1, 3, 1}
	for i, row := range made(t, "p0.max").Rows {
		chosen := row.Cells[0].Ours
		if chosen != want[i] {
			t.Errorf("%s: Max %v is chosen, want %v", row.Name, chosen, want[i])
		}
		least, ours := math.Inf(1), 0.0
		for j, top := range []float64{1, 3, 7} {
			c := row.Cells[1+5*j:]
			expected, missed, fpr := c[2].Ours/100, c[3].Ours/100, c[4].Ours/100
			if math.Abs(missed-expected) > 0.04*expected+5*math.Sqrt(expected/100_000) {
				t.Errorf("%s, Max %v: %.5f missed, Eq. 15 has %.5f", row.Name, top, missed, expected)
			}
			if fpr > 0.05+5*math.Sqrt(0.05/100_000) {
				t.Errorf("%s, Max %v: a false positive rate of %.4f", row.Name, top, fpr)
			}
			if least = min(least, missed); top == chosen {
				ours = missed
			}
		}
		if ours > 1.01*least {
			t.Errorf("%s: Max %v is chosen and misses %.5f, the best misses %.5f", row.Name, chosen, ours, least)
		}
	}
}

// TestFrequency: without the element's own share Eq. 19 is the measured rate within 3 %,
// 4 standard deviations of three runs of some 200,000 repetitions whose cells are few;
// with it the rate is less than 0.7 times that.
func TestFrequency(t *testing.T) {
	if testing.Short() {
		t.Skip("a second of filters")
	}
	for _, row := range made(t, "p0.frequency").Rows {
		measured, without, with := row.Cells[1].Ours, row.Cells[2].Ours, row.Cells[3].Ours
		if math.Abs(measured/without-1) > 0.03 || with > 0.7*measured {
			t.Errorf("f/N %s: %.3f %% missed, Eq. 19 has %.3f %% without and %.3f %% with f/N", row.Name, measured, without, with)
		}
	}
}

// TestApart: adjacent and independent cells have the same rates within 3 % and twice the
// spread of the seeds.
func TestApart(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of filters")
	}
	for _, row := range made(t, "p0.cells").Rows {
		for i := 0; i < 4; i += 2 {
			a, b := row.Cells[i], row.Cells[i+1]
			if math.Abs(a.Ours-b.Ours) > 0.03*a.Ours+2*(a.Spread+b.Spread) {
				t.Errorf("%s: %.4f %% with adjacent cells, %.4f %% with others", row.Name, a.Ours, b.Ours)
			}
		}
	}
}

// TestTime: an element costs as much in a thousand cells as in a billion, but for one.
func TestTime(t *testing.T) {
	for _, row := range made(t, "p0.time").Rows {
		first, last := row.Cells[0].Ours, row.Cells[len(row.Cells)-1].Ours
		if first < last || first > last+1 {
			t.Errorf("%s: %v cells in the smallest filter, %v in the largest", row.Name, first, last)
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
		if name != "p0.parameters" && name != "p0.time" && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want %v", name, err, context.Canceled)
		}
	}
}
