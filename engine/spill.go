package engine

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// spillSet is an exact set of words: a hash table with linear probing, at most half
// full. It holds the few words that find their exact row full, so it is built to be
// simple and its memory to be known.
type spillSet[W uint32 | uint64] struct {
	table  []W    // length 0 or a power of two; 0 is empty
	count  int    // words in the table
	zero   bool   // the word 0 is in the set
	factor uint64 // odd; spreads words that share their top bits
}

// spillFactor is 2^64 divided by the golden ratio: keys with few bits set, as examples
// have them, spread words as well as others.
const spillFactor = 0x9e3779b97f4a7c15

// newSpillSet takes the factor from the key, so that places cannot be foreseen.
func newSpillSet[W uint32 | uint64](key [16]byte) spillSet[W] {
	folded := binary.LittleEndian.Uint64(key[:]) ^ binary.LittleEndian.Uint64(key[8:])
	return spillSet[W]{factor: (folded*2 + 1) * spillFactor}
}

// empty returns an empty set with the same factor.
func (s *spillSet[W]) empty() spillSet[W] {
	return spillSet[W]{factor: s.factor}
}

func (s *spillSet[W]) testAndSet(y W) bool {
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
func (s *spillSet[W]) find(y W) uint64 {
	mask := uint64(len(s.table) - 1)
	place := uint64(y) * s.factor >> (65 - bits.Len(uint(len(s.table))))
	for s.table[place] != 0 && s.table[place] != y {
		place = (place + 1) & mask
	}
	return place
}

func (s *spillSet[W]) grow() {
	old := s.table
	s.table = make([]W, max(64, 2*len(old)))
	for _, y := range old {
		if y != 0 {
			s.table[s.find(y)] = y
		}
	}
}

// all yields the words of the set.
func (s *spillSet[W]) all(yield func(W) bool) {
	if s.zero && !yield(0) {
		return
	}
	for _, y := range s.table {
		if y != 0 && !yield(y) {
			return
		}
	}
}

// words returns how many there are.
func (s *spillSet[W]) words() int {
	if s.zero {
		return s.count + 1
	}
	return s.count
}

func (s *spillSet[W]) bytes() int {
	var y W
	return int(unsafe.Sizeof(y)) * len(s.table)
}
