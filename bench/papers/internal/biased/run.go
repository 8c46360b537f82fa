package biased

import (
	"context"
	"fmt"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
)

const (
	megabyte   = 8 << 20 // in bits
	streamSeed = 1       // all filters of a table see the same stream
)

// size is the size of a run: everything printed, divided by scale.
type size struct{ elements, distinct, scale int }

func (t table) size(scale int) size {
	n := t.millions * 1_000_000 / scale
	return size{elements: n, distinct: n * t.percent / 100, scale: scale}
}

// scores runs all methods with one memory size over one stream, in a single pass:
// making the stream and its truth costs as much as a filter does.
func (t table) scores(ctx context.Context, megabytes int, s size) ([]stream.Score, error) {
	filters := make([]paper.Filter, len(t.methods))
	for i, m := range t.methods {
		f, err := m.build(megabytes*megabyte/s.scale, uint64(i))
		if err != nil {
			return nil, err
		}
		filters[i] = f
	}
	scores := make([]stream.Score, len(filters))
	source := newBatches(s)
	seen := make([]bool, batchSize)
	for source.next() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for i, f := range filters {
			paper.TestAndSetAll(f, source.digests, seen)
			for j, known := range source.known {
				scores[i].Add(known, seen[j])
			}
		}
	}
	return scores, nil
}

// batchSize is how many elements go through one filter before the next: so many that a
// scaled filter stays in the last-level cache for most of its batch. With a few thousand,
// the filters would evict each other every time.
const batchSize = 1 << 18

// batches cuts a stream into batches, with the truth about each element.
type batches struct {
	stream *stream.Shuffled
	set    stream.Known
	// The batch: elements, what a filter sees of them, and whether they came before.
	elements []uint64
	digests  []digest.Digest
	known    []bool
}

func newBatches(s size) *batches {
	return &batches{
		stream:   stream.NewShuffled(s.elements, s.distinct, streamSeed),
		set:      stream.NewKnown(s.distinct),
		elements: make([]uint64, 0, batchSize),
		digests:  make([]digest.Digest, 0, batchSize),
		known:    make([]bool, 0, batchSize),
	}
}

// next makes the next batch, and returns false at the end. Each step has its own loop, so
// that the waits for the set's memory overlap.
func (b *batches) next() bool {
	b.elements, b.digests, b.known = b.elements[:0], b.digests[:0], b.known[:0]
	for len(b.elements) < batchSize {
		element, ok := b.stream.Next()
		if !ok {
			break
		}
		b.elements = append(b.elements, element)
	}
	for _, element := range b.elements {
		b.digests = append(b.digests, stream.Digest(element))
	}
	for _, element := range b.elements {
		b.known = append(b.known, b.set.Add(element))
	}
	return len(b.elements) > 0
}

// method is a column of a table: a filter to build with that many bits.
type method struct {
	name  string
	build func(bits int, seed uint64) (paper.Filter, error)
}

// rivals returns the columns of Tables 4 to 9. The paper names neither the
// parameters of its SBF nor K of RSBF; these give its numbers.
func rivals() []method {
	return []method{
		{"SBF", func(bits int, seed uint64) (paper.Filter, error) {
			return paper.NewStable(paper.StableConfig{Cells: bits, CellBits: 1, K: 2, P: 4, Seed: seed})
		}},
		{"RSBF", func(bits int, seed uint64) (paper.Filter, error) {
			const threshold = 0.03 // p*, section 6
			return paper.NewRSBF(paper.BiasedConfig{Bits: bits, K: 2, Seed: seed}, threshold)
		}},
		{"BSBF", newBSBF(2)},
		{"BSBFSD", newBSBFSD(2)},
		{"RLBSBF", newRLBSBF(2)},
	}
}

// sweep returns the columns of Tables 1 to 3: one method with k from 1 to 5.
func sweep(build func(k int) func(bits int, seed uint64) (paper.Filter, error)) []method {
	var all []method
	for k := 1; k <= 5; k++ {
		all = append(all, method{fmt.Sprintf("k=%d", k), build(k)})
	}
	return all
}

func newBSBF(k int) func(bits int, seed uint64) (paper.Filter, error) {
	return func(bits int, seed uint64) (paper.Filter, error) {
		return paper.NewBSBF(paper.BiasedConfig{Bits: bits, K: k, Seed: seed})
	}
}

func newBSBFSD(k int) func(bits int, seed uint64) (paper.Filter, error) {
	return func(bits int, seed uint64) (paper.Filter, error) {
		return paper.NewBSBFSD(paper.BiasedConfig{Bits: bits, K: k, Seed: seed})
	}
}

func newRLBSBF(k int) func(bits int, seed uint64) (paper.Filter, error) {
	return func(bits int, seed uint64) (paper.Filter, error) {
		return paper.NewRLBSBF(paper.BiasedConfig{Bits: bits, K: k, Seed: seed})
	}
}
