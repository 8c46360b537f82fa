// Package biased reproduces the tables and figures of "Advanced Bloom Filter Based
// Algorithms for Efficient Approximate Data De-Duplication in Streams" (Bera, Dutta,
// Narang, Bhattacherjee, 2012), section by section.
//
// By default N and memory are printed ones divided. This keeps every rate but raises its
// sampling error.
package biased

import (
	"context"
	"fmt"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// Experiment returns Tables 1 to 9, Figures 2 to 11, the recurrences of sections 3 to 5
// and the choice of k.
func Experiment() result.Experiment {
	var makers []result.Maker
	for _, t := range tables() {
		makers = append(makers, result.Maker{Name: t.name, Make: func(ctx context.Context, o result.Options) (result.Table, error) {
			scale, seeds := sizes(o)
			return t.make(ctx, o, scale, seeds)
		}})
	}
	for _, f := range figures {
		makers = append(makers, result.Maker{Name: f.name, Make: f.make})
	}
	makers = append(makers, result.Maker{Name: "p1.recurrence", Make: recurrence}, result.Maker{Name: "p1.parameters", Make: parameters})
	return result.New("p1", "Advanced Bloom Filter Based Algorithms for Efficient Approximate Data De-Duplication in Streams", makers...)
}

const megabyte = 8 << 20 // in bits

// size is the size of a run: everything printed, divided by scale.
type size struct{ elements, distinct, scale int }

func (t table) size(scale int) size { return newSize(t.millions, t.percent, scale) }

func newSize(millions, percent, scale int) size {
	n := millions * 1_000_000 / scale
	return size{elements: n, distinct: int(int64(n) * int64(percent) / 100), scale: scale}
}

// batchSize is how many elements go through one filter before the next: so many that a
// scaled filter stays in the last-level cache for most of its batch. With a few thousand,
// the filters would evict each other every time.
const batchSize = 1 << 18

// run puts the stream of a seed through all filters in a single pass, since making it and
// its truth costs as much as a filter does. It calls report for each batch and filter. A
// batch ends just behind the end of each part, or is shorter.
func (s size) run(ctx context.Context, seed, parts int, filters []filter, report func(number int, known, seen []bool)) error {
	source := newBatches(s, uint64(seed)+1, min(batchSize, (s.elements+parts-1)/parts))
	seen := make([]bool, batchSize)
	for source.next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		for i, f := range filters {
			paper.TestAndSetAll(f, source.digests, seen)
			report(i, source.known, seen)
		}
	}
	return nil
}

// batches cuts a stream into batches, with the truth about each element.
type batches struct {
	stream *stream.Shuffled
	set    stream.Known
	// The batch: elements, what a filter sees of them, and whether they came before.
	elements []uint64
	digests  []digest.Digest
	known    []bool
}

func newBatches(s size, seed uint64, most int) *batches {
	return &batches{
		stream:   stream.NewShuffled(s.elements, s.distinct, seed),
		set:      stream.NewKnown(s.distinct),
		elements: make([]uint64, 0, most),
		digests:  make([]digest.Digest, 0, most),
		known:    make([]bool, 0, most),
	}
}

// next makes the next batch, and returns false at the end. Each step has its own loop, so
// that the waits for the set's memory overlap.
func (b *batches) next() bool {
	b.elements, b.digests, b.known = b.elements[:0], b.digests[:0], b.known[:0]
	for len(b.elements) < cap(b.elements) {
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

// method is a column of a table: a filter to build.
type method struct {
	name  string
	k     int
	model theory.BiasedMethod
	new   func(c paper.BiasedConfig) (filter, error)
	reach int // of decrements and resets; 0 is everything
}

func (m method) restrictedTo(reach int) method {
	m.reach = reach
	return m
}

// filter is one of the paper's, which compares their loads.
type filter interface {
	paper.Filter
	Load() float64
}

// build returns a filter for each method.
func build(methods []method, megabytes int, s size, seed int) ([]filter, error) {
	filters := make([]filter, len(methods))
	for i, m := range methods {
		f, err := m.new(paper.BiasedConfig{Bits: int(int64(megabytes) * megabyte / int64(s.scale)), K: m.k, Seed: uint64(seed<<8 | i), Reach: m.reach})
		if err != nil {
			return nil, fmt.Errorf("%s of %d MB: %w", m.name, megabytes, err)
		}
		filters[i] = f
	}
	return filters, nil
}

// rivals returns the columns of Tables 4 to 9. The paper names neither the
// parameters of its SBF nor K of RSBF; these give its numbers.
func rivals() []method {
	return []method{
		{name: "SBF", k: 2, new: func(c paper.BiasedConfig) (filter, error) {
			return paper.NewStable(paper.StableConfig{Cells: c.Bits, CellBits: 1, K: c.K, P: 4, Seed: c.Seed, Reach: c.Reach})
		}},
		{name: "RSBF", k: 2, model: theory.RSBF, new: func(c paper.BiasedConfig) (filter, error) {
			const threshold = 0.03 // p*, section 6
			return paper.NewRSBF(c, threshold)
		}},
		named("BSBF", newBSBF(2)), named("BSBFSD", newBSBFSD(2)), named("RLBSBF", newRLBSBF(2)),
	}
}

func named(name string, m method) method {
	m.name = name
	return m
}

// sweep returns the columns of Tables 1 to 3: one method with k from 1 to 5.
func sweep(build func(k int) method) []method {
	var all []method
	for k := 1; k <= 5; k++ {
		all = append(all, named(fmt.Sprintf("k=%d", k), build(k)))
	}
	return all
}

func newBSBF(k int) method {
	return method{k: k, model: theory.BSBF, new: func(c paper.BiasedConfig) (filter, error) { return paper.NewBSBF(c) }}
}

func newBSBFSD(k int) method {
	return method{k: k, model: theory.BSBFSD, new: func(c paper.BiasedConfig) (filter, error) { return paper.NewBSBFSD(c) }}
}

func newRLBSBF(k int) method {
	return method{k: k, model: theory.RLBSBF, new: func(c paper.BiasedConfig) (filter, error) { return paper.NewRLBSBF(c) }}
}
