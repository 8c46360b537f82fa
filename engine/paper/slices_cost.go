package paper

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
// The events themselves, which producers deliver when they are distinct, are the
// same for all methods and not counted.
type Cost struct {
	Events  int // elements
	Tests   int // requests to test, or to test and set
	Sets    int // requests to set, of first-test-then-set
	Answers int // to the producers
	// PositionBits is what the positions in all requests take, in bits. One in
	// the slice that is asked takes log2(m/S), rounded up; a position that is
	// passed on to a later slice of a pipeline takes log2(m), as it names the slice
	// too. The parallel cost of a round is the paper's k log2(m/S).
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
