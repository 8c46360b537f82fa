package distributed

import (
	"context"
	"fmt"

	"github.com/flowdedup/flowdedup/bench/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
)

// makers are the tables by name. All figures are at their printed sizes; Full
// averages over more runs.
var makers = map[string]func(ctx context.Context, o result.Options) (result.Table, error){
	"p4.figure1":   figure1,
	"p4.figure1b":  figure1b,
	"p4.figure5":   figure5,
	"p4.figure5d":  figure5d,
	"p4.figure7":   figure7,
	"p4.figure7c":  figure7c,
	"p4.figure8":   figure8,
	"p4.figure12":  figure12,
	"p4.figure12c": figure12c,
	"p4.table1":    table1,
}

// Experiment returns the paper's figures on slicing and trees.
func Experiment() result.Experiment {
	return result.Experiment{
		Paper: "p4",
		Title: "One is Enough: Distributed Filtering for Duplicate Elimination: slicing and Bloom trees",
		Tables: []string{
			"p4.figure1", "p4.figure1b", "p4.figure5", "p4.figure5d", "p4.figure7", "p4.figure7c",
			"p4.figure8", "p4.figure12", "p4.figure12c", "p4.table1",
		},
		Run: func(ctx context.Context, name string, o result.Options) (result.Table, error) {
			makeTable, ok := makers[name]
			if !ok {
				return result.Table{}, fmt.Errorf("distributed: no table %q", name)
			}
			table, err := makeTable(ctx, o)
			if err != nil {
				return result.Table{}, fmt.Errorf("%s: %w", name, err)
			}
			table.Name = name
			return table, nil
		},
	}
}

// runs returns the number of runs, each with ids of its own, that figures average.
func runs(o result.Options) int {
	if o.Full {
		return 40
	}
	return 8
}

// columnLines returns a line for each column of a table over x, which has a value
// for each row.
func columnLines(t result.Table, x []float64, dashed func(column int) bool) []chart.Line {
	lines := make([]chart.Line, len(t.Columns))
	for column, name := range t.Columns {
		l := chart.Line{Name: name, X: x, Dashed: dashed(column)}
		for _, row := range t.Rows {
			l.Y = append(l.Y, row.Cells[column].Ours)
		}
		lines[column] = l
	}
	return lines
}

// odd dashes every second column: what is beside a measured one.
func odd(column int) bool { return column%2 == 1 }

// measuredRow returns a row of numbers that the paper does not print.
func measuredRow(name, unit string, values ...float64) result.Row {
	row := result.Row{Name: name}
	for _, value := range values {
		row.Cells = append(row.Cells, result.Measured(value, unit))
	}
	return row
}

// pictures names charts after their figure, with a letter each.
func pictures(figure string, charts ...chart.Chart) []result.Picture {
	var all []result.Picture
	for i, c := range charts {
		all = append(all, result.Picture{File: fmt.Sprintf("%s-%c", figure, 'a'+i), Chart: c})
	}
	return all
}
