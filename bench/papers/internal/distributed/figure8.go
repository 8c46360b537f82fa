package distributed

import (
	"context"
	"fmt"

	"github.com/flowdedup/flowdedup/bench/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
)

// figure8 is Figure 8: fairness and load of the synthetic and Yahoo sets.
func figure8(ctx context.Context, o result.Options) (result.Table, error) {
	sets := []dataset{synthetic, syntheticUniform, yahoo}
	table := result.Table{
		Title: "slicing: load of the synthetic and Yahoo sets",
		Setting: fmt.Sprintf("%d events, %d, %d and %d distinct ones, k = %d; fairness is Jain's index, the largest load the share of all tests that one slice has; mean of %d runs",
			events, synthetic.distinct, syntheticUniform.distinct, yahoo.distinct, hashes, runs(o)),
		Corner: "slices",
	}
	rows := make([]result.Row, len(sliceCounts))
	var charts []chart.Chart
	for _, data := range sets {
		s, err := measureSweep(ctx, o, data, 1)
		if err != nil {
			return table, err
		}
		fairness, err := s.fairnessChart()
		if err != nil {
			return table, err
		}
		charts = append(charts, fairness, s.loadChart())
		table.Columns = append(table.Columns, loadColumns(data.name+", ")...)
		for i, slices := range sliceCounts {
			rows[i].Name = fmt.Sprint(slices)
			rows[i].Cells = append(rows[i].Cells, s.loadCells(i)...)
		}
		if data == synthetic {
			v, h := s.at(vertical, 40), s.at(horizontal, 40)
			table.Notes = append(table.Notes, fmt.Sprintf("Synthetic, Zipf 1.0, 40 slices: fairness %.2f vertical and %.2f horizontal, largest load %.1f and %.1f %%. "+
				"Independent simulation: 0.85 and 0.58, 5.5 and 12.4 %%.", v.fairness, h.fairness, 100*v.maxLoad, 100*h.maxLoad))
		}
	}
	table.Rows, table.Charts = rows, pictures("p4-figure8", charts...)
	table.Notes = append(table.Notes,
		"As in the paper, vertical slices share a skewed stream's load more evenly; the closed form 1/(1+(S-1) sum p^2/k') has k' = 1 for horizontal and k' = k for vertical ones.",
		"The Yahoo log is private; a Zipf 1.0 stream with as many distinct events stands for it.")
	return table, nil
}
