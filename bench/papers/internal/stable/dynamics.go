package stable

import (
	"context"
	"fmt"

	"github.com/flowdedup/flowdedup/bench/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
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

// figure4 is the miss rate of FPbuffering less that of the SBF, for four bounds
// on false positives.
func figure4(ctx context.Context, o result.Options) (result.Table, error) {
	set, scale := datasets()[1], 4
	if o.Full {
		scale = 1
	}
	settings := []setting{{3, 2, 0.005}, {3, 2, 0.01}, {1, 1, 0.1}, {1, 1, 0.2}}
	stream, err := set.crawl().draw(ctx, scale, streamSeed)
	if err != nil {
		return result.Table{}, err
	}
	differences := newGrid(len(settings), len(set.rows))
	err = result.Parallel(ctx, len(set.rows), o.Workers, func(j int) error {
		row := set.rows[len(set.rows)-1-j]
		column, err := missDifferences(ctx, stream, settings, int(row.bits/int64(scale)))
		for i, d := range column {
			differences[i][len(set.rows)-1-j] = d
		}
		return err
	})
	if err != nil {
		return result.Table{}, err
	}
	out := result.Table{
		Title: "Misses of FPbuffering less those of the SBF, by the bound on false positives",
		Setting: fmt.Sprintf("The crawl of 10M elements (see p0.table2), elements, distances and memory divided by %d. K = 4 with Max = 3, "+
			"K = 2 with Max = 1; P by Eq. 17 rounded down, as in the paper. Buffers hold 64 bits for an element. "+
			"FPbuffering has the false positive rate of the SBF.", scale),
		Corner: "setting, difference of FNR",
		Notes: []string{"The printed figure has no numbers and is for the paper's 695M elements. Its message: the more false positives are allowed, " +
			"the better the SBF does beside FPbuffering."},
		Charts: []result.Picture{{File: "p0-figure4", Chart: chart.Chart{
			Title: "Misses of FPbuffering less those of the SBF", X: "bits", Y: "difference of false negative rates", LogX: true}}},
	}
	xs := make([]float64, len(set.rows))
	for j, row := range set.rows {
		xs[j] = float64(row.bits)
		out.Columns = append(out.Columns, fmt.Sprint(row.bits))
	}
	for i, s := range settings {
		out.Rows = append(out.Rows, result.Row{Name: s.String(), Cells: percents(differences[i])})
		out.Charts[0].Chart.Lines = append(out.Charts[0].Chart.Lines, chart.Line{Name: s.String(), X: xs, Y: differences[i]})
	}
	return out, nil
}

// missDifferences returns the difference for each setting. The miss rate of FPbuffering
// is that of buffering minus the misses that are reported by chance.
func missDifferences(ctx context.Context, t trace, settings []setting, bits int) ([]float64, error) {
	buffer, err := paper.NewLRU(bits, elementBits)
	if err != nil {
		return nil, err
	}
	misses, err := t.score(ctx, buffer, 0)
	if err != nil {
		return nil, err
	}
	var differences []float64
	for _, s := range settings {
		f, err := s.asPrinted(bits)
		if err != nil {
			return nil, err
		}
		score, err := t.score(ctx, f, 0)
		if err != nil {
			return nil, err
		}
		differences = append(differences, (1-score.FPR())*misses.FNR()-score.FNR())
	}
	return differences, nil
}

// asPrinted returns the filter as the paper has it for Figure 4.
func (s setting) asPrinted(bits int) (*paper.Stable, error) {
	k := 2
	if s.top == 3 {
		k = 4
	}
	exact, err := theory.StablePExact(bits/s.d, k, s.top, s.fps)
	if err != nil {
		return nil, err
	}
	return build(theory.Stable{Cells: bits / s.d, K: k, P: max(1, int(exact)), Max: s.top})
}
