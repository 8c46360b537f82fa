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
	Blank   bool    // nothing belongs here
}

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

// HasPrinted reports whether the paper prints this number.
func (c Cell) HasPrinted() bool { return !c.Blank && !math.IsNaN(c.Printed) }

// Difference returns ours/printed - 1, NaN if that is not defined.
func (c Cell) Difference() float64 {
	if !c.HasPrinted() || c.Printed == 0 {
		return math.NaN()
	}
	return c.Ours/c.Printed - 1
}

// Summary says in a line how far the table's numbers are from the printed ones,
// in median and at most; "" if nothing is printed.
func (t Table) Summary() string {
	differences := t.differences()
	if len(differences) == 0 {
		return ""
	}
	slices.Sort(differences)
	return fmt.Sprintf("%d printed numbers; relative difference: median %.2f %%, at most %.1f %%.",
		len(differences), 100*differences[len(differences)/2], 100*differences[len(differences)-1])
}

// differences returns the absolute relative differences.
func (t Table) differences() []float64 {
	var all []float64
	for _, row := range t.Rows {
		for _, cell := range row.Cells {
			if d := cell.Difference(); !math.IsNaN(d) {
				all = append(all, math.Abs(d))
			}
		}
	}
	return all
}
