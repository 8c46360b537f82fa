package stable

import (
	"context"
	"math/bits"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// trace is a stream of elements, numbered 0, 1, ... by their first occurrence: an
// element came before if its number is below the count of different ones.
type trace []uint32

// batchSize is how many elements are hashed before they are tested.
const batchSize = 1 << 14

// run puts the stream through a filter. It calls report for each batch, with the number
// of its first element and the filter's reports.
func (t trace) run(ctx context.Context, f paper.Filter, report func(first int, seen []bool)) error {
	digests, seen := make([]digest.Digest, batchSize), make([]bool, batchSize)
	for first := 0; first < len(t); first += batchSize {
		if err := ctx.Err(); err != nil {
			return err
		}
		batch := t[first:min(first+batchSize, len(t))]
		for i, element := range batch {
			digests[i] = stream.Digest(uint64(element))
		}
		paper.TestAndSetAll(f, digests[:len(batch)], seen)
		report(first, seen[:len(batch)])
	}
	return nil
}

// score counts a filter's errors from element number from on.
func (t trace) score(ctx context.Context, f paper.Filter, from int) (score stream.Score, err error) {
	distinct := uint32(0)
	err = t.run(ctx, f, func(first int, seen []bool) {
		for i, element := range t[first : first+len(seen)] {
			if first+i >= from {
				score.Add(element < distinct, seen[i])
			}
			distinct = max(distinct, element+1)
		}
	})
	return score, err
}

// newDistinctTrace returns n different elements.
func newDistinctTrace(n int) trace {
	t := make(trace, n)
	for i := range t {
		t[i] = uint32(i)
	}
	return t
}

// newZipfTrace returns n draws from universe elements by Zipf's law.
func newZipfTrace(n, universe int, alpha float64, seed uint64) trace {
	zipf := stream.NewZipf(universe, alpha, seed)
	t, distinct := make(trace, n), uint32(0)
	numbers := make([]uint32, universe) // plus one; 0 for those that did not come yet
	for i := range t {
		number := &numbers[zipf.Next()]
		if *number == 0 {
			distinct++
			*number = distinct
		}
		t[i] = *number - 1
	}
	return t
}

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

// missRate measures a filter's share of misses at one gap. It does not depend on whether
// the filter is stable yet: the element's cells start with Max.
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
