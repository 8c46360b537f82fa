package stream

import "math/bits"

// Shuffled is the stream of the tables of Bera et al., 2012: Distinct
// elements, each at least once, and N - Distinct further copies of uniformly
// chosen ones, all in random order. Independent draws give other miss rates.
//
// The order is a keyed permutation of the positions instead of a shuffled array,
// so that a stream of a billion elements takes no memory.
type Shuffled struct {
	n, distinct uint64
	position    uint64
	order       permutation
	seed        uint64
}

// NewShuffled returns the stream of n elements, of which 1 <= distinct <= n
// differ.
func NewShuffled(n, distinct int, seed uint64) *Shuffled {
	return &Shuffled{n: uint64(n), distinct: uint64(distinct), order: newPermutation(uint64(n), seed), seed: seed}
}

// Next returns the next element, from 0 to distinct-1; ok is false at the end.
func (s *Shuffled) Next() (element uint64, ok bool) {
	if s.position == s.n {
		return 0, false
	}
	slot := s.order.at(s.position)
	s.position++
	if slot < s.distinct {
		return slot, true
	}
	high, _ := bits.Mul64(mix(slot^mix(s.seed+1)), s.distinct)
	return high, true
}
