package clicks

import (
	"slices"

	"github.com/flowdedup/flowdedup/bench/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
)

// percent returns the cell of a measured rate, a blank one if it was not measured.
func percent(c count) result.Cell {
	if c.elements == 0 {
		return result.Cell{Blank: true}
	}
	return result.Measured(100*c.rate(), "%")
}

// over returns the cell of the bound over a measured rate, a blank one if there is no
// error to divide by.
func over(bound float64, c count) result.Cell {
	if c.positives == 0 {
		return result.Cell{Blank: true}
	}
	return result.Measured(bound/c.rate(), "")
}

// ratioRows compares the least and greatest ratio with the printed "4 to 8 times", in
// the last of so many columns.
func ratioRows(columns int, ratios []float64) []result.Row {
	row := func(name string, cell result.Cell) result.Row {
		cells := slices.Repeat([]result.Cell{{Blank: true}}, columns)
		cells[columns-1] = cell
		return result.Row{Name: name, Cells: cells}
	}
	return []result.Row{
		row("least ratio", result.Compared(slices.Min(ratios), 4, "")),
		row("greatest ratio", result.Compared(slices.Max(ratios), 8, "")),
	}
}

func picture(file, title string, lines ...chart.Line) result.Picture {
	return result.Picture{File: file, Chart: chart.Chart{
		Title: title, X: "hash functions d", Y: "error rate", LogY: true, Lines: lines,
	}}
}

func solid(name string) chart.Line { return chart.Line{Name: name} }

func dashed(name string) chart.Line { return chart.Line{Name: name, Dashed: true} }

func extend(l *chart.Line, d int, rate float64) {
	l.X = append(l.X, float64(d))
	l.Y = append(l.Y, rate)
}

// extendMeasured leaves out what was not measured.
func extendMeasured(l *chart.Line, d int, c count) {
	if c.elements > 0 {
		extend(l, d, c.rate())
	}
}
