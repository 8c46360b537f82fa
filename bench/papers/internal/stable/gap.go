package stable

import (
	"context"
	"math/bits"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// newGapTrace returns n elements of which half, at random, repeat the one with
// exactly gap other elements in between. All others are new.
func newGapTrace(n, gap int, seed uint64) trace {
	random := rand.New(rand.NewPCG(seed, 0))
	t, distinct := make(trace, n), uint32(0)
	for i := range t {
		if i > gap && random.IntN(2) == 0 {
			t[i] = t[i-gap-1]
			continue
		}
		t[i] = distinct
		distinct++
	}
	return t
}

// missRate measures a filter's share of misses at one gap. It does not depend on
// whether the filter is stable yet: the element's cells began with Max.
func missRate(ctx context.Context, s theory.Stable, gap, n int) (float64, error) {
	f, err := build(s)
	if err != nil {
		return 0, err
	}
	score, err := newGapTrace(n, gap, streamSeed).score(ctx, f, 0)
	return score.FNR(), err
}

// build returns the filter of a model, whose Max is 2^d - 1.
func build(s theory.Stable) (*paper.Stable, error) {
	return paper.NewStable(paper.StableConfig{
		Cells: s.Cells, CellBits: bits.Len(uint(s.Max)), K: s.K, P: s.P, Seed: filterSeed,
	})
}
