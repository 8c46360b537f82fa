package stable

import (
	"context"
	"fmt"
	"math/bits"
	"slices"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/engine/theory"
)

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
