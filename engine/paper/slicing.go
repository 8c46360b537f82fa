// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

// maxSlices bounds the sites of a sliced filter and the filters of a tree: each takes
// some memory of its own. The papers use up to 100.
const maxSlices = 1 << 20

// SlicedConfig says which sliced Bloom filter to build: [NewHorizontal],
// [NewVertical], [NewHVDiced], [NewVHDiced] or [NewSplit].
type SlicedConfig struct {
	Bits   int // m in all, at least one for each slice and at most 2^38; slices have floor(m/number of slices)
	K      int // hash functions, from 1 to 1024
	Slices int // S, from 1 to 2^20; with an inner slicing S S' is at most 2^20

	// AtLeast is x of the fault tolerance heuristic: the number of bits that have to be
	// in working slices for an element to be a duplicate, from 0 to K. With 0 the
	// elements that failed slices leave undecided are duplicates, with K they are
	// distinct.
	AtLeast int
	// FirstTest selects the first-test-then-set primitive: bits are set in a second
	// round, for distinct elements only. Otherwise it is test-and-set: a slice sets the
	// bits as it tests them. Verdicts are the same.
	FirstTest bool
	// Pipelined contacts the slices of an element in turn instead of in parallel.
	// Verdicts are the same.
	Pipelined bool
}

// newSliced returns a filter of S slices, each sliced into inner slices again. arrange gets
// the values of K hash functions whose range is the bits of all slices together. Each
// value gives a slice and an offset in it, which are uniform and independent. It changes
// the slices.
func (c SlicedConfig) newSliced(inner int, arrange func(pos []uint64, size uint64)) (*Sliced, error) {
	count := c.Slices * inner
	if err := cmp.Or(
		requireRange("Slices", c.Slices, 1, maxSlices),
		requireRange("inner slices", inner, 1, maxSlices/max(1, c.Slices)),
		requireRange("K", c.K, 1, maxHashes),
		requireRange("Bits, with one for each slice,", c.Bits, count, maxBits),
		requireRange("AtLeast", c.AtLeast, 0, c.K),
	); err != nil {
		return nil, err
	}
	size := c.Bits / count
	s := &Sliced{
		hashed: newHashed(size*count, 1, c.K), config: c, size: uint64(size),
		failed: make([]bool, count), tests: make([]int, count),
	}
	s.hash = func(pos []uint64, d digest.Digest, m uint64) {
		layout.Positions(pos, d, m)
		arrange(pos, s.size)
	}
	return s, nil
}

// NewHorizontal returns a horizontally sliced Bloom filter (Definition 1 of the paper at
// [Sliced]): an additional hash function H_S chooses one of S basic Bloom filters of
// floor(m/S) bits, which holds all K bits of the element. It is [NewSplit] with k1 = 1. A
// failed slice loses all bits of its elements, so AtLeast = 0 reports them as duplicates,
// and any higher value as distinct. Errors wrap [ErrParameter].
func NewHorizontal(c SlicedConfig) (*Sliced, error) { return NewSplit(c, 1) }

// NewVertical returns a vertically sliced Bloom filter (Definition 2 of the paper at
// [Sliced]): slice i of one large filter is its range of bits from i m/S on, floor(m/S)
// of them. It is [NewSplit] with k1 = K. Without failures its verdicts equal, element for
// element, those of the unsliced filter of the same bits, S = 1. Errors wrap
// [ErrParameter].
func NewVertical(c SlicedConfig) (*Sliced, error) { return NewSplit(c, c.K) }

// NewSplit returns a Bloom filter sliced in the general way (section 3.3, Proposition 2
// of the paper at [Sliced]): k1 hash functions each select one of S slices. The element
// has k2 = K/k1 bits in each of them. k1 has to divide K. Errors wrap [ErrParameter].
//
// Interpretation:
//
//   - The k1 functions may select the same slice, as the functions of vertical slicing
//     (k1 = K) may.
//   - All K offsets come from functions of their own ("we apply k1 k2 hash functions").
//     With the same k2 offsets in every selected slice, elements would share their bits
//     in groups, and vertical slicing would contradict Definition 2.
func NewSplit(c SlicedConfig, k1 int) (*Sliced, error) {
	if err := requireRange("k1", k1, 1, c.K); err != nil {
		return nil, err
	}
	if c.K%k1 != 0 {
		return nil, fmt.Errorf("paper: k1 is %d, must divide K, which is %d: %w", k1, c.K, ErrParameter)
	}
	k2 := c.K / k1
	return c.newSliced(1, func(pos []uint64, size uint64) {
		for i, p := range pos {
			selected := pos[i-i%k2] / size
			pos[i] = selected*size + p%size
		}
	})
}

// NewHVDiced returns an h-v diced Bloom filter (section 3.3 of the paper at [Sliced]): S
// horizontal slices, each sliced vertically into S' inner slices. Slice number i S' + j is
// part j of horizontal slice i. Errors wrap [ErrParameter].
func NewHVDiced(c SlicedConfig, inner int) (*Sliced, error) {
	return c.newSliced(inner, func(pos []uint64, size uint64) {
		outer := size * uint64(inner)
		first := pos[0] / outer
		for i, p := range pos {
			pos[i] = first*outer + p%outer
		}
	})
}

// NewVHDiced returns a v-h diced Bloom filter (section 3.3 of the paper at [Sliced]): S
// vertical slices, each sliced horizontally into S' inner slices. Slice number i S' + j is
// part j of vertical slice i. Errors wrap [ErrParameter].
//
// Interpretation: each vertical slice chooses one of its parts for an element by its own
// hash function. One choice for all vertical slices would make the filter an h-v diced
// filter with S and S' exchanged.
func NewVHDiced(c SlicedConfig, inner int) (*Sliced, error) {
	return c.newSliced(inner, func(pos []uint64, size uint64) { layout.DiceVertical(pos, size, inner) })
}

// Fail makes the site of a slice fail: from now on its bits are neither read nor set.
// slice is from 0 to Slices - 1. It has no effect on a slice that failed before.
//
// AtLeast ([SlicedConfig]) decides on an element with bits there, in the three ways of
// section 3.2 of the paper: a duplicate, by Eq. 5 or 6; distinct, by the symmetric
// approach; or the heuristic in between. See theory.Sliced for the rates.
func (s *Sliced) Fail(slice int) error {
	if err := requireRange("slice", slice, 0, len(s.failed)-1); err != nil {
		return err
	}
	s.failed[slice] = true
	return nil
}

// Sliced is an append-only Bloom filter in slices, each at a site of its own, of KNPS,
// section 3. Here all sites are in one process, and [Cost] counts the messages that they
// would send each other.
//
// An element is a duplicate if all its bits in working slices are set and at least x of
// its bits are in working slices ([SlicedConfig]). Without failures this means that all
// its bits are set, so no duplicate is missed. A distinct element sets its bits in the
// working slices.
//
// Interpretation:
//
//   - The vertical fault tolerance heuristic (section 3.2) has it that "at least x bits
//     in non-failed sites with their bits set" make a duplicate. If x set bits were
//     enough in spite of clear ones, most distinct elements would be duplicates for small
//     x. The text before it calls an element with a clear bit in a working slice safely
//     distinct, and only this reproduces the measurements of the paper.
//   - The hash functions are independent of each other, unlike those of [Bloom]: with
//     double hashing, a failure takes several bits of an element at once too often.
//   - One access tests all bits of an element that lie in the same slice (section 7:
//     "some hash functions may lead to the same slice").
//   - A slice that fails stays failed: the paper has no recovery.
//
// The time for an element grows with K, or K^2 when slices within slices are chosen.
type Sliced struct {
	hashed // the bits of all slices, one after the other
	config SlicedConfig
	size   uint64 // bits of a slice
	failed []bool // by slice
	tests  []int  // by slice
	hops   []hop
	cost   Cost
}

var _ Filter = (*Sliced)(nil)

// TestAndSet implements [Filter], by the primitive that the filter was made with.
func (s *Sliced) TestAndSet(d digest.Digest) (seen bool) {
	s.cost.Events++
	s.locate(d)
	live := s.route()
	if seen = s.ask(live) && live >= s.config.AtLeast; !seen {
		s.set(live)
	}
	return seen
}

// ask makes the slices test the element's bits. It reports whether all bits in working
// slices are set.
func (s *Sliced) ask(live int) (allSet bool) {
	allSet = true
	visited := 0
	for _, hop := range s.hops {
		allSet = s.testSlice(hop.slice) && allSet
		visited++
		if !allSet && s.config.Pipelined && s.config.FirstTest {
			break // test-and-set continues, for the bits yet to be set
		}
	}
	s.request(&s.cost.Tests, visited, live)
	if s.config.Pipelined {
		visited = min(visited, 1)
	}
	s.cost.Answers += visited
	return allSet
}

// sliceOf returns the slice in which a position is.
func (s *Sliced) sliceOf(p uint64) int { return int(p / s.size) }

// testSlice reports whether the element's bits in a slice are all set.
func (s *Sliced) testSlice(index int) (allSet bool) {
	s.tests[index]++
	return !slices.ContainsFunc(s.pos, func(p uint64) bool { return s.get(p) == 0 && s.sliceOf(p) == index })
}

// set sets the bits of a distinct element.
func (s *Sliced) set(live int) {
	for _, p := range s.pos {
		if !s.failed[s.sliceOf(p)] {
			s.put(p, 1)
		}
	}
	if s.config.FirstTest {
		s.request(&s.cost.Sets, len(s.hops), live)
	}
}

// slicedLayer is a sliced filter as a node of a [Tree].
type slicedLayer struct{ *Sliced }

func (s slicedLayer) advance(uint64) {}

func (s slicedLayer) test(d digest.Digest) (seen bool) {
	s.locate(d)
	live := s.route()
	return s.ask(live) && live >= s.config.AtLeast
}

func (s slicedLayer) set(d digest.Digest, _ uint64) {
	s.locate(d)
	s.Sliced.set(s.route())
}

func (s slicedLayer) since(digest.Digest) uint64 { return 0 }

// Cost counts a sliced filter's network operations since it was made. A request goes from
// an element's producer to a slice or, pipelined, from a slice to the next slice; a slice
// that takes a request accesses its bits once. Failed slices get none.
//
//   - Test-and-set in parallel: a request to each slice that holds bits of the
//     element, and an answer from each.
//   - Test-and-set pipelined: the same requests, and one answer from the last.
//   - First-test-then-set in parallel: as test-and-set, and for distinct elements
//     another request to each slice, without answers.
//   - First-test-then-set pipelined: requests up to the first slice with a clear bit
//     and one answer; for distinct elements another request to each slice.
//
// The distinct events that producers deliver are the same for all methods and not
// counted.
type Cost struct {
	Events  int // elements
	Tests   int // requests to test, or to test and set
	Sets    int // requests to set, of first-test-then-set
	Answers int // to the producers
	// PositionBits is the size of the positions in all requests, in bits. A position in
	// the tested slice takes log2(m/S), rounded up. A position that is passed on to a
	// later slice of a pipeline takes log2(m), since it names the slice too. The parallel
	// cost of a round is the paper's k log2(m/S).
	PositionBits int
}

// Messages returns the number of requests and answers.
func (c Cost) Messages() int { return c.Tests + c.Sets + c.Answers }

// Cost returns the cost of all elements up to now.
func (s *Sliced) Cost() Cost { return s.cost }

// Loads returns the tests that each slice has taken.
func (s *Sliced) Loads() []int { return slices.Clone(s.tests) }

// hop is a working slice that holds bits of the element.
type hop struct {
	slice int
	bits  int
}

// route lists the working slices in the order of the hash functions that lead to
// them, and returns the number of the element's bits they hold.
func (s *Sliced) route() (live int) {
	s.hops = s.hops[:0]
	for _, p := range s.pos {
		slice := s.sliceOf(p)
		if s.failed[slice] {
			continue
		}
		live++
		if at := slices.IndexFunc(s.hops, func(h hop) bool { return h.slice == slice }); at >= 0 {
			s.hops[at].bits++
		} else {
			s.hops = append(s.hops, hop{slice: slice, bits: 1})
		}
	}
	return live
}

// request counts requests to the first visited slices, and the positions that they hold.
func (s *Sliced) request(count *int, visited, live int) {
	*count += visited
	inSlice, inFilter := bits.Len64(s.size-1), bits.Len64(s.count-1)
	for _, hop := range s.hops[:visited] {
		live -= hop.bits
		s.cost.PositionBits += hop.bits * inSlice
		if s.config.Pipelined {
			s.cost.PositionBits += live * inFilter
		}
	}
}
