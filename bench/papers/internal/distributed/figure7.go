package distributed

import (
	"context"
	"fmt"

	"github.com/flowdedup/flowdedup/bench/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// figure7 is Figure 7(a) and (b): false positives of the synthetic and Yahoo sets.
func figure7(ctx context.Context, o result.Options) (result.Table, error) {
	table := result.Table{
		Title: "slicing: false positives of the synthetic and Yahoo sets",
		Setting: fmt.Sprintf("%d events, Zipf 1.0, %d and %d distinct ones, k = %d, m = %v and %v; false positives over all distinct events while the filter fills; mean of %d runs",
			events, synthetic.distinct, yahoo.distinct, hashes, synthetic.bits, yahoo.bits, runs(o)),
		Corner:  "slices",
		Columns: append(fprColumns("synthetic, "), fprColumns("Yahoo, ")...),
	}
	var charts []chart.Chart
	var sweeps []sweep
	for _, data := range []dataset{synthetic, yahoo} {
		s, err := measureSweep(ctx, o, data, len(targets))
		if err != nil {
			return table, err
		}
		c, err := s.fprChart()
		if err != nil {
			return table, err
		}
		sweeps, charts = append(sweeps, s), append(charts, c)
	}
	for i, slices := range sliceCounts {
		table.Rows = append(table.Rows, result.Row{
			Name:  fmt.Sprint(slices),
			Cells: append(sweeps[0].fprCells(i), sweeps[1].fprCells(i)...),
		})
	}
	table.Charts = pictures("p4-figure7", charts...)
	table.Notes = []string{
		"The number of distinct events and the filter decide these rates, not the events' popularity: a uniform synthetic stream has the same.",
		"The smaller the slices are, the more horizontal slicing costs: at 100 slices the Yahoo set's have 108 to 174 bits.",
	}
	for _, s := range sweeps {
		closed, err := s.closedFormNote()
		if err != nil {
			return table, err
		}
		table.Notes = append(table.Notes, s.data.name+". "+closed)
	}
	return table, nil
}

// shares are the distinct events of Figure 7(c)'s data sets, of all events.
var shares = []float64{.8, .5, .2}

// figure7c is Figure 7(c): slices accessed for a lookup, with pipelining and without.
func figure7c(ctx context.Context, o result.Options) (result.Table, error) {
	table := result.Table{
		Title: "pipelining: vertical slices accessed for a lookup",
		Setting: fmt.Sprintf("%d events, uniform over as many ids as make 80, 50 and 20 %% of them distinct (Zipf 1.0 has no domain of reasonable size for 80 %%), k = %d, m for 2 %%; first-test-then-set, tests counted; mean of %d runs",
			events, hashes, runs(o)),
		Corner: "slices",
	}
	counts := sliceCounts[1:]
	var jobs []job
	for _, share := range shares {
		for _, pipelined := range []bool{true, false} {
			table.Columns = append(table.Columns, fmt.Sprintf("%g %% distinct, %s", 100*share, accessMode(pipelined)))
			for _, slices := range counts {
				jobs = append(jobs, lookupJob(share, pipelined, slices))
			}
		}
	}
	outcomes, err := measure(ctx, o, jobs)
	if err != nil {
		return table, err
	}
	var x []float64
	for i, slices := range counts {
		var accesses []float64
		for column := range table.Columns {
			accesses = append(accesses, outcomes[column*len(counts)+i].accesses)
		}
		x = append(x, float64(slices))
		table.Rows = append(table.Rows, measuredRow(fmt.Sprint(slices), "", accesses...))
	}
	table.Charts = pictures("p4-figure7c", chart.Chart{
		Title: "Slices accessed for a lookup", X: "slices", Y: "slices accessed", Lines: columnLines(table, x, odd),
	})
	table.Notes = []string{
		"A duplicate's slices are all asked, a distinct event's up to the first clear bit. Without pipelining slices S (1-(1-1/S)^k) are asked, as some of the k hash functions lead to the same one.",
		"Horizontal slicing asks one slice.",
	}
	return table, nil
}

func accessMode(pipelined bool) string {
	if pipelined {
		return "pipelined"
	}
	return "parallel"
}

// lookupJob has as many bits for each distinct event as the synthetic set for 2 %.
func lookupJob(share float64, pipelined bool, slices int) job {
	distinct := int(share * events)
	bits := int(float64(distinct) * float64(synthetic.bits[0]) / float64(synthetic.distinct))
	return job{
		data:   dataset{name: "synthetic, uniform", distinct: distinct},
		way:    vertical,
		config: paper.SlicedConfig{Bits: bits, K: hashes, Slices: slices, FirstTest: true, Pipelined: pipelined},
	}
}
