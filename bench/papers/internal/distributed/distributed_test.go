package distributed

import (
	"context"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// quick are the tables that take less than a second.
var quick = []string{"p4.figure1b", "p4.figure5d", "p4.figure12", "p4.table1"}

func makeTable(t *testing.T, name string) result.Table {
	t.Helper()
	table, err := Experiment().Run(context.Background(), name, result.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestTables makes the quick tables: every row has a cell for each column, every number
// is finite and every chart can be drawn.
func TestTables(t *testing.T) {
	for _, name := range quick {
		table := makeTable(t, name)
		if table.Name != name || len(table.Rows) == 0 || len(table.Notes) == 0 {
			t.Errorf("%s: named %q, %d rows, %d notes", name, table.Name, len(table.Rows), len(table.Notes))
		}
		for _, row := range table.Rows {
			if len(row.Cells) != len(table.Columns) {
				t.Errorf("%s, row %s: %d cells for %d columns", name, row.Name, len(row.Cells), len(table.Columns))
			}
			for i, cell := range row.Cells {
				if math.IsNaN(cell.Ours) || math.IsInf(cell.Ours, 0) {
					t.Errorf("%s, row %s, %s: %g", name, row.Name, table.Columns[i], cell.Ours)
				}
			}
		}
		for _, picture := range table.Charts {
			if err := picture.Chart.SVG(io.Discard); err != nil || !strings.HasPrefix(picture.File, "p4-") {
				t.Errorf("%s, chart %q: %v", name, picture.File, err)
			}
		}
	}
}

func TestExperimentNames(t *testing.T) {
	e := Experiment()
	if len(e.Tables) != len(makers) {
		t.Errorf("%d tables listed, %d made", len(e.Tables), len(makers))
	}
	for _, name := range e.Tables {
		if makers[name] == nil || !strings.HasPrefix(name, e.Paper+".") {
			t.Errorf("%s is listed", name)
		}
	}
	if _, err := e.Run(context.Background(), "p4.figure99", result.Options{}); err == nil {
		t.Error("no error for a figure that there is not")
	}
}

// TestTable1Order checks the order in the paper's Table 1, which is all that another
// stream can have in common with the web log.
func TestTable1Order(t *testing.T) {
	table := makeTable(t, "p4.table1")
	root, leaves := table.Rows[0].Cells, table.Rows[1].Cells
	const denseHits, sparseHits, denseAccesses, sparseAccesses = 0, 1, 2, 3
	if leaves[denseHits].Ours <= root[denseHits].Ours || leaves[sparseHits].Ours >= root[sparseHits].Ours {
		t.Errorf("hits at the root %v and leaves %v", root[:2], leaves[:2])
	}
	for _, level := range table.Rows {
		if level.Cells[denseAccesses].Ours >= level.Cells[sparseAccesses].Ours {
			t.Errorf("%s: accesses %v", level.Name, level.Cells[2:])
		}
	}
}

// TestStreams: a stream has the data set's number of distinct events within six
// standard deviations, whose square is at most the expected number.
func TestStreams(t *testing.T) {
	for _, data := range []dataset{webLog, synthetic, syntheticUniform, yahoo} {
		n := data.domain()
		if expectedDistinct(n, data.alpha) < float64(data.distinct) || expectedDistinct(n-1, data.alpha) >= float64(data.distinct) {
			t.Errorf("%s: %d ids are not the least number", data.name, n)
		}
		drawn := data.draw(1)
		known, distinct := stream.NewKnown(drawn.domain), 0
		for _, id := range drawn.ids[0] {
			if !known.Add(id) {
				distinct++
			}
		}
		if len(drawn.ids[0]) != events || math.Abs(float64(distinct-data.distinct)) > 6*math.Sqrt(float64(data.distinct)) {
			t.Errorf("%s: %d of %d events are distinct, want about %d", data.name, distinct, len(drawn.ids[0]), data.distinct)
		}
	}
}

// TestMeasuredRates compares the means of the runs with the closed form, within six
// standard deviations of the false positives' number.
func TestMeasuredRates(t *testing.T) {
	var jobs []job
	for _, way := range slicings {
		config := paper.SlicedConfig{Bits: synthetic.bits[2], K: hashes, Slices: 100}
		jobs = append(jobs, job{data: synthetic, way: way, config: config})
	}
	o := result.Options{Workers: 2}
	outcomes, err := measure(context.Background(), o, jobs)
	if err != nil {
		t.Fatal(err)
	}
	for i, j := range jobs {
		want, err := j.expectedFPR()
		if err != nil {
			t.Fatal(err)
		}
		if bound := 6 * math.Sqrt(want/float64(runs(o)*synthetic.distinct)); math.Abs(outcomes[i].fpr-want) > bound {
			t.Errorf("%v: false positive rate %.4f, want %.4f +- %.4f", j.way, outcomes[i].fpr, want, bound)
		}
	}
	v, h := outcomes[0], outcomes[1]
	if v.fairness <= h.fairness || v.maxLoad >= h.maxLoad || v.accesses <= 3 || math.Abs(h.accesses-1) > 1e-9 {
		t.Errorf("vertical %+v, horizontal %+v", v, h)
	}
}

// TestProbes compares measured failures with the closed forms: six standard
// deviations of a binomial number.
func TestProbes(t *testing.T) {
	var failures []failure
	for _, way := range slicings {
		config := paper.SlicedConfig{Bits: webLog.bits[0], K: hashes, Slices: 40, AtLeast: 2}
		failures = append(failures, failure{way: way, config: config, failed: 10})
	}
	o := result.Options{Workers: 2}
	measured, err := probe(context.Background(), o, failures)
	if err != nil {
		t.Fatal(err)
	}
	trials := float64(probes * probeRuns * runs(o))
	for i, f := range failures {
		want, err := f.expected()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name      string
			got, want float64
		}{{"FPR", measured[i].fpr, want.fpr}, {"FNR", measured[i].fnr, want.fnr}} {
			p := c.want / 100
			if bound := 600 * math.Sqrt(p*(1-p)/trials); math.Abs(c.got-c.want) > bound {
				t.Errorf("%v: %s %.3f %%, want %.3f +- %.3f", f.way, c.name, c.got, c.want, bound)
			}
		}
	}
}
