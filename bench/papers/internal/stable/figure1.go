package stable

import (
	"context"
	"fmt"

	"github.com/flowdedup/flowdedup/bench/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// The memory and the gap of Figure 1: misses are neither rare nor certain there.
const (
	figure1Bits = 100_000
	figure1Gap  = 4_000
	largestK    = 8
)

// setting is a largest cell value, of d bits, and a bound on false positives.
type setting struct {
	top, d int
	fps    float64
}

func (s setting) String() string { return fmt.Sprintf("Max %d, FPS %g %%", s.top, 100*s.fps) }

// model returns the filter of some bits with k hash functions that keeps the bound.
func (s setting) model(bits, k int) (theory.Stable, error) {
	p, err := theory.StableP(bits/s.d, k, s.top, s.fps)
	return theory.Stable{Cells: bits / s.d, K: k, P: p, Max: s.top}, err
}

// figure1 is the miss rate by K, by the closed form and measured.
func figure1(ctx context.Context, o result.Options) (result.Table, error) {
	settings := []setting{{1, 1, 0.2}, {1, 1, 0.1}, {1, 1, 0.01}, {3, 2, 0.1}, {3, 2, 0.01}, {15, 4, 0.01}}
	n := 200_000
	if o.Full {
		n = 5_000_000
	}
	formula, measured := newGrid(len(settings), largestK), newGrid(len(settings), largestK)
	err := result.Parallel(ctx, len(settings)*largestK, o.Workers, func(task int) error {
		i, j := task/largestK, task%largestK
		model, err := settings[i].model(figure1Bits, j+1)
		if err != nil {
			return err
		}
		if formula[i][j], err = model.FNR(figure1Gap); err != nil {
			return err
		}
		measured[i][j], err = missRate(ctx, model, figure1Gap, n)
		return err
	})
	if err != nil {
		return result.Table{}, err
	}
	out := result.Table{
		Title: "Misses by the number of hash functions",
		Setting: fmt.Sprintf("%d bits, all duplicates with %d other elements in between, P by Eq. 17 rounded up; %d elements measured, half of them duplicates.",
			figure1Bits, figure1Gap, n),
		Corner: "setting, FNR",
		Notes: []string{"The printed figure has no numbers. Its message: the best K is small and depends on Max and FPS alone (see p0.parameters); " +
			"for Max = 1 and FPS = 10 % it is 2."},
		Charts: []result.Picture{{File: "p0-figure1", Chart: chart.Chart{Title: "Misses by K", X: "K", Y: "false negative rate"}}},
	}
	xs := make([]float64, largestK)
	for j := range xs {
		xs[j] = float64(j + 1)
		out.Columns = append(out.Columns, fmt.Sprintf("K=%d", j+1))
	}
	addPairs(&out, settings, xs, formula, measured)
	return out, nil
}

// addPairs adds, for each setting, a row of the closed form and one of what was
// measured, in percent, and both as lines of the first chart.
func addPairs(out *result.Table, settings []setting, xs []float64, formula, measured [][]float64) {
	lines := &out.Charts[0].Chart.Lines
	for i, s := range settings {
		out.Rows = append(out.Rows,
			result.Row{Name: s.String() + ", closed form", Cells: percents(formula[i])},
			result.Row{Name: s.String() + ", measured", Cells: percents(measured[i])})
		*lines = append(*lines,
			chart.Line{Name: s.String(), X: xs, Y: measured[i]},
			chart.Line{Name: s.String() + ", closed form", X: xs, Y: formula[i], Dashed: true})
	}
}

func percents(rates []float64) []result.Cell {
	cells := make([]result.Cell, len(rates))
	for i, r := range rates {
		cells[i] = result.Measured(100*r, "%")
	}
	return cells
}

func newGrid(rows, columns int) [][]float64 {
	grid := make([][]float64, rows)
	for i := range grid {
		grid[i] = make([]float64, columns)
	}
	return grid
}
