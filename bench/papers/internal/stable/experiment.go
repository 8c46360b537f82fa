package stable

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// maker makes one table.
type maker func(ctx context.Context, o result.Options) (result.Table, error)

// makers returns the tables' names, in order, with what makes them.
func makers() ([]string, map[string]maker) {
	names := []string{"p0.table2", "p0.figure1", "p0.figure2", "p0.figure3", "p0.figure4", "p0.parameters", "p0.bound"}
	return names, map[string]maker{
		"p0.table2":     table2,
		"p0.figure1":    figure1,
		"p0.figure2":    figure2,
		"p0.figure3":    figure3,
		"p0.figure4":    figure4,
		"p0.parameters": parameters,
		"p0.bound":      bound,
	}
}

// Experiment returns Table 2, Figures 1 to 4, the parameters that section 4.1
// recommends, and the bound of section 3.5 on several streams.
func Experiment() result.Experiment {
	names, all := makers()
	return result.Experiment{
		Paper:  "p0",
		Title:  "Approximately Detecting Duplicates for Streaming Data using Stable Bloom Filters",
		Tables: names,
		Run: func(ctx context.Context, name string, o result.Options) (result.Table, error) {
			maker, ok := all[name]
			if !ok {
				return result.Table{}, fmt.Errorf("stable: no table %q", name)
			}
			table, err := maker(ctx, o)
			table.Name = name
			return table, err
		},
	}
}

// recommendation is what section 4.1 prints for a setting.
type recommendation struct {
	setting
	fewest, most int     // K
	p            float64 // NaN if none is printed
}

func recommendations() []recommendation {
	none := math.NaN()
	return []recommendation{
		{setting{1, 1, 0.2}, 1, 2, none},
		{setting{1, 1, 0.1}, 2, 2, 4},
		{setting{1, 1, 0.01}, 3, 3, 10},
		{setting{3, 2, 0.1}, 2, 3, none},
		{setting{3, 2, 0.01}, 4, 5, none},
		{setting{15, 4, 0.01}, 6, 6, 141},
	}
}

// parameters finds the best K and P for the settings of section 4.1, at short and
// at long gaps.
func parameters(context.Context, result.Options) (result.Table, error) {
	const cells = 1_000_000
	out := result.Table{
		Title:   "Best K and P",
		Setting: "Closed forms for a million cells; the best K by the miss rate at three gaps, with P by Eq. 17 rounded up.",
		Corner:  "setting",
		Columns: []string{"K, gap m/1000", "K, gap m/100", "K, gap m/20", "printed K, least", "printed K, most",
			"P by Eq. 17 at the largest printed K", "the same rounded down", "bound with that, %"},
		Notes: []string{"The paper rounds P down, by which its bound is above the one asked for (last column); rounded up it is kept.",
			"\"Optimal or near optimal\" is what the paper calls its K: neighbors differ little, see p0.figure1. At short gaps rates of larger cells " +
				"drown in rounding errors, and no K is given."},
	}
	for _, r := range recommendations() {
		row := result.Row{Name: r.String()}
		for _, gap := range []int{cells / 1000, cells / 100, cells / 20} {
			row.Cells = append(row.Cells, bestK(cells, gap, r))
		}
		exact, err := theory.StablePExact(cells, r.most, r.top, r.fps)
		if err != nil {
			return result.Table{}, err
		}
		down := math.Floor(exact)
		fps, err := theory.Stable{Cells: cells, K: r.most, P: int(down), Max: r.top}.FPS()
		if err != nil {
			return result.Table{}, err
		}
		row.Cells = append(row.Cells, result.Measured(float64(r.fewest), ""), result.Measured(float64(r.most), ""),
			result.Measured(exact, ""), result.Compared(down, r.p, ""), result.Measured(100*fps, "%"))
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}

// bestK returns the best K beside the printed one, if that is a single one.
func bestK(cells, gap int, r recommendation) result.Cell {
	best, err := theory.StableBestK(cells, r.top, r.fps, gap)
	switch {
	case err != nil:
		return result.Cell{Blank: true}
	case r.fewest == r.most:
		return result.Compared(float64(best.K), float64(r.most), "")
	}
	return result.Measured(float64(best.K), "")
}

// bound measures how far the bound on the false positive rate (Eq. 8) is from the
// rates on three streams, in memory that is much too small for them.
func bound(ctx context.Context, o result.Options) (result.Table, error) {
	n, universe := 1_000_000, 1<<22
	if o.Full {
		n, universe = 10_000_000, 1<<24
	}
	names := []string{"all distinct", "Zipf 1.0", "crawl, 10M"}
	repeating, err := newCrawlTrace(ctx, n)
	if err != nil {
		return result.Table{}, err
	}
	traces := []trace{newDistinctTrace(n), newZipfTrace(n, universe, 1, streamSeed), repeating}
	shapes := []theory.Stable{{K: 2, P: 4, Max: 1}, {K: 3, P: 10, Max: 1}, {K: 4, P: 24, Max: 3}}
	rates := newGrid(len(shapes), len(traces))
	err = result.Parallel(ctx, len(shapes)*len(traces), o.Workers, func(task int) (err error) {
		i, j := task/len(traces), task%len(traces)
		rates[i][j], err = smallRate(ctx, shapes[i], traces[j])
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
		Columns: append([]string{"bound (Eq. 8)"}, names...),
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
		out.Rows = append(out.Rows, result.Row{
			Name:  fmt.Sprintf("Max %d, K %d, P %d", shape.Max, shape.K, shape.P),
			Cells: append([]result.Cell{result.Measured(100*fps, "%")}, percents(rates[i])...),
		})
	}
	return out, nil
}

// smallRate returns the false positive rate in the second half of a stream, when
// the filter is stable, with 10/16 bit for each distinct element.
func smallRate(ctx context.Context, model theory.Stable, t trace) (float64, error) {
	model.Cells = int(slices.Max(t)+1) * 10 / 16 / bits.Len(uint(model.Max))
	f, err := build(model)
	if err != nil {
		return 0, err
	}
	score, err := t.score(ctx, f, len(t)/2)
	return score.FPR(), err
}
