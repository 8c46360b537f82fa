// SPDX-License-Identifier: Apache-2.0

package result

import (
	"fmt"
	"math"
	"slices"

	"github.com/flowdedup/flowdedup/bench/papers/chart"
)

// Table is a reproduced table or figure of a paper.
type Table struct {
	Name    string // the value of -only that selects it, "p1.table4"
	Title   string // its content, in words
	Setting string // the runs: sizes, streams, seeds
	Corner  string // heads the column of row names
	Columns []string
	Rows    []Row
	Notes   []string // the differences that remain, explained
	Charts  []Picture
	Timed   bool    // the numbers are times: no two runs give the same
	Seconds float64 // the time it took; set by the command
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

// Kind is the kind of comparison with a printed number.
type Kind uint8

const (
	// Described: the method as the paper describes it.
	Described Kind = iota
	// Emulated: the method with faults that the authors' own program has.
	Emulated
	// Corrected: the method without such faults, compared with a number printed with
	// them.
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

// Spread returns a cell of the mean of several runs' rates, in percent, and half of their
// span.
func Spread(rates ...float64) Cell { return SpreadOfNumbers("%", Percent(rates...)...) }

// SpreadOfNumbers returns a cell of the mean of several runs' numbers, in a unit, and half
// of their span.
func SpreadOfNumbers(unit string, numbers ...float64) Cell {
	sum := 0.0
	for _, number := range numbers {
		sum += number
	}
	c := Measured(sum/float64(len(numbers)), unit)
	c.Spread = (slices.Max(numbers) - slices.Min(numbers)) / 2
	return c
}

// SpreadOf is Spread for one rate of each run.
func SpreadOf[R any](runs []R, rate func(R) float64) Cell {
	var rates []float64
	for _, run := range runs {
		rates = append(rates, rate(run))
	}
	return Spread(rates...)
}

// Percent returns rates in percent.
func Percent(rates ...float64) []float64 {
	all := make([]float64, len(rates))
	for i, rate := range rates {
		all[i] = 100 * rate
	}
	return all
}

// Cells returns cells of numbers in one unit that the paper does not print.
func Cells(unit string, values ...float64) []Cell {
	cells := make([]Cell, len(values))
	for i, value := range values {
		cells[i] = Measured(value, unit)
	}
	return cells
}

// MeasuredRow returns a row of such numbers.
func MeasuredRow(name, unit string, values ...float64) Row {
	return Row{name, Cells(unit, values...)}
}

// AddRows adds rows without cells, for [Table.AddColumn]. They stand above the text's
// rows.
func AddRows[T any](t *Table, names ...T) {
	rows := make([]Row, len(names))
	for i, name := range names {
		rows[i].Name = fmt.Sprint(name)
	}
	t.Rows = append(rows, t.Rows...)
}

// Fill puts ours into the cells of the text, next to the printed numbers.
func (t *Table) Fill(unit string, ours func(row, column int) float64) {
	for i, row := range t.Rows {
		for j := range row.Cells {
			row.Cells[j].Ours, row.Cells[j].Unit = ours(i, j), unit
		}
	}
}

// And returns the row with more such numbers, in a unit of their own.
func (r Row) And(unit string, values ...float64) Row {
	r.Cells = append(r.Cells, Cells(unit, values...)...)
	return r
}

// AddRow adds a row of numbers in one unit that the paper does not print.
func (t *Table) AddRow(name, unit string, values ...float64) {
	t.Rows = append(t.Rows, MeasuredRow(name, unit, values...))
}

// AddColumns names a column for each whole number. Its cells come with the rows.
func (t *Table) AddColumns(format string, xs ...float64) {
	for _, x := range xs {
		t.Columns = append(t.Columns, fmt.Sprintf(format, int(x)))
	}
}

// Add adds a column of numbers in one unit that the paper does not print.
func (t *Table) Add(name, unit string, values ...float64) {
	t.AddColumn(name, Cells(unit, values...)...)
}

// AddEach adds a column of such a number for each row.
func (t *Table) AddEach(name, unit string, value func(row int) float64) {
	t.AddColumn(name)
	for i := range t.Rows {
		cells := t.Rows[i].Cells
		cells[len(cells)-1] = Measured(value(i), unit)
	}
}

// AddColumn adds a cell to each row. Rows for which there is none get a blank one. A name
// of "" stands for a column that the text has.
func (t *Table) AddColumn(name string, cells ...Cell) {
	if name != "" {
		t.Columns = append(t.Columns, name)
	}
	for i := range t.Rows {
		cell := Cell{Blank: true}
		if i < len(cells) {
			cell = cells[i]
		}
		t.Rows[i].Cells = append(t.Rows[i].Cells, cell)
	}
}

// Draw adds lines to a chart of the text.
func (t *Table) Draw(number int, lines ...chart.Line) {
	c := &t.Charts[number].Chart
	c.Lines = append(c.Lines, lines...)
}

// requireForm panics unless each row has a cell for each column, and each cell a number.
func (t *Table) requireForm() {
	for _, row := range t.Rows {
		if len(row.Cells) != len(t.Columns) {
			panic(fmt.Sprintf("%s, row %s: %d cells for %d columns", t.Name, row.Name, len(row.Cells), len(t.Columns)))
		}
		for _, c := range row.Cells {
			if !c.Blank && (math.IsNaN(c.Ours) || math.IsInf(c.Ours, 0)) {
				panic(fmt.Sprintf("%s, row %s: %g", t.Name, row.Name, c.Ours))
			}
		}
	}
}

// Lines returns a line for each column that has cells, over x, which has a value for each of
// the first rows.
func (t Table) Lines(x []float64, dashed func(column int) bool) (lines []chart.Line) {
	for column := range t.Rows[0].Cells {
		l := chart.Line{Name: t.Columns[column], X: x, Dashed: dashed(column)}
		for _, row := range t.Rows[:len(x)] {
			l.Y = append(l.Y, row.Cells[column].Ours)
		}
		lines = append(lines, l)
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

// Summary returns in a line the differences of the table's numbers from the printed ones,
// in median and at most; "" if nothing is printed. Numbers that match because faults of
// the authors' program are emulated are counted separately, with the methods' numbers
// without these faults.
func (t Table) Summary() string {
	described, emulated, corrected := t.differences(Described), t.differences(Emulated), t.differences(Corrected)
	switch all := len(described) + len(emulated); {
	case all == 0:
		return ""
	case len(emulated) == 0:
		return fmt.Sprintf("%d printed numbers; relative difference: %s.", all, described)
	default:
		text := fmt.Sprintf("%d printed numbers. %d of methods as described; relative difference: %s. %d with faults of the authors' program emulated: %s",
			all, len(described), described, len(emulated), emulated)
		if len(corrected) > 0 {
			text += fmt.Sprintf("; the same methods without these faults: %s", corrected)
		}
		return text + "."
	}
}

// differences returns the differences of one kind of comparison.
func (t Table) differences(kind Kind) Differences {
	var cells []Cell
	for _, row := range t.Rows {
		for _, cell := range row.Cells {
			if cell.Kind == kind {
				cells = append(cells, cell)
			}
		}
	}
	return DifferencesOf(cells)
}

// Differences are absolute relative ones, in ascending order.
type Differences []float64

// DifferencesOf returns the differences of the cells that have a printed number.
func DifferencesOf(cells []Cell) Differences {
	var all Differences
	for _, cell := range cells {
		if d := cell.Difference(); !math.IsNaN(d) {
			all = append(all, math.Abs(d))
		}
	}
	slices.Sort(all)
	return all
}

// Median returns the median of one difference or more.
func (d Differences) Median() float64 { return (d[(len(d)-1)/2] + d[len(d)/2]) / 2 }

func (d Differences) String() string {
	if len(d) == 0 {
		return "none"
	}
	return fmt.Sprintf("median %.2f %%, at most %.1f %%", 100*d.Median(), 100*d[len(d)-1])
}
