package sliding

import (
	"context"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
)

const (
	equalK      = 8
	equalFPR    = 0.02
	equalSlices = 40
)

// equalRun is one filter with the equal timers heuristic: k' = atLeast, in horizontal
// slices of which one is the same as a vertical filter.
type equalRun struct {
	window, slices, atLeast int
}

// equalResult is what came of it, summed over the seeds.
type equalResult struct {
	score   stream.Score // by the filter's own deliveries
	perfect stream.Score // by those of a filter without errors
	// groups[x] counts by its own deliveries the events without a zero timer and with
	// x equal ones at most: here true duplicates are Duplicates.
	groups [equalK + 1]stream.Score
}

// equalRuns returns the runs of one window: all k' of vertical, then of horizontal
// filters.
func equalRuns(window int) []equalRun {
	var runs []equalRun
	for _, slices := range []int{1, equalSlices} {
		for atLeast := 1; atLeast <= equalK; atLeast++ {
			runs = append(runs, equalRun{window, slices, atLeast})
		}
	}
	return runs
}

// timers returns the size of the filter.
func (r equalRun) timers(s *source) int { return size(equalK, s.distinct(r.window), equalFPR) }

// runEqual returns the results of the runs in order.
func runEqual(ctx context.Context, s *source, workers int, runs []equalRun) ([]equalResult, error) {
	parts := make([]equalResult, len(runs)*s.seeds)
	err := result.Parallel(ctx, len(parts), workers, func(i int) (err error) {
		parts[i], err = runs[i/s.seeds].one(ctx, s, i%s.seeds+1)
		return err
	})
	if err != nil {
		return nil, err
	}
	results := make([]equalResult, len(runs))
	for i, part := range parts {
		results[i/s.seeds].add(part)
	}
	return results, nil
}

// one runs a stream.
func (r equalRun) one(ctx context.Context, s *source, seed int) (out equalResult, err error) {
	f, err := paper.NewTimerSlices(paper.TimerConfig{
		Timers: r.timers(s), K: equalK, Window: r.window, Equal: r.atLeast,
	}, r.slices)
	if err != nil {
		return out, err
	}
	j := newGroundTruth(r.window)
	err = s.replay(ctx, seed, func(i int, element uint64) {
		unit, d := uint64(i), stream.Digest(element)
		group := f.Slice(d).EqualTimers(d, unit)
		v := j.verdict(element, unit, f.TestAndSetAt(d, unit))
		out.groups[group].Add(v.known, v.seen)
		out.score.Add(v.known, v.seen)
		out.perfect.Add(v.perfectKnown, v.seen)
	})
	return out, err
}

func (r *equalResult) add(part equalResult) {
	sum(&r.score, part.score)
	sum(&r.perfect, part.perfect)
	for x := range r.groups {
		sum(&r.groups[x], part.groups[x])
	}
}

// sum adds a part's counts.
func sum(s *stream.Score, part stream.Score) {
	s.Distinct += part.Distinct
	s.FalsePositives += part.FalsePositives
	s.Duplicates += part.Duplicates
	s.FalseNegatives += part.FalseNegatives
}
