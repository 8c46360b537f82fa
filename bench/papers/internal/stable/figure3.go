package stable

import (
	"context"
	"fmt"

	"github.com/flowdedup/flowdedup/bench/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// figure3 is the share of zeros over time, of the paper's filter in several sizes
// and of two with larger cells, on two streams: distinct elements, for which there
// is a closed form, and the crawl.
func figure3(ctx context.Context, o result.Options) (result.Table, error) {
	models := []theory.Stable{
		{Cells: 1 << 14, K: 2, P: 4, Max: 1}, {Cells: 1 << 16, K: 2, P: 4, Max: 1}, {Cells: 1 << 18, K: 2, P: 4, Max: 1},
		{Cells: 1 << 16, K: 3, P: 10, Max: 1}, {Cells: 1 << 16, K: 4, P: 24, Max: 3},
	}
	times := []int{1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000}
	if o.Full {
		times = append(times, 3_000_000, 10_000_000)
	}
	n := times[len(times)-1]
	repeating, err := newCrawlTrace(ctx, n)
	if err != nil {
		return result.Table{}, err
	}
	traces := []trace{newDistinctTrace(n), repeating}
	measured := newGrid(len(models)*len(traces), len(times))
	err = result.Parallel(ctx, len(measured), o.Workers, func(i int) error {
		return zerosAt(ctx, models[i/2], traces[i%2], times, measured[i])
	})
	if err != nil {
		return result.Table{}, err
	}
	out := result.Table{
		Title:   "Share of zeros over time",
		Setting: fmt.Sprintf("Two streams of %d elements: all distinct, and the crawl of 10M elements (see p0.table2).", n),
		Corner:  "filter, share of zeros",
		Notes: []string{"The printed figure has no numbers. For Max = 1 the closed form is z + (1-z) e^(-(K+P)n/m), where z is the stable point. " +
			"A stream with repetitions sets fewer cells and stays above (Theorem 3)."},
		Charts: []result.Picture{{File: "p0-figure3", Chart: chart.Chart{
			Title: "Share of zeros, Max = 1, K = 2, P = 4", X: "elements", Y: "share of zeros", LogX: true}}},
	}
	for _, time := range times {
		out.Columns = append(out.Columns, fmt.Sprint(time))
	}
	out.Columns = append(out.Columns, "stable point")
	for i, model := range models {
		if err := addZeros(&out, model, times, measured[2*i], measured[2*i+1]); err != nil {
			return result.Table{}, err
		}
	}
	return out, nil
}

// zerosAt stores the share of zeros after each number of elements.
func zerosAt(ctx context.Context, model theory.Stable, t trace, times []int, zeros []float64) error {
	f, err := build(model)
	if err != nil {
		return err
	}
	done := 0
	for i, time := range times {
		if err := t[done:time].run(ctx, f, func(int, []bool) {}); err != nil {
			return err
		}
		done, zeros[i] = time, f.Zeros()
	}
	return nil
}

// addZeros adds a filter's rows, and its lines if it is the one of the figure.
func addZeros(out *result.Table, model theory.Stable, times []int, distinct, crawl []float64) error {
	stable, err := model.Zeros()
	if err != nil {
		return err
	}
	xs, formula := make([]float64, len(times)), make([]float64, len(times))
	for i, time := range times {
		xs[i] = float64(time)
		if formula[i], err = model.ZerosAfter(time); err != nil {
			return err
		}
	}
	name := fmt.Sprintf("%d cells", model.Cells)
	full := fmt.Sprintf("Max %d, K %d, P %d, %s", model.Max, model.K, model.P, name)
	out.Rows = append(out.Rows,
		result.Row{Name: full + ": closed form", Cells: append(bare(formula), result.Measured(stable, ""))},
		result.Row{Name: full + ": distinct", Cells: append(bare(distinct), result.Cell{Blank: true})},
		result.Row{Name: full + ": crawl", Cells: append(bare(crawl), result.Cell{Blank: true})})
	if model.Max == 1 && model.K == 2 {
		lines := &out.Charts[0].Chart.Lines
		*lines = append(*lines,
			chart.Line{Name: name + ", distinct", X: xs, Y: distinct},
			chart.Line{Name: name + ", crawl", X: xs, Y: crawl},
			chart.Line{Name: name + ", closed form", X: xs, Y: formula, Dashed: true})
	}
	return nil
}

func bare(values []float64) []result.Cell {
	cells := make([]result.Cell, len(values))
	for i, v := range values {
		cells[i] = result.Measured(v, "")
	}
	return cells
}
