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

// slidingFunctions are the numbers of hash functions, each with the memory that its
// filter is best for.
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
