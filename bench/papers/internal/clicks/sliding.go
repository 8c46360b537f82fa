package clicks

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// slidingSetup says how large the sliding window is.
type slidingSetup struct {
	window   int // clicks
	measured int // clicks after the first window
}

func newSlidingSetup(o result.Options) slidingSetup {
	if o.Full {
		return slidingSetup{window: 1_000_000, measured: 10_000_000}
	}
	return slidingSetup{window: 100_000, measured: 1_000_000}
}

const (
	// differing is the expected share of different clicks in a window, and
	// drawsPerID the x for which (1-e^-x)/x, the share that x uniform draws for each
	// ID have, is that.
	differing  = 0.8
	drawsPerID = 0.464213
	// queueBits is the memory of an entry of the queue.
	queueBits = 32
)

// slidingFunctions are the numbers of hash functions. Each gets the memory for which it
// is best.
var slidingFunctions = []int{2, 4, 8}

func (s slidingSetup) config(d int) paper.SlidingConfig {
	return paper.SlidingConfig{
		Counters:    int(math.Round(float64(d) * differing * perFunction(s.window))),
		CounterBits: 4, D: d, Window: s.window, ElementBits: queueBits,
	}
}

func sliding(ctx context.Context, s slidingSetup, workers int) (result.Table, error) {
	t := result.Table{
		Name:  "p2.sliding",
		Title: "Sliding window: counting Bloom filter with a circular queue",
		Setting: fmt.Sprintf("The last %d clicks, with %d uniform draws from so many IDs that %.0f %% of a window differ; "+
			"counters of 4 bits, half of them zero, and %d bits for each entry of the queue. "+
			"Duplicates are clicks whose ID is among the last %d.",
			s.window, s.window+s.measured, 100*differing, queueBits, s.window),
		Corner:  "d",
		Columns: []string{"bits for each click of the window", "error rate", "closed form", "duplicates missed", "share of full counters"},
		Rows:    make([]result.Row, len(slidingFunctions)),
		Notes: []string{
			"The paper describes this window but does not measure it, for want of exact answers at every position of the window; a table of the last position of each ID gives them.",
			"The queue holds clicks, of 512 bits in the paper; 32 bits are for comparison with other methods.",
			"A full counter stays full for ever, so that no duplicate is missed; the last column is what became of all since the start.",
			"Independent simulation at the same memory, of a stream with 1.5 % more different clicks in a window: error rate 25.6 % at 41 bits, 6.5 % at 50.5, 0.43 % at 68.9; no duplicate missed.",
		},
	}
	err := result.Parallel(ctx, len(slidingFunctions), workers, func(i int) (err error) {
		t.Rows[i], err = s.row(ctx, slidingFunctions[i])
		return err
	})
	return t, err
}

func (s slidingSetup) row(ctx context.Context, d int) (result.Row, error) {
	c := s.config(d)
	closed, err := theory.BloomFPRApprox(c.Counters, d, int(math.Round(differing*float64(s.window))))
	if err != nil {
		return result.Row{}, err
	}
	f, err := paper.NewSlidingBloom(c)
	if err != nil {
		return result.Row{}, err
	}
	score, err := s.measure(ctx, f)
	return result.Row{Name: fmt.Sprint(d), Cells: []result.Cell{
		result.Measured(float64(f.Bits())/float64(s.window), ""),
		result.Measured(100*score.FPR(), "%"), result.Measured(100*closed, "%"),
		result.Measured(100*score.FNR(), "%"), result.Measured(f.SaturatedShare(), ""),
	}}, err
}

// measure compares with the exact window, once that is full.
func (s slidingSetup) measure(ctx context.Context, f paper.Filter) (stream.Score, error) {
	ids := uint64(math.Round(float64(s.window) / drawsPerID))
	random := rand.New(rand.NewPCG(1, 2))
	last := make([]int, ids) // position of the latest click, from 1 on
	var score stream.Score
	for at := 1; at <= s.window+s.measured; at++ {
		if at%(1<<16) == 0 && ctx.Err() != nil {
			return score, ctx.Err()
		}
		id := random.Uint64N(ids)
		known := last[id] > 0 && at-last[id] <= s.window
		last[id] = at
		if seen := f.TestAndSet(stream.Digest(id)); at > s.window {
			score.Add(known, seen)
		}
	}
	return score, nil
}

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
// functions that holds s.window clicks. A sliding window of distinct clicks always holds
// so many.
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
