package clicks

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/flowdedup/flowdedup/bench/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// Experiment returns the figures on synthetic clicks, the sliding window that the
// paper describes without measuring it, and the numbers of its text.
func Experiment() result.Experiment {
	return result.Experiment{
		Paper:  "p2",
		Title:  "Duplicate Detection in Click Streams (Metwally, Agrawal, El Abbadi, WWW 2005)",
		Tables: []string{"p2.figure6", "p2.figure7", "p2.sliding", "p2.text"},
		Run:    run,
	}
}

func run(ctx context.Context, name string, o result.Options) (result.Table, error) {
	switch name {
	case "p2.figure6":
		return figure6(ctx, newLandmarkSetup(o), o.Workers)
	case "p2.figure7":
		return figure7(ctx, newJumpingSetup(o), o.Workers)
	case "p2.sliding":
		return sliding(ctx, newSlidingSetup(o), o.Workers)
	case "p2.text":
		return text(ctx, newTextSetup(o), o.Workers)
	}
	return result.Table{}, fmt.Errorf("clicks: no table %q", name)
}

// mostFunctions is the largest number of hash functions of the figures.
const mostFunctions = 16

// perFunction returns M/d = n/ln(2), the cells for each hash function with which half
// of them are set after n elements.
func perFunction(n int) float64 { return float64(n) / math.Ln2 }

// bound returns 2^-d, the error rate of a filter of which half of the cells are set.
func bound(d int) float64 { return math.Exp2(-float64(d)) }

// count is how many of some new elements were reported as duplicates.
type count struct{ positives, elements int }

func (c *count) add(other count) {
	c.positives += other.positives
	c.elements += other.elements
}

func (c count) rate() float64 { return float64(c.positives) / float64(c.elements) }

// runsFor returns how many runs give the wanted number of errors if one run gives
// expected, or 0 if that is more than most.
func runsFor(wanted, expected float64, most int) int {
	if runs := math.Ceil(wanted / expected); runs <= float64(most) {
		return int(runs)
	}
	return 0
}

// firstElement returns the first element of a run. Runs share no elements if there are
// fewer than 2^16 of less than 2^40 elements.
func firstElement(d, run int) uint64 { return uint64(d)<<56 | uint64(run)<<40 }

// distinct gives a filter n elements, from first on.
func distinct(ctx context.Context, f paper.Filter, first uint64, n int) (count, error) {
	c := count{elements: n}
	for i := range uint64(n) {
		if i%(1<<16) == 0 && ctx.Err() != nil {
			return count{}, ctx.Err()
		}
		if f.TestAndSet(stream.Digest(first + i)) {
			c.positives++
		}
	}
	return c, nil
}

// percent returns the cell of a measured rate, or a blank cell if it was not measured.
func percent(c count) result.Cell {
	if c.elements == 0 {
		return result.Cell{Blank: true}
	}
	return result.Measured(100*c.rate(), "%")
}

// over returns the cell of the bound divided by a measured rate, or a blank cell if the
// rate is zero.
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
