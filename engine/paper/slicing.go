package paper

import (
	"fmt"
	"math/bits"
)

// maxSlices bounds the sites of a sliced filter and the filters of a tree, each of
// which takes some memory of its own. The papers use up to 100.
const maxSlices = 1 << 20

// SlicedConfig says which sliced Bloom filter to build: [NewHorizontal],
// [NewVertical], [NewHVDiced], [NewVHDiced] or [NewSplit].
type SlicedConfig struct {
	Bits   int // m in all, at least one for each slice and at most 2^38; slices have floor(m/number of slices)
	K      int // hash functions, from 1 to 1024
	Slices int // S, from 1 to 2^20; with an inner slicing S S' is at most 2^20

	// AtLeast is x of the fault tolerance heuristic: the bits that have to be in
	// working slices for an element to be a duplicate, from 0 to K. With 0 the
	// elements that failed slices leave undecided are duplicates, with K distinct.
	AtLeast int
	// FirstTest selects the first-test-then-set primitive: bits are set in a
	// second round, for distinct elements only. Otherwise test-and-set is used, by
	// which a slice sets the bits as it tests them. Verdicts are the same.
	FirstTest bool
	// Pipelined has the slices of an element contacted in turn instead of in
	// parallel. Verdicts are the same.
	Pipelined bool
}

func (c SlicedConfig) validate(slices int) error {
	if err := requireRange("K", c.K, 1, maxHashes); err != nil {
		return err
	}
	if err := requireRange("Bits", c.Bits, slices, maxBits); err != nil {
		return fmt.Errorf("a bit for each slice: %w", err)
	}
	return requireRange("AtLeast", c.AtLeast, 0, c.K)
}

// newSliced returns a filter of S slices, each sliced into inner ones again. arranged
// returns the arrangement for slices of size bits.
func (c SlicedConfig) newSliced(inner int, arranged func(size uint64) arrangement) (*Sliced, error) {
	if err := requireRange("Slices", c.Slices, 1, maxSlices); err != nil {
		return nil, err
	}
	if err := requireRange("inner slices", inner, 1, maxSlices/c.Slices); err != nil {
		return nil, err
	}
	count := c.Slices * inner
	if err := c.validate(count); err != nil {
		return nil, err
	}
	size := c.Bits / count
	s := &Sliced{
		slices:       make([]slice, count),
		size:         uint64(size),
		arrange:      arranged(uint64(size)),
		atLeast:      c.AtLeast,
		firstTest:    c.FirstTest,
		pipelined:    c.Pipelined,
		offsetBits:   bits.Len64(uint64(size) - 1),
		positionBits: bits.Len64(uint64(size*count) - 1),
		pos:          make([]uint64, c.K),
		addresses:    make([]bitAddress, c.K),
	}
	for i := range s.slices {
		s.slices[i].bits = newCells(size, 1)
	}
	return s, nil
}
