package paper

import "github.com/flowdedup/flowdedup/asm/digest"

// Sliced is an append-only Bloom filter in slices, each at a site of its own, of
// paper "One is Enough: Distributed Filtering for Duplicate Elimination"
// (Koloniari, Ntarmos, Pitoura, Souravlias, CIKM 2011), section 3. Here all sites are
// in one process, and what they would send each other is counted, see [Cost].
//
// An element is a duplicate if none of its bits in working slices is clear and at
// least x of its bits are in working slices ([SlicedConfig]); without failures,
// if all its bits are set, so that no duplicate is missed. The bits of a distinct
// element are set in the slices that work.
//
// Readings taken:
//
//   - The vertical fault tolerance heuristic (section 3.2) has it that "at least x
//     bits in non-failed sites with their bits set" make a duplicate. Were x set bits
//     enough in spite of clear ones, most distinct elements would be duplicates
//     for small x. The text before it calls an element with a clear bit in a working
//     slice safely distinct, and only then do the measurements of the paper follow.
//   - The hash functions are independent of each other, unlike those of [Bloom]: with
//     double hashing failures take several bits of an element at once too often.
//   - The bits of an element that lie in the same slice are tested in one access
//     (section 7: "some hash functions may lead to the same slice").
//   - A slice that fails stays so: the paper has no recovery.
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

// arrangement says in which slices an element's bits are. pos holds the values of K
// hash functions whose range is all slices' bits together; each of them has a
// slice and an offset in it, both uniform and independent of each other.
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

// test has the slices test the element's bits, and reports whether all that are
// in working slices are set.
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

// Slices returns the number of slices, failed ones included: S, or S S' for diced
// filters.
func (s *Sliced) Slices() int { return len(s.slices) }

// K returns the number of hash functions.
func (s *Sliced) K() int { return len(s.pos) }

// Bits implements [Filter]: the memory of all slices, failed ones included. It is up
// to Slices - 1 less than was asked for.
func (s *Sliced) Bits() int { return int(s.size) * len(s.slices) }
