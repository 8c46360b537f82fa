package paper

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
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
				first := slices.IndexFunc(pos, func(other uint64) bool { return other/outer == p/outer })
				chosen := pos[first] / size
				addresses[i] = bitAddress{slice: int(chosen), offset: p % size}
			}
		}
	})
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

// Sliced is an append-only Bloom filter in slices, each at a site of its own, of paper
// "One is Enough: Distributed Filtering for Duplicate Elimination" (Koloniari, Ntarmos,
// Pitoura, Souravlias, CIKM 2011), section 3. Here all sites are in one process, and
// [Cost] counts what they would send each other.
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
// The time for an element grows with K, or K^2 when slices within slices are
// chosen.
type Sliced struct {
	slices       []slice
	size         uint64 // bits of a slice
	arrange      arrangement
	atLeast      int
	firstTest    bool
	pipelined    bool
	offsetBits   int // what a position within a slice takes in a message
	positionBits int // what a position within the whole filter takes
	pos          []uint64
	addresses    []bitAddress
	hops         []hop
	cost         Cost
}

var _ Filter = (*Sliced)(nil)

// slice is what a site holds.
type slice struct {
	bits   cells
	failed bool
	tests  int
}

// bitAddress is where one bit of an element lies.
type bitAddress struct {
	slice  int
	offset uint64
}

// arrangement says in which slices an element's bits are. pos holds the values of K hash
// functions whose range is all slices' bits together; each of them gives a slice and an
// offset in it, which are uniform and independent.
type arrangement func(addresses []bitAddress, pos []uint64)

// TestAndSet implements [Filter], by the primitive that the filter was made with.
func (s *Sliced) TestAndSet(d digest.Digest) (seen bool) {
	independentPositions(s.pos, d, s.size*uint64(len(s.slices)))
	s.arrange(s.addresses, s.pos)
	live := s.route()
	s.cost.Events++
	allSet := s.test(live)
	seen = allSet && live >= s.atLeast
	if !seen {
		s.set(live)
	}
	return seen
}

// test makes the slices test the element's bits. It reports whether all bits in working
// slices are set.
func (s *Sliced) test(live int) (allSet bool) {
	allSet = true
	visited := 0
	for _, hop := range s.hops {
		allSet = s.testSlice(hop.slice) && allSet
		visited++
		if !allSet && s.pipelined && s.firstTest {
			break // test-and-set goes on, for the bits yet to be set
		}
	}
	s.countTests(visited, live)
	return allSet
}

// testSlice reports whether the element's bits in a slice are all set.
func (s *Sliced) testSlice(index int) (allSet bool) {
	s.slices[index].tests++
	for _, p := range s.addresses {
		if p.slice == index && s.slices[index].bits.get(p.offset) == 0 {
			return false
		}
	}
	return true
}

// set sets the bits of a distinct element.
func (s *Sliced) set(live int) {
	for _, p := range s.addresses {
		if site := &s.slices[p.slice]; !site.failed {
			site.bits.put(p.offset, 1)
		}
	}
	if s.firstTest {
		s.countSets(live)
	}
}

// Bits implements [Filter]: the memory of all slices, failed ones included. It is up
// to Slices - 1 less than was asked for.
func (s *Sliced) Bits() int { return int(s.size) * len(s.slices) }

// Cost counts what a sliced filter does over its network since it was made. A
// request goes from an element's producer to a slice or, pipelined, from a
// slice to the next one; a slice that takes a request accesses its bits once.
// Failed slices get none.
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
	// PositionBits is what the positions in all requests take, in bits. A position in the
	// tested slice takes log2(m/S), rounded up. A position that is passed on to a later
	// slice of a pipeline takes log2(m), since it names the slice too. The parallel cost
	// of a round is the paper's k log2(m/S).
	PositionBits int
}

// Accesses returns how often a slice was accessed.
func (c Cost) Accesses() int { return c.Tests + c.Sets }

// Messages returns the number of requests and answers.
func (c Cost) Messages() int { return c.Tests + c.Sets + c.Answers }

// Cost returns the cost of all elements up to now.
func (s *Sliced) Cost() Cost { return s.cost }

// Loads returns the tests that each slice has taken.
func (s *Sliced) Loads() []int {
	loads := make([]int, len(s.slices))
	for i := range s.slices {
		loads[i] = s.slices[i].tests
	}
	return loads
}

// hop is a working slice that holds bits of the element.
type hop struct {
	slice int
	bits  int
}

// route lists the working slices in the order of the hash functions that lead to
// them, and returns the number of the element's bits they hold.
func (s *Sliced) route() (live int) {
	s.hops = s.hops[:0]
	for _, p := range s.addresses {
		if s.slices[p.slice].failed {
			continue
		}
		live++
		if at := slices.IndexFunc(s.hops, func(h hop) bool { return h.slice == p.slice }); at >= 0 {
			s.hops[at].bits++
		} else {
			s.hops = append(s.hops, hop{slice: p.slice, bits: 1})
		}
	}
	return live
}

func (s *Sliced) countTests(visited, live int) {
	s.cost.Tests += visited
	s.countPositions(visited, live)
	switch {
	case !s.pipelined:
		s.cost.Answers += visited
	case visited > 0:
		s.cost.Answers++
	}
}

func (s *Sliced) countSets(live int) {
	s.cost.Sets += len(s.hops)
	s.countPositions(len(s.hops), live)
}

// countPositions adds what the requests to the first visited slices hold.
func (s *Sliced) countPositions(visited, live int) {
	later := live
	for _, hop := range s.hops[:visited] {
		later -= hop.bits
		s.cost.PositionBits += hop.bits * s.offsetBits
		if s.pipelined {
			s.cost.PositionBits += later * s.positionBits
		}
	}
}
