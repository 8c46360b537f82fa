package result

import (
	"fmt"
	"math"
	"slices"

	"github.com/flowdedup/flowdedup/bench/chart"
)

// Table is a reproduced table or figure of a paper.
type Table struct {
	Name     string // what -only selects, "p1.table4"
	Title    string // what is in it, in words
	Setting  string // what was run: sizes, streams, seeds
	Corner   string // heads the column of row names
	Columns  []string
	Rows     []Row
	Notes    []string // the differences that remain, explained
	Charts   []Picture
	Timed    bool    // the numbers are times: no two runs give the same
	Seconds  float64 // the time it took; set by the command
	FullSize bool    // whether the printed sizes were run; set by the command
}

// Row holds a cell for each column.
type Row struct {
	Name  string
	Cells []Cell
}

// Cell is one number: ours, and the paper's if it prints one.
type Cell struct {
	Ours    float64
	Printed float64 // NaN if there is none, see [Measured]
	Unit    string  // "%" for a rate given in percent, "" for a bare number
	Kind    Kind    // of the comparison
	Spread  float64 // half the span of several runs, whose mean is Ours; 0 for a single one
	Blank   bool    // nothing belongs here
}

// Kind says what a cell with a printed number compares it with.
type Kind uint8

const (
	// Described: the method as the paper describes it.
	Described Kind = iota
	// Emulated: the method with faults that the authors' own program has.
	Emulated
	// Corrected: the method without such faults, beside a number printed with them.
	Corrected
)

// Picture is a chart and the name of the file it goes to, without extension.
type Picture struct {
	File  string
	Chart chart.Chart
}

// Measured returns a cell without a printed number.
func Measured(ours float64, unit string) Cell {
	return Cell{Ours: ours, Printed: math.NaN(), Unit: unit}
}

// Compared returns a cell with a printed number, both in the same unit.
func Compared(ours, printed float64, unit string) Cell {
	return Cell{Ours: ours, Printed: printed, Unit: unit}
}

// Spread returns a cell of the mean of several runs' values, times factor, and half of
// their span.
func Spread(values []float64, factor float64, unit string) Cell {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	c := Measured(factor*sum/float64(len(values)), unit)
	c.Spread = factor * (slices.Max(values) - slices.Min(values)) / 2
	return c
}

// MeasuredRow returns a row of numbers in one unit that the paper does not print.
func MeasuredRow(name, unit string, values ...float64) Row {
	row := Row{Name: name}
	for _, value := range values {
		row.Cells = append(row.Cells, Measured(value, unit))
	}
	return row
}

// Lines returns a line for each column of the table over x, which has a value for each of
// the first rows. dashed may be nil.
func (t Table) Lines(x []float64, dashed func(column int) bool) []chart.Line {
	lines := make([]chart.Line, len(t.Columns))
	for column, name := range t.Columns {
		l := chart.Line{Name: name, X: x, Dashed: dashed != nil && dashed(column)}
		for _, row := range t.Rows[:len(x)] {
			l.Y = append(l.Y, row.Cells[column].Ours)
		}
		lines[column] = l
	}
	return lines
}

// HasPrinted reports whether the paper prints this number.
func (c Cell) HasPrinted() bool { return !c.Blank && !math.IsNaN(c.Printed) }

// Difference returns ours/printed - 1, NaN if that is not defined.
func (c Cell) Difference() float64 {
	if !c.HasPrinted() || c.Printed == 0 {
		return math.NaN()
	}
	return c.Ours/c.Printed - 1
}

// Summary says in a line how far the table's numbers are from the printed ones, in median
// and at most; "" if nothing is printed. Numbers that match because faults of the authors'
// program are emulated count apart, with what the methods give without these faults.
func (t Table) Summary() string {
	described := t.differences(Described)
	emulated := t.differences(Emulated)
	all := append(described[:len(described):len(described)], emulated...)
	if len(all) == 0 {
		return ""
	}
	if len(emulated) == 0 {
		return fmt.Sprintf("%d printed numbers; relative difference: %s.", len(all), spread(all))
	}
	text := fmt.Sprintf("%d printed numbers. %d of methods as described; relative difference: %s. %d with faults of the authors' program emulated: %s",
		len(all), len(described), spread(described), len(emulated), spread(emulated))
	if corrected := t.differences(Corrected); len(corrected) > 0 {
		text += "; the same methods without these faults: " + spread(corrected)
	}
	return text + "."
}

// spread describes absolute differences.
func spread(differences []float64) string {
	if len(differences) == 0 {
		return "none"
	}
	slices.Sort(differences)
	n := len(differences)
	median := (differences[(n-1)/2] + differences[n/2]) / 2
	return fmt.Sprintf("median %.2f %%, at most %.1f %%", 100*median, 100*differences[n-1])
}

// differences returns the absolute relative differences of one kind of comparison.
func (t Table) differences(kind Kind) []float64 {
	var all []float64
	for _, row := range t.Rows {
		for _, cell := range row.Cells {
			if d := cell.Difference(); cell.Kind == kind && !math.IsNaN(d) {
				all = append(all, math.Abs(d))
			}
		}
	}
	return all
}
