// SPDX-License-Identifier: Apache-2.0

package sliding

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine/internal/bitset"
	"github.com/flowdedup/flowdedup/engine/internal/rowtable"
	"github.com/flowdedup/flowdedup/layout"
)

// flush looks the pending elements up, and counts them.
func (s *Rows) flush(m marks) {
	p := &s.pending
	n := p.count
	if n == 0 {
		return
	}
	if s.rows.Growing() {
		s.lookupSides(n)
	} else {
		s.lookup(&s.rows.Table, p.before[:n], p.words[:n], p.dates[:n])
	}
	for from := 0; from < n; from += 64 {
		s.recordWord(m, from, min(from+64, n))
	}
	p.count, p.position = 0, p.position+n
}

// recordWord counts up to 64 pending elements. Which of them are new is at times as good
// as random, so no branch depends on a single element, except for elements that an
// earlier step saw.
func (s *Rows) recordWord(m marks, from, to int) {
	p := &s.pending
	known, fresh := ^uint64(0), uint64(0)
	if to-from < 64 || !p.inStep(from) {
		known, fresh = p.compare(from, to)
	}
	if s.rows.Thinning {
		fresh = 0 // the counts are of two kinds
	}
	n := bits.OnesCount64(fresh)
	s.counts[int(p.dates[from])&(len(s.counts)-1)] += uint32(n)
	s.taken += n
	m.markAll(p.places[from:to], known, seenInStep)
	for rest := ^(known | fresh) & bitset.LowBits(to-from); rest != 0; rest &= rest - 1 {
		i := from + bits.TrailingZeros64(rest)
		m.mark(p.places[i], s.record(p.words[i], p.before[i], p.dates[i]))
	}
}

// inStep reports whether all of 64 elements have come in the same steps before.
func (p *pendingElements) inStep(from int) bool {
	before, dates := (*[64]uint16)(p.before[from:]), (*[64]uint16)(p.dates[from:])
	for i := 0; i < 64; i += 4 {
		if !sameDates((*[4]uint16)(before[i:]), (*[4]uint16)(dates[i:])) {
			return false
		}
	}
	return true
}

// compare returns a bit for each of up to 64 elements that came in the same step before,
// and a bit for each that no line or overflow had. If their dates differ it returns no
// bits of the second kind.
func (p *pendingElements) compare(from, to int) (known, fresh uint64) {
	const top = 1 << 63
	before, dates := p.before[from:to], p.dates[from:to]
	differ := uint16(0)
	for i, b := range before {
		date := dates[i]
		differ |= date ^ dates[0]
		known = known>>1 | (uint64(b^date^layout.SlidingPresent)-1)&top
		fresh = fresh>>1 | (uint64(b)-1)&top
	}
	rest := 64 - uint(len(before))
	if differ != 0 {
		return known >> rest, 0
	}
	return known >> rest, fresh >> rest
}

// sameDates reports whether four elements have come in the same steps before.
func sameDates(before, dates *[4]uint16) bool {
	return together(before)^together(dates) == layout.SlidingPresent*0x0001_0001_0001_0001
}

// together packs four dates in one word.
func together(dates *[4]uint16) uint64 {
	return uint64(dates[0]) | uint64(dates[1])<<16 | uint64(dates[2])<<32 | uint64(dates[3])<<48
}

// record counts an element of the given date, and returns the recency of its last
// sighting.
func (s *Rows) record(word uint64, before, date uint16) recency {
	if before == date|layout.SlidingPresent {
		return seenInStep
	}
	counts, mask := s.counts, len(s.counts)-1
	if s.rows.Thinning && word < s.rows.Mark() {
		counts = s.thinned
	}
	if before == 0 {
		counts[int(date)&mask]++
		s.taken++
		return unseen
	}
	old := before & dateMask
	if s.age(old) > s.steps {
		counts[int(date)&mask]++ // as if it had been swept out
		return unseen
	}
	since := (date - old) & dateMask
	if since >= layout.SlidingPresent/2 {
		return seenWithin // it was late
	}
	counts[int(old)&mask]--
	counts[int(date)&mask]++
	if int64(since) > s.steps {
		return unseen
	}
	return seenWithin
}

// age returns how many steps ago a date was.
func (s *Rows) age(date uint16) int64 {
	return (s.current - int64(date)) & dateMask
}

// lookup tests and sets words in one table.
func (s *Rows) lookup(table *rowtable.Table[uint64], before []uint16, words []uint64, dates []uint16) {
	p := &s.pending
	lines := table.Arena.Lines()
	rowtable.KeepWords(table.Copying, words, wordOf, s.rows.Shift(len(lines)))
	overflows := line.TestAndSetSliding(lines, before, words, dates, p.overflowing[:])
	for at, i := range p.overflowing[:overflows] {
		p.overflow[at] = overflowWord(words[i])
	}
	table.Overflow.Fetch(p.overflow[:overflows])
	for at, i := range p.overflowing[:overflows] {
		before[i] = overflowDated(&table.Overflow, p.overflow[at], dates[i])
	}
}

// wordOf is the word of an element, itself.
func wordOf(word uint64) uint64 { return word }

// lookupSides tests and sets the first n pending elements while lines move.
func (s *Rows) lookupSides(n int) {
	p := &s.pending
	sides := rowtable.Split(s.sides, p.words[:n], wordOf, s.rows.Mark(), [2]uint64{})
	for side, table := range []*rowtable.Table[uint64]{&s.rows.Table, &s.rows.Wider} {
		at := s.sides.At[side][:sides[side]]
		for i, place := range at {
			p.sideDates[i] = p.dates[place]
		}
		s.lookup(table, p.sideBefore[:len(at)], s.sides.Elements[side][:len(at)], p.sideDates[:len(at)])
		for i, place := range at {
			p.before[place] = p.sideBefore[i]
		}
	}
}

// overflowDated remembers the overflow word of an element whose line is full, and returns
// the result that line.TestAndSetSliding would.
func overflowDated(overflow *rowtable.Overflow[uint64], word uint64, date uint16) (before uint16) {
	last, known := overflow.DateOf(word)
	if !known {
		*last = date
		return 0
	}
	before = *last | layout.SlidingPresent
	if (date-*last)&dateMask < layout.SlidingPresent/2 {
		*last = date
	}
	return before
}

// overflowWord returns the part of a word that overflow remembers: the bits that cells
// and lines have. It is not 0.
func overflowWord(word uint64) uint64 { return word | 63 }

// marks is the place where a call reports the elements with at least a given recency: a
// bit for each. bits may be nil.
type marks struct {
	bits  []uint64
	least recency
}

// recency is the age class of an element's last sighting.
type recency uint8

const (
	unseen     recency = iota // not within the window
	seenWithin                // within the window
	seenInStep                // in the same step
)

// clear begins a call with the given number of elements.
func (m marks) clear(elements int) {
	if m.bits != nil {
		bitset.Clear(m.bits, elements)
	}
}

func (m marks) mark(place uint32, s recency) {
	if m.bits != nil && s >= m.least {
		m.bits[place/64] |= 1 << (place % 64)
	}
}

// markAll marks the elements, at ascending places, whose bit is set.
func (m marks) markAll(places []uint32, elements uint64, s recency) {
	if m.bits == nil || s < m.least || elements == 0 {
		return
	}
	n := len(places)
	if first := places[0]; int(places[n-1]-first) == n-1 { // the places are consecutive
		at := first % 64
		m.bits[first/64] |= elements << at
		if over := elements >> (63 - at) >> 1; over != 0 {
			m.bits[first/64+1] |= over
		}
		return
	}
	for ; elements != 0; elements &= elements - 1 {
		m.mark(places[bits.TrailingZeros64(elements)], s)
	}
}
