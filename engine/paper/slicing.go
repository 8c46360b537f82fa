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

// NewHorizontal returns a horizontally sliced Bloom filter (Definition 1 of the paper at
// [Sliced]): an additional hash function H_S chooses one of S basic Bloom filters of
// floor(m/S) bits, which holds all K bits of the element. It is [NewSplit] with k1 = 1. A
// failed slice loses all bits of its elements, so AtLeast = 0 reports them as duplicates,
// and any higher value as distinct. Errors wrap [ErrParameter].
func NewHorizontal(c SlicedConfig) (*Sliced, error) {
	return NewSplit(c, 1)
}

// NewVertical returns a vertically sliced Bloom filter (Definition 2 of the paper
// at [Sliced]): slice i of one large filter is its range of bits from i m/S on,
// floor(m/S) of them. It is [NewSplit] with k1 = K. Without failures its verdicts are
// those of the unsliced filter of the same bits, S = 1, element for element. Errors
// wrap [ErrParameter].
func NewVertical(c SlicedConfig) (*Sliced, error) {
	return NewSplit(c, c.K)
}

// NewSplit returns a Bloom filter sliced in the general way (section 3.3,
// Proposition 2 of the paper at [Sliced]): k1 hash functions each select one of S
// slices, in each of which the element has k2 = K/k1 bits. k1 has to divide K.
// Errors wrap [ErrParameter].
//
// Interpretation:
//
//   - The k1 functions may select the same slice, as those of vertical slicing (k1 = K)
//     do.
//   - All K offsets come from functions of their own ("we apply k1 k2 hash
//     functions"). With the same k2 offsets in every selected slice, elements would
//     share their bits in groups, and vertical slicing would not be that of
//     Definition 2.
func NewSplit(c SlicedConfig, k1 int) (*Sliced, error) {
	if err := requireRange("K", c.K, 1, maxHashes); err != nil {
		return nil, err
	}
	if err := requireRange("k1", k1, 1, c.K); err != nil {
		return nil, err
	}
	if c.K%k1 != 0 {
		return nil, fmt.Errorf("paper: k1 is %d, must divide K, which is %d: %w", k1, c.K, ErrParameter)
	}
	k2 := c.K / k1
	return c.newSliced(1, func(size uint64) arrangement {
		return func(addresses []bitAddress, pos []uint64) {
			for i, p := range pos {
				selected := pos[i-i%k2] / size
				addresses[i] = bitAddress{slice: int(selected), offset: p % size}
			}
		}
	})
}

// NewHVDiced returns an h-v diced Bloom filter (section 3.3 of the paper at
// [Sliced]): S horizontal slices, each of which is sliced vertically into inner
// ones, S'. Slice number i S' + j is part j of horizontal slice i. Errors wrap
// [ErrParameter].
func NewHVDiced(c SlicedConfig, inner int) (*Sliced, error) {
	return c.newSliced(inner, func(size uint64) arrangement {
		return func(addresses []bitAddress, pos []uint64) {
			outer := pos[0] / size / uint64(inner)
			for i, p := range pos {
				part := p / size % uint64(inner)
				addresses[i] = bitAddress{slice: int(outer*uint64(inner) + part), offset: p % size}
			}
		}
	})
}

// NewVHDiced returns a v-h diced Bloom filter (section 3.3 of the paper at
// [Sliced]): S vertical slices, each of which is sliced horizontally into inner
// ones, S'. Slice number i S' + j is part j of vertical slice i. Errors wrap
// [ErrParameter].
//
// Interpretation: each vertical slice chooses one of its parts for an element by a hash
// function of its own. One choice for all vertical slices would make the filter an h-v
// diced one with S and S' exchanged.
func NewVHDiced(c SlicedConfig, inner int) (*Sliced, error) {
	return c.newSliced(inner, func(size uint64) arrangement {
		outer := size * uint64(inner)
		return func(addresses []bitAddress, pos []uint64) {
			for i, p := range pos {
				chosen := pos[firstWithin(pos, p/outer, outer)] / size
				addresses[i] = bitAddress{slice: int(chosen), offset: p % size}
			}
		}
	})
}

// firstWithin returns the first position that lies in the given slice of size bits; there
// must be one. Its part of that slice is the choice for all.
func firstWithin(pos []uint64, slice, size uint64) int {
	i := 0
	for pos[i]/size != slice {
		i++
	}
	return i
}

// Fail makes the site of a slice fail: from now on its bits are neither read nor set.
// slice is from 0 to Slices - 1. It has no effect on a slice that failed before.
//
// AtLeast ([SlicedConfig]) decides on an element with bits there, in the three ways of
// section 3.2 of the paper: a duplicate, by Eq. 5 or 6; distinct, by the symmetric
// approach; or the heuristic in between. See theory.Sliced for the rates.
func (s *Sliced) Fail(slice int) error {
	if err := requireRange("slice", slice, 0, len(s.slices)-1); err != nil {
		return err
	}
	s.slices[slice].failed = true
	return nil
}

// Failed returns the number of slices that have failed.
func (s *Sliced) Failed() int {
	failed := 0
	for i := range s.slices {
		if s.slices[i].failed {
			failed++
		}
	}
	return failed
}
