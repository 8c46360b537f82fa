package stable

import (
	"context"
	"fmt"
	"math/bits"
	"slices"

	"github.com/flowdedup/flowdedup/bench/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// figure3 is the share of zeros over time, for the paper's filter in several sizes and
// for two with larger cells. It has two streams: distinct elements, which have a closed
// form, and the crawl.
func figure3(ctx context.Context, o result.Options) (result.Table, error) {
	models := []theory.Stable{
		{Cells: 1 << 14, K: 2, P: 4, Max: 1}, {Cells: 1 << 16, K: 2, P: 4, Max: 1}, {Cells: 1 << 18, K: 2, P: 4, Max: 1},
		{Cells: 1 << 16, K: 3, P: 10, Max: 1}, {Cells: 1 << 16, K: 4, P: 24, Max: 3},
	}
	times := []float64{1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000}
	if o.Full {
		times = append(times, 3_000_000, 10_000_000)
	}
	n := int(times[len(times)-1])
	repeating, err := crawl(ctx, n, streamSeed)
	if err != nil {
		return result.Table{}, err
	}
	traces := []trace{distinctTrace(n), repeating}
	measured := newGrid(len(models)*len(traces), len(times))
	err = result.Parallel(ctx, len(measured), o.Workers, func(i int) error {
		return zerosAt(ctx, models[i/2], traces[i%2], times, measured[i])
	})
	if err != nil {
		return result.Table{}, err
	}
	out := headed(result.Table{
		Title:   "Share of zeros over time",
		Setting: fmt.Sprintf("Two streams of %d elements: all distinct, and the crawl of 10M elements (see p0.table2).", n),
		Corner:  "filter, share of zeros",
		Notes: []string{"The printed figure has no numbers. For Max = 1 the closed form is z + (1-z) e^(-(K+P)n/m), where z is the stable point. " +
			"A stream with repetitions sets fewer cells and stays above (Theorem 3)."},
	}, "%d", times, result.Picture{File: "p0-figure3", Chart: chart.Chart{
		Title: "Share of zeros, Max = 1, K = 2, P = 4", X: "elements", Y: "share of zeros", LogX: true}})
	out.Columns = append(out.Columns, "stable point")
	for i, model := range models {
		if err := addZeros(&out, model, times, measured[2*i], measured[2*i+1]); err != nil {
			return result.Table{}, err
		}
	}
	return out, nil
}

// zerosAt stores the share of zeros after each number of elements.
func zerosAt(ctx context.Context, model theory.Stable, t trace, times, zeros []float64) error {
	f, err := paper.NewStable(config(model))
	if err != nil {
		return err
	}
	done := 0
	for i, time := range times {
		if err := t[done:int(time)].run(ctx, f, func(int, []bool) {}); err != nil {
			return err
		}
		done, zeros[i] = int(time), f.Zeros()
	}
	return nil
}

// addZeros adds a filter's rows, and its lines if it is the one of the figure.
func addZeros(out *result.Table, model theory.Stable, times, distinct, crawl []float64) error {
	stable, err := model.Zeros()
	if err != nil {
		return err
	}
	formula := make([]float64, len(times))
	for i, time := range times {
		if formula[i], err = model.ZerosAfter(int(time)); err != nil {
			return err
		}
	}
	for i, line := range []struct {
		name   string
		zeros  []float64
		stable result.Cell
	}{{"closed form", formula, result.Measured(stable, "")}, {"distinct", distinct, result.Cell{Blank: true}}, {"crawl", crawl, result.Cell{Blank: true}}} {
		out.Rows = append(out.Rows, result.Row{
			Name:  fmt.Sprintf("%s, %d cells: %s", named(model), model.Cells, line.name),
			Cells: append(cells(line.zeros, 1, ""), line.stable),
		})
		if model.Max == 1 && model.K == 2 {
			lines := &out.Charts[0].Chart.Lines
			*lines = append(*lines, chart.Line{Name: fmt.Sprintf("%d cells, %s", model.Cells, line.name), X: times, Y: line.zeros, Dashed: i == 0})
		}
	}
	return nil
}

// bound measures how far the bound on the false positive rate (Eq. 8) is from the
// rates on three streams, in memory that is much too small for them.
func bound(ctx context.Context, o result.Options) (result.Table, error) {
	n, universe := 1_000_000, 1<<22
	if o.Full {
		n, universe = 10_000_000, 1<<24
	}
	repeating, err := crawl(ctx, n, streamSeed)
	if err != nil {
		return result.Table{}, err
	}
	traces := []trace{distinctTrace(n), zipfTrace(n, universe, 1, streamSeed), repeating}
	shapes := []theory.Stable{{K: 2, P: 4, Max: 1}, {K: 3, P: 10, Max: 1}, {K: 4, P: 24, Max: 3}}
	rates := newGrid(len(shapes), len(traces))
	err = result.Parallel(ctx, len(shapes)*len(traces), o.Workers, func(task int) error {
		i, j := task/len(traces), task%len(traces)
		// The second half, when the filter is stable.
		score, err := traces[j].rates(ctx, config(small(shapes[i], traces[j])), n/2)
		rates[i][j] = score.FPR()
		return err
	})
	if err != nil {
		return result.Table{}, err
	}
	out := result.Table{
		Title: "False positives beside their bound",
		Setting: fmt.Sprintf("%d elements, 5/8 bit for each distinct one of the stream; rates of the second half. Zipf draws from %d elements.",
			n, universe),
		Corner:  "filter",
		Columns: []string{"bound (Eq. 8)", "all distinct", "Zipf 1.0", "crawl, 10M"},
		Notes: []string{"The bound is reached by streams without repetitions (Corollary 4). Frequent elements set the same few cells again and again, " +
			"so that others are zero more often.",
			"Independent simulation for K = 2, P = 4, Zipf 1.0 on 2^24 elements, the same memory: 4.0 %."},
	}
	for i, shape := range shapes {
		shape.Cells = 1 << 30
		fps, err := shape.FPS()
		if err != nil {
			return result.Table{}, err
		}
		out.Rows = append(out.Rows, result.Row{Name: named(shape), Cells: cells(append([]float64{fps}, rates[i]...), 100, "%")})
	}
	return out, nil
}

// small returns a filter of 10/16 bit for each distinct element.
func small(model theory.Stable, t trace) theory.Stable {
	model.Cells = int(slices.Max(t)+1) * 10 / 16 / bits.Len(uint(model.Max))
	return model
}

// apart compares P adjacent cells, which the paper's implementation decrements, with P
// different ones of Algorithm 1.
func apart(ctx context.Context, o result.Options) (result.Table, error) {
	n := 200_000
	if o.Full {
		n = 4_000_000
	}
	const seeds = 3
	shapes := []theory.Stable{{K: 2, P: 4, Max: 1}, {K: 3, P: 10, Max: 1}, {K: 3, P: 13, Max: 3}, {K: 4, P: 26, Max: 3}}
	streams := []string{"all distinct", "gaps 1 to 30,000", "crawl, 10M"}
	type pair struct{ fpr, fnr [2][seeds]float64 } // adjacent, independent
	measured := make([]pair, len(shapes)*len(streams))
	err := result.Parallel(ctx, len(measured)*seeds, o.Workers, func(task int) error {
		at, seed := task/seeds, task%seeds
		t := distinctTrace(n)
		var err error
		switch at % len(streams) {
		case 1:
			t = lagTrace(n, 1, 30_000, uint64(seed))
		case 2:
			t, err = crawl(ctx, n, uint64(seed))
		}
		for i := range 2 {
			if err != nil {
				return err
			}
			c := config(shapes[at/len(streams)])
			c.Cells, c.Independent, c.Seed = 1<<15, i == 1, uint64(seed)
			var score stream.Score
			score, err = t.rates(ctx, c, n/4)
			measured[at].fpr[i][seed], measured[at].fnr[i][seed] = score.FPR(), score.FNR()
		}
		return err
	})
	if err != nil {
		return result.Table{}, err
	}
	out := result.Table{
		Title: "P adjacent cells and P independent ones",
		Setting: fmt.Sprintf("%d elements, 32,768 cells; rates after the first quarter, mean and half the span of %d seeds of stream and filter. "+
			"Gaps are log-uniform.", n, seeds),
		Corner:  "filter, stream",
		Columns: []string{"adjacent FPR", "independent FPR", "adjacent FNR", "independent FNR"},
		Notes: []string{"Section 5.2 takes adjacent cells \"for efficiency\", without showing that they do no harm. They do none: each cell is decremented with " +
			"probability P/m either way, which is all that Theorem 2 and Eq. 9 to 14 use of it, and two cells of an element are adjacent with probability K^2 P/m only."},
	}
	for at, m := range measured {
		row := result.Row{Name: named(shapes[at/len(streams)]) + ", " + streams[at%len(streams)]}
		for _, values := range [][2][seeds]float64{m.fpr, m.fnr} {
			for i := range 2 {
				cell := result.Spread(values[i][:], 100, "%")
				cell.Blank = at%len(streams) == 0 && values == m.fnr // nothing to miss
				row.Cells = append(row.Cells, cell)
			}
		}
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}
