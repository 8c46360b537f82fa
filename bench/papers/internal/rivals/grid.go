package rivals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/bench/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
)

// grid runs each method with each memory.
type grid struct {
	methods []method
	strict  bool  // what came before the window is a false positive, too
	memory  []int // bits
	trace   *trace
	labels  []string // of the memory sizes

	cells     [][]verdicts // by method, then memory
	predicted [][]float64  // the false positive rate, 0 if there is no prediction
}

func (g *grid) run(ctx context.Context, workers int) error {
	g.cells = make([][]verdicts, len(g.methods))
	g.predicted = make([][]float64, len(g.methods))
	for i := range g.cells {
		g.cells[i], g.predicted[i] = make([]verdicts, len(g.memory)), make([]float64, len(g.memory))
	}
	return result.Parallel(ctx, len(g.methods)*len(g.memory), workers, func(task int) error {
		i, j := task/len(g.memory), task%len(g.memory)
		if err := g.cell(ctx, i, j); err != nil {
			return fmt.Errorf("%s of %d bits: %w", g.methods[i].name, g.memory[j], err)
		}
		return nil
	})
}

func (g *grid) cell(ctx context.Context, i, j int) error {
	m, bits := g.methods[i], g.memory[j]
	if bits < lineBits {
		return errors.New("less than a line")
	}
	f, err := m.build(bits, g.trace)
	if err != nil {
		return err
	}
	defer closeFilter(f)
	if f.Bits() > bits {
		return fmt.Errorf("the filter takes %d bits", f.Bits())
	}
	if g.cells[i][j], err = g.trace.run(ctx, f); err != nil || m.predict == nil {
		return err
	}
	g.predicted[i][j], err = m.predict(bits, g.trace)
	return err
}

// unseenNote says what the fronts use for a rate without events.
const unseenNote = "where no false positive was counted, the fronts take the rate that the method's closed form gives or, where none holds, that of a single one."

// table returns the rates in percent and, for each memory, the methods that no other
// beats.
func (g *grid) table(labels []string) result.Table {
	g.labels = labels
	t := result.Table{Corner: "method"}
	for _, label := range labels {
		t.Columns = append(t.Columns, label+" FPR", "FNR")
	}
	for i, m := range g.methods {
		row := result.Row{Name: m.name}
		for j := range g.memory {
			row.Cells = append(row.Cells,
				result.Measured(100*g.wrong(i, j).share(), "%"), result.Measured(100*g.cells[i][j].fnr(), "%"))
		}
		t.Rows = append(t.Rows, row)
	}
	for j, label := range labels {
		t.Notes = append(t.Notes, fmt.Sprintf("Pareto front at %s, FPR/FNR in percent: %s. Among filters that touch one line for an element: %s.",
			label, g.best(j, false), g.best(j, true)))
	}
	return t
}

// wrong counts what a method should not have reported.
func (g *grid) wrong(i, j int) tally {
	if g.strict {
		return g.cells[i][j].outside()
	}
	return g.cells[i][j].fresh
}

// fpr returns a method's false positive rate: the measured one or, where no event was
// counted, the predicted one or, where there is none, that of one event.
func (g *grid) fpr(i, j int) float64 {
	w := g.wrong(i, j)
	switch {
	case w.seen > 0:
		return w.share()
	case g.methods[i].predict != nil:
		return g.predicted[i][j]
	}
	return 1 / float64(max(w.all, 1))
}

// rates returns the rates for a memory of the methods numbered which.
func (g *grid) rates(j int, which []int) (fpr, fnr []float64) {
	for _, i := range which {
		fpr, fnr = append(fpr, g.fpr(i, j)), append(fnr, g.cells[i][j].fnr())
	}
	return fpr, fnr
}

// numbers returns the methods' numbers, all or those that touch one line only.
func (g *grid) numbers(oneLine bool) []int {
	var which []int
	for i, m := range g.methods {
		if m.oneLine || !oneLine {
			which = append(which, i)
		}
	}
	return which
}

// best names the methods that are on the front for a memory, with their rates.
func (g *grid) best(j int, oneLine bool) string {
	which := g.numbers(oneLine)
	fpr, fnr := g.rates(j, which)
	var names []string
	for _, i := range pareto(fpr, fnr) {
		names = append(names, fmt.Sprintf("%s %.2g/%.2g", g.methods[which[i]].name, 100*fpr[i], 100*fnr[i]))
	}
	return strings.Join(names, "; ")
}

// front draws the Pareto front of each memory.
func (g *grid) front(file, title string) result.Picture {
	c := chart.Chart{Title: title, X: "false positive rate", Y: "false negative rate", LogX: true, LogY: true}
	for j, label := range g.labels {
		fpr, fnr := g.rates(j, g.numbers(false))
		line := chart.Line{Name: label}
		for _, i := range pareto(fpr, fnr) {
			line.X, line.Y = append(line.X, fpr[i]), append(line.Y, fnr[i])
		}
		c.Lines = append(c.Lines, line)
	}
	return result.Picture{File: strings.ReplaceAll(file, ".", "-"), Chart: c}
}

// rate is one of the two rates, as both sides measured it.
type rate struct{ fpr, fnr float64 }

// compare compares the grid with an independent simulation's rates in percent, NaN where
// it has none. It names the cells that differ by more than a tenth and five standard
// deviations of our own counts.
func (g *grid) compare(independent map[string][]rate) []string {
	compared, far := 0, []string{}
	for i, m := range g.methods {
		for j, theirs := range independent[m.name][:min(len(independent[m.name]), len(g.memory))] {
			v := g.cells[i][j]
			for _, c := range []struct {
				what         string
				ours, theirs float64
				of           int
			}{{"FPR", v.fresh.share(), theirs.fpr / 100, v.fresh.all}, {"FNR", v.fnr(), theirs.fnr / 100, v.inside.all}} {
				if math.IsNaN(c.theirs) {
					continue
				}
				compared++
				if differ(c.ours, c.theirs, c.of) {
					far = append(far, fmt.Sprintf("%s at %s: %s %.3g %% against %.3g %%", m.name, g.labels[j], c.what, 100*c.ours, 100*c.theirs))
				}
			}
		}
	}
	note := fmt.Sprintf("Of %d rates of an independent simulation, %d differ by more than a tenth and what chance explains.", compared, len(far))
	if len(far) > 0 {
		note += " They are: " + strings.Join(far, "; ") + "."
	}
	return []string{note}
}

// differ reports whether two rates differ by more than a tenth of theirs and five
// standard deviations. Theirs is rounded: 0 is less than 1e-4.
func differ(ours, theirs float64, of int) bool {
	if theirs == 0 {
		return ours > 1e-4
	}
	deviation := 5 * math.Sqrt(theirs/float64(max(of, 1)))
	return math.Abs(ours-theirs) > 0.1*theirs+deviation
}

// The results of an independent simulation of the same methods, in percent, on streams of
// the same definition.

// independentSliding is for 16, 24, 32 and 48 bits for each element in the window.
var independentSliding = map[string][]rate{
	"age-partitioned, line":     {{6.0, 0}, {1.35, 0}, {0.34, 0}, {0.045, 0}},
	"age-partitioned, anywhere": {{5.4, 0}, {0.92, 0}, {0.18, 0}, {0.004, 0}},
	"jumping J4 K7, anywhere":   {{1.84, 0}, {0.21, 0}, {0.039, 0}, {0.003, 0}},
	"jumping J4 K5, line":       {{4.5, 0}, {1.2, 0}, {0.48, 0}, {0.13, 0}},
	"timed rows 32x(12+4)":      {{0.77, 0.90}, {0.54, 0.018}, {0.43, 0.001}, {0.28, 0}},
	"timed rows 32x(13+3)":      {{0.40, 0.99}, {0.30, 0.026}, {0.23, 0.001}, {0.15, 0}},
	"timed rows 8x(12+4)":       {{0.18, 1.9}, {0.14, 0.43}, {0.10, 0.10}, {0.075, 0.009}},
	"timed rows 21x(16+8)":      {{0.037, 4.7}, {0.035, 1.24}, {0.029, 0.19}, {0.018, 0.003}},
	"timed rows 16x(24+8)":      {{0, 7.5}, {0, 3.5}, {0, 1.3}, {0, 0.12}},
	"A2, line":                  {{3.4, 0}, {0.70, 0}, {0.16, 0}, {0.019, 0}},
}

// pareto returns the points on the Pareto front, in ascending order of x: no other point
// is lower in one coordinate without being higher in the other.
func pareto(x, y []float64) []int {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(x[a], x[b]), cmp.Compare(y[a], y[b]))
	})
	var front []int
	for _, i := range order {
		if len(front) > 0 {
			last := front[len(front)-1]
			if y[i] > y[last] || y[i] == y[last] && x[i] > x[last] {
				continue
			}
		}
		front = append(front, i)
	}
	return front
}
