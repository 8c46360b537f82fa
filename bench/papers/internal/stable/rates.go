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

const figure2Bits = 100_000

// figure2 is the miss rate with Max = 3 less that with Max = 1, by the gap.
func figure2(ctx context.Context, o result.Options) (result.Table, error) {
	bounds := []float64{0.2, 0.1, 0.01, 0.001}
	gaps := []int{100, 300, 1000, 3000, 10_000, 30_000, 100_000}
	n := 100_000
	if o.Full {
		n = 2_000_000
	}
	formula, measured := newGrid(len(bounds), len(gaps)), newGrid(len(bounds), len(gaps))
	err := result.Parallel(ctx, len(bounds)*len(gaps), o.Workers, func(task int) (err error) {
		i, j := task/len(gaps), task%len(gaps)
		formula[i][j], measured[i][j], err = compareMax(ctx, bounds[i], gaps[j], n)
		return err
	})
	if err != nil {
		return result.Table{}, err
	}
	out := result.Table{
		Title: "Misses with Max = 3 less those with Max = 1, by the gap",
		Setting: fmt.Sprintf("%d bits for both, K the best for each, P by Eq. 17 rounded up. A gap counts the elements in between. "+
			"%d elements measured, half of them duplicates, and two gaps more.", figure2Bits, n),
		Corner: "FPS, difference of FNR",
		Notes: []string{"The printed figure has no numbers. Its message: Max = 3 is better for short gaps, Max = 1 beyond some threshold; " +
			"for very long ones there is no difference."},
		Charts: []result.Picture{{File: "p0-figure2", Chart: chart.Chart{
			Title: "Misses with Max = 3 less those with Max = 1", X: "gap, elements", Y: "difference of false negative rates", LogX: true}}},
	}
	xs := make([]float64, len(gaps))
	for j, gap := range gaps {
		xs[j] = float64(gap)
		out.Columns = append(out.Columns, fmt.Sprintf("gap %d", gap))
	}
	settings := make([]setting, len(bounds))
	for i, fps := range bounds {
		settings[i] = setting{top: 3, d: 2, fps: fps}
	}
	addPairs(&out, settings, xs, formula, measured)
	return out, nil
}

// compareMax returns the difference at one gap by the closed form and measured.
func compareMax(ctx context.Context, fps float64, gap, n int) (formula, measured float64, err error) {
	for _, s := range []struct {
		setting
		sign float64
	}{{setting{3, 2, fps}, 1}, {setting{1, 1, fps}, -1}} {
		// The best K does not depend on the gap, so it is found at one at which
		// rates differ.
		model, err := theory.StableBestK(figure2Bits/s.d, s.top, fps, figure2Bits/25)
		if err != nil {
			return 0, 0, err
		}
		rate, err := model.FNR(gap)
		if err != nil {
			return 0, 0, err
		}
		counted, err := missRate(ctx, model, gap, n+2*gap)
		if err != nil {
			return 0, 0, err
		}
		formula += s.sign * rate
		measured += s.sign * counted
	}
	return formula, measured, nil
}
