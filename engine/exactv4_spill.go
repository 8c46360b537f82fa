package engine

import (
	"encoding/binary"
	"math/bits"
)

// spillSet is an exact set of 32-bit words: a hash table with linear probing,
// at most half full. It holds the few words that find their exact row full, so
// it is built to be simple and its memory to be known.
type spillSet struct {
	table  []uint32 // length 0 or a power of two; 0 is empty
	count  int      // words in the table
	zero   bool     // the word 0 is in the set
	factor uint32   // odd; spreads words that share their top bits
}

// newSpillSet takes the factor from the key, so that places cannot be foreseen.
func newSpillSet(key [16]byte) spillSet {
	folded := binary.LittleEndian.Uint32(key[4:]) ^ binary.LittleEndian.Uint32(key[12:])
	// 2^32 divided by the golden ratio: keys with few bits set, as examples have
	// them, spread words as well as others.
	return spillSet{factor: (folded*2 + 1) * 0x9e3779b1}
}

// empty returns an empty set with the same factor.
func (s *spillSet) empty() spillSet {
	return spillSet{factor: s.factor}
}

func (s *spillSet) testAndSet(y uint32) bool {
	if y == 0 {
		before := s.zero
		s.zero = true
		return before
	}
	if 2*s.count >= len(s.table) {
		s.grow()
	}
	place := s.find(y)
	if s.table[place] == y {
		return true
	}
	s.table[place] = y
	s.count++
	return false
}

// find returns where y is, or where it belongs.
func (s *spillSet) find(y uint32) uint32 {
	mask := uint32(len(s.table) - 1)
	place := y * s.factor >> (33 - bits.Len(uint(len(s.table))))
	for s.table[place] != 0 && s.table[place] != y {
		place = (place + 1) & mask
	}
	return place
}

func (s *spillSet) grow() {
	old := s.table
	s.table = make([]uint32, max(64, 2*len(old)))
	for _, y := range old {
		if y != 0 {
			s.table[s.find(y)] = y
		}
	}
}

// all yields the words of the set.
func (s *spillSet) all(yield func(uint32) bool) {
	if s.zero && !yield(0) {
		return
	}
	for _, y := range s.table {
		if y != 0 && !yield(y) {
			return
		}
	}
}

func (s *spillSet) bytes() int {
	return 4 * len(s.table)
}
