package engine

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// spillWord is what is left of an element where rows are exact.
type spillWord interface{ uint32 | uint64 }

// spillSet is an exact set of words: a hash table with linear probing, at most half
// full. It holds the few words that find their row full, so it is built to be
// simple and its memory to be known. Its methods take an odd factor, always the same,
// that spreads words which share their top bits.
type spillSet[W spillWord] struct {
	table []W      // length 0 or a power of two; 0 is empty
	dates []uint16 // beside the table, where words have dates; else nil
	count int      // words in the table
	zero  bool     // the word 0 is in the set; it has no date
}

// minSpillTable is the smallest table.
const minSpillTable = 16

// spillFactor is 2^64 divided by the golden ratio: keys with few bits set, as examples
// have them, spread words as well as others.
const spillFactor = 0x9e3779b97f4a7c15

// newSpillFactor takes the factor from the key, so that places cannot be foreseen.
func newSpillFactor(key [16]byte) uint64 {
	folded := binary.LittleEndian.Uint64(key[:]) ^ binary.LittleEndian.Uint64(key[8:])
	return (folded*2 + 1) * spillFactor
}

// testAndSet adds a word without a date, and reports whether it was there.
func (s *spillSet[W]) testAndSet(y W, factor uint64) bool {
	if y == 0 {
		before := s.zero
		s.zero = true
		return before
	}
	_, known := s.enter(y, factor, false)
	return known
}

// enter adds a word other than 0 unless it is there, and returns its place. The size of the table
// is that for the number of words, whatever came before.
func (s *spillSet[W]) enter(y W, factor uint64, dated bool) (place uint64, known bool) {
	if len(s.table) > 0 {
		place = s.find(y, factor)
		if s.table[place] == y {
			return place, true
		}
	}
	if 2*s.count >= len(s.table) {
		s.grow(factor, dated)
		place = s.find(y, factor)
	}
	s.table[place] = y
	s.count++
	return place, false
}

// find returns where y is, or where it belongs.
func (s *spillSet[W]) find(y W, factor uint64) uint64 {
	mask := uint64(len(s.table) - 1)
	place := uint64(y) * factor >> (65 - bits.Len(uint(len(s.table))))
	for s.table[place] != 0 && s.table[place] != y {
		place = (place + 1) & mask
	}
	return place
}

// grow doubles the table.
func (s *spillSet[W]) grow(factor uint64, dated bool) {
	table, dates := s.table, s.dates
	size := max(minSpillTable, 2*len(table))
	s.table = make([]W, size)
	if dated {
		s.dates = make([]uint16, size)
	}
	for i, y := range table {
		if y == 0 {
			continue
		}
		place := s.find(y, factor)
		s.table[place] = y
		if dated {
			s.dates[place] = dates[i]
		}
	}
}

// all yields the words of the set with their dates, 0 where there are none.
func (s *spillSet[W]) all(yield func(W, uint16) bool) {
	if s.zero && !yield(0, 0) {
		return
	}
	for i, y := range s.table {
		date := uint16(0)
		if s.dates != nil {
			date = s.dates[i]
		}
		if y != 0 && !yield(y, date) {
			return
		}
	}
}

func (s *spillSet[W]) bytes() int {
	var y W
	return int(unsafe.Sizeof(y))*len(s.table) + 2*len(s.dates)
}
