// SPDX-License-Identifier: Apache-2.0

package rowtable

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/flowdedup/flowdedup/layout"
)

// Word is the part of an element that rows store.
type Word interface{ uint32 | uint64 }

// OverflowSet is an exact set of words: a hash table with linear probing, at most half
// full. It holds few words, so it is simple, and its memory is known. Its methods take an
// odd factor, always the same, which spreads words that share their top bits.
type OverflowSet[W Word] struct {
	table []W      // length 0 or a power of two; 0 is empty
	dates []uint16 // parallel to the table, where words have dates; else nil
	count int      // words in the table
	zero  bool     // the word 0 is in the set; it has no date
}

// minOverflowTable is the smallest table.
const minOverflowTable = 16

// KeyedFactor derives the factor from a key, so that places cannot be foreseen. layout.Golden
// makes keys with few bits set as good as others. By itself it is the factor without a key.
func KeyedFactor(key [16]byte) uint64 {
	folded := binary.LittleEndian.Uint64(key[:]) ^ binary.LittleEndian.Uint64(key[8:])
	return (folded*2 + 1) * layout.Golden
}

// testAndSet adds a word without a date, and reports whether it was there.
func (s *OverflowSet[W]) testAndSet(y W, factor uint64) bool {
	if y == 0 {
		before := s.zero
		s.zero = true
		return before
	}
	_, known := s.insert(y, factor, false)
	return known
}

// insert adds a word other than 0 unless it is there, and returns its place. The size of
// the table depends only on the number of words.
func (s *OverflowSet[W]) insert(y W, factor uint64, dated bool) (place uint64, known bool) {
	if len(s.table) > 0 {
		place = s.find(y, factor)
		if s.table[place] == y {
			return place, true
		}
	}
	if 2*s.count >= len(s.table) {
		s.double(factor, dated)
		place = s.find(y, factor)
	}
	s.table[place] = y
	s.count++
	return place, false
}

// find returns where y is, or where it belongs.
func (s *OverflowSet[W]) find(y W, factor uint64) uint64 {
	mask := uint64(len(s.table) - 1)
	place := s.home(y, factor)
	for s.table[place] != 0 && s.table[place] != y {
		place = (place + 1) & mask
	}
	return place
}

// home returns the place of y if no other word is in its way.
func (s *OverflowSet[W]) home(y W, factor uint64) uint64 {
	return uint64(y) * factor >> (65 - bits.Len(uint(len(s.table))))
}

// double doubles the table.
func (s *OverflowSet[W]) double(factor uint64, dated bool) {
	table, dates := s.table, s.dates
	size := max(minOverflowTable, 2*len(table))
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

// All yields the words of the set with their dates, which are 0 for words without dates.
func (s *OverflowSet[W]) All(yield func(W, uint16) bool) {
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

func (s *OverflowSet[W]) bytes() int {
	var y W
	return int(unsafe.Sizeof(y))*len(s.table) + 2*len(s.dates)
}

// Overflow is the words that found their line full, in one set for each group of lines
// that a pass handles together.
type Overflow[W Word] struct {
	sets   []OverflowSet[W]
	shift  uint // leaves only the number of a word's set
	factor uint64
	dated  bool // words have dates
	bytes  int  // size of the sets' tables
}

// newOverflow makes the given number of sets, a power of two, for words of width bits.
func newOverflow[W Word](groups int, width uint, factor uint64, dated bool) Overflow[W] {
	return Overflow[W]{
		sets: make([]OverflowSet[W], groups), shift: width + 1 - uint(bits.Len(uint(groups))), factor: factor, dated: dated,
	}
}

func (g *Overflow[W]) forget() {
	clear(g.sets)
	g.bytes = 0
}

// TestAndSet adds a word without a date, and reports whether it was there.
func (g *Overflow[W]) TestAndSet(y W) bool {
	set := &g.sets[y>>g.shift]
	before := set.bytes()
	known := set.testAndSet(y, g.factor)
	g.bytes += set.bytes() - before
	return known
}

// DateOf adds a word other than 0. It returns where its date is, and whether the word was
// there. The words of the Overflow must have dates.
func (g *Overflow[W]) DateOf(y W) (date *uint16, known bool) {
	set := &g.sets[y>>g.shift]
	before := set.bytes()
	place, known := set.insert(y, g.factor, true)
	g.bytes += set.bytes() - before
	return &set.dates[place], known
}

// Fetch reads the place where a look-up of each word begins, so that the cache misses of
// all of them overlap. It must not be inlined: the compiler would remove reads without a
// use.
//
//go:noinline
func (g *Overflow[W]) Fetch(words []W) (sum uint64) {
	for _, y := range words {
		if set := &g.sets[y>>g.shift]; len(set.table) > 0 {
			home := set.home(y, g.factor)
			sum += uint64(set.table[home])
			if g.dated {
				sum += uint64(set.dates[home])
			}
		}
	}
	return sum
}

// remove removes a set, and returns it.
func (g *Overflow[W]) remove(group int) OverflowSet[W] {
	set := g.sets[group]
	g.bytes -= set.bytes()
	g.sets[group] = OverflowSet[W]{}
	return set
}

// words returns the words of all sets. Each is followed by its date if words have dates.
func (g *Overflow[W]) words() []W {
	var words []W
	for i := range g.sets {
		for y, date := range g.sets[i].All {
			words = append(words, y)
			if g.dated {
				words = append(words, W(date))
			}
		}
	}
	return words
}
