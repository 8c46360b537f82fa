package paper

import "github.com/flowdedup/flowdedup/asm/digest"

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

// Slices returns the number of slices, failed ones included: S, or S S' for diced
// filters.
func (s *Sliced) Slices() int { return len(s.slices) }

// K returns the number of hash functions.
func (s *Sliced) K() int { return len(s.pos) }

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
		if at := s.hopOf(p.slice); at < len(s.hops) {
			s.hops[at].bits++
		} else {
			s.hops = append(s.hops, hop{slice: p.slice, bits: 1})
		}
	}
	return live
}

// hopOf returns the place of a slice in the route, its length if it is not there.
func (s *Sliced) hopOf(slice int) int {
	for i := range s.hops {
		if s.hops[i].slice == slice {
			return i
		}
	}
	return len(s.hops)
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
