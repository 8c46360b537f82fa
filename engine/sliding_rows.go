package engine

import (
	"math/bits"
	"slices"

	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/layout"
)

// slidingSpan is how many lines a new step has swept at once, if so many are owed: the others
// wait for the elements to come.
const slidingSpan = 1 << 12

// limit is the number of cells at which lines double.
func (s *Sliding) limit() int { return slidingLoad * s.rows.lines() }

// Limit is as Bounded says: bytes are rounded down to a power of two, and at least 64 KiB.
func (s *Sliding) Limit(bytes int) {
	lines := max(min(int64(bytes)/layout.LineSize, maxRowLines), layout.SlidingLines)
	s.most = 1 << (bits.Len64(uint64(lines)) - 1)
}

// Needs is as Bounded says.
func (s *Sliding) Needs(more int) int {
	lines := s.rows.final()
	for more > 0 && slidingLoad*lines <= s.taken+more {
		lines *= 2
	}
	return lines*layout.LineSize + s.rows.table.spilled.bytes + s.rows.wider.spilled.bytes
}

// look tests and sets words in one table.
func (s *Sliding) look(table *rowTable[uint64], before []uint16, words []uint64, dates []uint16) {
	p := &s.pending
	lines := table.arena.Lines()
	keepWords(table.copying, words, slidingWord, s.rows.shift(len(lines)))
	spills := line.TestAndSetSliding(lines, before, words, dates, p.spills[:])
	for _, i := range p.spills[:spills] {
		before[i] = spillDated(&table.spilled, words[i], dates[i])
	}
}

// slidingWord is the word of an element, itself.
func slidingWord(word uint64) uint64 { return word }

// lookApart tests and sets the first n elements that wait, while some lines have moved.
func (s *Sliding) lookApart(n int) {
	p := &s.pending
	sides := split(s.apart, p.words[:n], slidingWord, s.rows.mark(), [2]uint64{})
	for side, table := range []*rowTable[uint64]{&s.rows.table, &s.rows.wider} {
		at := s.apart.at[side][:sides[side]]
		for i, place := range at {
			p.sideDates[i] = p.dates[place]
		}
		s.look(table, p.sideBefore[:len(at)], s.apart.elements[side][:len(at)], p.sideDates[:len(at)])
		for i, place := range at {
			p.before[place] = p.sideBefore[i]
		}
	}
}

// spillDated remembers an element of a line that is full, and returns what
// asm.TestAndSetSliding would have.
func spillDated(spilled *spillGroups[uint64], word uint64, date uint16) (before uint16) {
	last, known := spilled.dateOf(spilledWord(word))
	if !known {
		*last = date
		return 0
	}
	before = *last | layout.SlidingKnown
	if (date-*last)&dateMask < layout.SlidingKnown/2 {
		*last = date
	}
	return before
}

// spilledWord is what is remembered of a word: what cells hold and lines say of it. It is not 0.
func spilledWord(word uint64) uint64 { return word | 63 }

// place puts an element that is nowhere into its line, or to those spilled. Lines that have
// spilled elements are full: passes fill them up.
func (s *Sliding) place(table *rowTable[uint64], word uint64, date uint16) {
	lines := table.arena.Lines()
	row := &lines[word>>s.rows.shift(len(lines))]
	if at := slices.Index(row[:], 0); at >= 0 {
		row[at] = layout.SlidingCell(word) | uint64(date)
		return
	}
	spillDated(&table.spilled, word, date)
}

// decide begins a pass if the lines are full, which doubles them or, where there is no memory for
// more, halves the sample; and goes on with that, or with sweeping.
func (s *Sliding) decide() {
	if !s.rows.passing() && s.taken >= s.limit() {
		s.begin()
	}
	if s.rows.passing() || s.owed() > 0 {
		s.work()
	}
}

// begin begins to grow, or to halve the sample. Lines that were to be swept are handled, too.
func (s *Sliding) begin() {
	if next := 2 * s.rows.lines(); next > s.most || s.rows.grow(next) != nil {
		s.rows.thin()
		s.thinned = make([]uint32, len(s.counts))
	}
	if s.apart == nil {
		s.apart = new(apart[uint64])
	}
}

// work handles the next lines: those of the pass, or those that are swept next.
func (s *Sliding) work() {
	from, to, spilled := s.rows.next()
	s.debt = max(0, s.debt-int64(to-from)*s.steps)
	if s.rows.thinning {
		s.recount(from, to)
	}
	s.purge(from, to)
	if s.rows.growing() {
		line.SplitSlidingRows(s.rows.wider.arena.Lines(), s.rows.table.arena.Lines(), from, to)
	}
	s.placeSpilled(spilled)
	thinned := s.rows.thinning
	if s.rows.finish(from, to) && thinned {
		s.halved()
	}
}

// halved ends the pass that halved the sample.
func (s *Sliding) halved() {
	s.level, s.leveled = s.level+1, s.front
	for i := range s.levels {
		s.levels[i] = max(s.levels[i], uint8(s.level))
	}
	s.counts, s.thinned = s.thinned, nil
}

// recount takes the elements of lines from to to-1 from one count to the other, those that stay
// in the sample.
func (s *Sliding) recount(from, to int) {
	for i := range s.rows.table.arena.Lines()[from:to] {
		for _, cell := range s.rows.table.arena.Lines()[from+i] {
			if cell != 0 {
				s.recountCell(cell)
			}
		}
	}
}

func (s *Sliding) recountCell(cell uint64) {
	term, slot := s.term(), cell&uint64(len(s.counts)-1)
	if term.old(cell) != 0 {
		return // its date is another one's now
	}
	s.counts[slot]--
	if term.out(cell) == 0 {
		s.thinned[slot]++
	}
}

// owed returns how many lines are to be swept.
func (s *Sliding) owed() int64 { return s.debt / s.steps }

// sweep has lines swept as so many steps ask for: some now, and at least as many as keep dates
// apart. Those are compared up to SlidingKnown/2 steps, and a line may wait for two sweeps if a
// pass begins meanwhile.
func (s *Sliding) sweep(steps int64) {
	lines := int64(s.rows.lines())
	s.debt = min(s.debt+steps*slidingSweeps*lines, lines*s.steps)
	least := 2*steps*lines/(layout.SlidingKnown/2-s.steps) + 1
	for todo := max(least, min(s.owed(), slidingSpan)); todo > 0; todo -= int64(s.rows.group(int(lines))) {
		s.work()
	}
}

// slidingTerm says which cells are remembered, in a value that loops keep in registers.
type slidingTerm struct{ front, steps, sample uint64 }

func (s *Sliding) term() slidingTerm {
	level := s.level
	if s.rows.thinning {
		level++
	}
	return slidingTerm{uint64(s.front), uint64(s.steps), sampleMask(level)}
}

// old returns 1 for a cell that is older than the window, else 0.
func (t slidingTerm) old(cell uint64) uint64 {
	_, old := bits.Sub64(t.steps, (t.front-cell)&dateMask, 0)
	return old
}

// out returns 1 for a cell that is old or not in the sample, else 0.
func (t slidingTerm) out(cell uint64) uint64 {
	_, unsampled := bits.Sub64(0, cell&t.sample, 0)
	return t.old(cell) | unsampled
}

// purge takes the cells that are out from lines from to to-1. It has no branch for a cell:
// nobody could guess which ones go.
func (s *Sliding) purge(from, to int) {
	s.rows.table.copying.keepRange(from, to)
	lines, term := s.rows.table.arena.Lines()[from:to], s.term()
	freed := uint64(0)
	for i := range lines {
		row := &lines[i]
		for at, cell := range row {
			out := term.out(cell)
			row[at] = cell & (out - 1)
			freed += cell >> layout.SlidingDateBits & out
		}
	}
	s.taken -= int(freed)
}

// placeSpilled gives spilled elements their places where those of their lines have theirs, but for
// those that are out.
func (s *Sliding) placeSpilled(spilled spillSet[uint64]) {
	term, table := s.term(), s.rows.target()
	for word, date := range spilled.all {
		cell := layout.SlidingCell(word) | uint64(date)
		if s.rows.thinning {
			s.recountCell(cell)
		}
		if term.out(cell) == 0 {
			s.place(table, word, date)
		} else {
			s.taken--
		}
	}
}
