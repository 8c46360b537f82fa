package quotient

import (
	"context"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// uniform is an artificial stream of the paper: independent draws, all elements of
// the alphabet being equally likely.
type uniform struct {
	elements, alphabet int
	seed               uint64
}

// measure feeds the stream to the filters and returns their scores.
func (u uniform) measure(ctx context.Context, filters []paper.Filter) ([]stream.Score, error) {
	random := rand.New(rand.NewPCG(u.seed, 3))
	came := stream.NewKnown(u.alphabet)
	scores := make([]stream.Score, len(filters))
	for i := range u.elements {
		if i&0xffff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		element := random.Uint64N(uint64(u.alphabet))
		known := came.Add(element)
		d := stream.Digest(u.seed<<40 | element)
		for j, f := range filters {
			scores[j].Add(known, f.TestAndSet(d))
		}
	}
	return scores, nil
}

// add sums up the scores of several runs.
func add(total, run []stream.Score) {
	for i, s := range run {
		total[i].Distinct += s.Distinct
		total[i].FalsePositives += s.FalsePositives
		total[i].Duplicates += s.Duplicates
		total[i].FalseNegatives += s.FalseNegatives
	}
}
