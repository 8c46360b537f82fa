package paper

import (
	"errors"
	"fmt"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// LocalFiltersConfig says which local filters to build.
type LocalFiltersConfig struct {
	Producers int // from 1 to 2^20
	Bits      int // of each producer's filter; all together have at most 2^38
	K         int // hash functions of a producer's filter, from 1 to 1024
	// Dense has an element enter its producer's filter whenever that misses it, by
	// test-and-set; otherwise it enters only if the main filter misses it too, by
	// first-test-then-set.
	Dense bool
}

// LocalFilters puts a local Bloom filter at each producer before a main filter of any
// kind (section 6 of the paper at [Tree]). An element that matches the filter of its
// producer is a duplicate; the main filter decides on all others. If the main filter is a
// [Bloom] filter of the same size and hash functions as the local ones, this is a [Tree]
// of two levels.
//
// If the main filter misses no duplicate, every element is reported as distinct at most
// once. Where the sizes or hash functions differ, or the main filter is sliced, local
// filters add false positives of their own (the discussion of Proposition 4); the main
// filter never sees such an element, so its first copy from another producer is reported
// as distinct.
type LocalFilters struct {
	main   Filter
	locals []cells
	m      uint64
	pos    []uint64
	dense  bool
	counts LocalCounts
}

// LocalCounts holds what happened at the producers and at the main filter. Tests
// and Sets are accesses to local filters, Main counts the elements passed on.
type LocalCounts struct {
	Tests, Sets int
	LocalHits   int // elements reported as duplicates by their producers' filters
	Main        int
	MainHits    int // of these, reported as duplicates
}

// NewLocalFilters returns empty local filters before main, which must be empty too.
// Nothing else may use main. Errors wrap [ErrParameter].
func NewLocalFilters(c LocalFiltersConfig, main Filter) (*LocalFilters, error) {
	if main == nil {
		return nil, fmt.Errorf("paper: no main filter: %w", ErrParameter)
	}
	err := errors.Join(
		requireRange("K", c.K, 1, maxHashes),
		requireRange("producers", c.Producers, 1, maxSlices),
	)
	if err != nil {
		return nil, err
	}
	if err := requireRange("Bits", c.Bits, 1, maxBits/c.Producers); err != nil {
		return nil, fmt.Errorf("%d producers: %w", c.Producers, err)
	}
	f := &LocalFilters{
		main:   main,
		locals: make([]cells, c.Producers),
		m:      uint64(c.Bits),
		pos:    make([]uint64, c.K),
		dense:  c.Dense,
	}
	for i := range f.locals {
		f.locals[i] = newCells(c.Bits, 1)
	}
	return f, nil
}

// TestAndSetFrom reports whether the element was seen before at any producer, as far as
// the main filter remembers, and remembers it. producer is below the number of producers.
// Any other panics, as an index out of range does.
func (f *LocalFilters) TestAndSetFrom(producer int, d digest.Digest) (seen bool) {
	local := &f.locals[producer]
	positions(f.pos, d, f.m)
	f.counts.Tests++
	if allSet(local, f.pos) {
		f.counts.LocalHits++
		return true
	}
	if f.dense {
		setAll(local, f.pos)
	}
	f.counts.Main++
	if f.main.TestAndSet(d) {
		f.counts.MainHits++
		return true
	}
	if !f.dense {
		f.counts.Sets++
		setAll(local, f.pos)
	}
	return false
}

// Counts returns the counts since the filters were made.
func (f *LocalFilters) Counts() LocalCounts { return f.counts }

// Bits returns the memory of the local filters and the main one, in bits.
func (f *LocalFilters) Bits() int { return len(f.locals)*int(f.m) + f.main.Bits() }
