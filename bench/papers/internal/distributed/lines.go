package distributed

import (
	"fmt"

	"github.com/flowdedup/flowdedup/bench/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
)

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
