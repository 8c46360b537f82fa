package clicks

import (
	"context"
	"fmt"
	"math"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// textSetup says how large the filters are whose rates the text gives.
type textSetup struct {
	window   int // distinct clicks
	measured int // after the first window
}

func newTextSetup(o result.Options) textSetup {
	if o.Full {
		return textSetup{window: 1_000_000, measured: 20_000_000}
	}
	return textSetup{window: 100_000, measured: 2_000_000}
}

func text(ctx context.Context, s textSetup, workers int) (result.Table, error) {
	perElement := []float64{9.6, 16}
	rates := make([]float64, len(perElement))
	err := result.Parallel(ctx, len(rates), workers, func(i int) (err error) {
		rates[i], err = s.fullRate(ctx, perElement[i])
		return err
	})
	if err != nil {
		return result.Table{}, err
	}
	vectors, err := paper.NewSubstrings(32, 16)
	if err != nil {
		return result.Table{}, err
	}
	row := func(name string, ours, printed float64, unit string) result.Row {
		return result.Row{Name: name, Cells: []result.Cell{result.Compared(ours, printed, unit)}}
	}
	return result.Table{
		Name:    "p2.text",
		Title:   "Numbers of the text",
		Setting: fmt.Sprintf("Error rates are measured on %d distinct clicks, with a filter that always holds the last %d.", s.measured, s.window),
		Corner:  "number",
		Columns: []string{"value"},
		Rows: []result.Row{
			row("memory of 17 vectors for substrings of 16 bits, of one vector for IDs of 32", 100*float64(vectors.Bits())/(1<<32), .026, "%"),
			row("bytes of one vector for IDs of 512 bits", math.Exp2(512-3), 1.676e153, ""),
			row("error rate with 9.6 bits for each click", 100*rates[0], 1, "%"),
			row("error rate with 16 bits for each click", 100*rates[1], .046, "%"),
			row("factor of the error rate for each bit for each click", math.Exp2(-math.Ln2), .619, ""),
			row("flags for each function, 1,000,000 distinct clicks", perFunction(1_000_000), 1_442_695, ""),
			row("counters for each function, windows of 200,000 distinct clicks", perFunction(200_000), 288_539, ""),
			row("flags for each function, the company's 4,093,573 distinct clicks", perFunction(4_093_573), 5_905_777, ""),
		},
		Notes: []string{
			"The factor is printed as (2^ln 2)^(M/|Y|), about 0.619^(M/|Y|): the minus sign before ln 2 is missing.",
			"The company's jumping windows have 2,177,154 counters for each function, which would be right for 1,509,088 distinct clicks in a window of 2,000,000; how many there were is not printed.",
		},
	}, nil
}

// fullRate returns the error rate of a Bloom filter with the best number of hash
// functions that holds s.window clicks. Those of a sliding window of distinct
// clicks are always as many.
func (s textSetup) fullRate(ctx context.Context, bitsPerClick float64) (float64, error) {
	m := int(math.Round(bitsPerClick * float64(s.window)))
	d, err := theory.BloomOptimalK(m, s.window)
	if err != nil {
		return 0, err
	}
	f, err := paper.NewSlidingBloom(paper.SlidingConfig{
		Counters: m, CounterBits: 8, D: d, Window: s.window, ElementBits: 64,
	})
	if err != nil {
		return 0, err
	}
	if _, err := distinct(ctx, f, 0, s.window); err != nil {
		return 0, err
	}
	c, err := distinct(ctx, f, uint64(s.window), s.measured)
	return c.rate(), err
}
