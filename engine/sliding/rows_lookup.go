package sliding

import (
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
	i := 0
	for ; i+4 <= n; i += 4 {
		before, dates := (*[4]uint16)(p.before[i:]), (*[4]uint16)(p.dates[i:])
		if sameDates(before, dates) && m.mark4(p.places[i:i+4], seenInStep) {
			continue
		}
		for k := range before {
			m.mark(p.places[i+k], s.record(p.words[i+k], before[k], dates[k]))
		}
	}
	for ; i < n; i++ {
		m.mark(p.places[i], s.record(p.words[i], p.before[i], p.dates[i]))
	}
	p.count, p.position = 0, p.position+n
}

// sameDates reports whether four elements have come in the same steps before.
func sameDates(before, dates *[4]uint16) bool {
	const known = layout.SlidingPresent
	return (before[0]^dates[0]^known)|(before[1]^dates[1]^known)|(before[2]^dates[2]^known)|(before[3]^dates[3]^known) == 0
}

// record counts an element of the given date, and returns how lately it was seen before.
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
	for _, i := range p.overflowing[:overflows] {
		before[i] = overflowDated(&table.Overflow, words[i], dates[i])
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

// overflowDated remembers an element whose line is full, and returns what
// line.TestAndSetSliding would.
func overflowDated(overflow *rowtable.Overflow[uint64], word uint64, date uint16) (before uint16) {
	last, known := overflow.DateOf(overflowWord(word))
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

// overflowWord returns what overflow remembers of a word: the bits that cells and lines
// have. It is not 0.
func overflowWord(word uint64) uint64 { return word | 63 }

// marks is where a call reports the elements that were seen at least so lately: a bit for
// each. bits may be nil.
type marks struct {
	bits  []uint64
	least recency
}

// recency is how lately an element was seen.
type recency uint8

const (
	unseen     recency = iota // not within the window
	seenWithin                // within the window
	seenInStep                // in the same step
)

// clear begins a call with so many elements.
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

// mark4 sets the bits of four places. It reports false, and does nothing, unless they
// follow one another in one word.
func (m marks) mark4(places []uint32, s recency) bool {
	if m.bits == nil || s < m.least {
		return true
	}
	first := places[0]
	if places[3]-first != 3 || first%64 > 60 {
		return false
	}
	m.bits[first/64] |= 0xF << (first % 64)
	return true
}
