// SPDX-License-Identifier: Apache-2.0

package sliding

import (
	"math/bits"
	"slices"

	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine/internal/rowtable"
	"github.com/flowdedup/flowdedup/layout"
)

// sweptAtOnce bounds the lines that a new step sweeps at once. Owed lines beyond it wait
// for elements.
const sweptAtOnce = 1 << 12

// growAt is the number of cells at which lines double.
func (s *Rows) growAt() int { return rowLoad * s.rows.Lines() }

// Limit is as engine.Bounded says. bytes is rounded down to a power of two from 64 KiB
// on.
func (s *Rows) Limit(bytes int) {
	lines := max(min(int64(bytes)/layout.LineSize, rowtable.MaxLines), layout.SlidingLines)
	s.maxLines = 1 << (bits.Len64(uint64(lines)) - 1)
}

// Needs is as engine.Bounded says.
func (s *Rows) Needs(more int) int {
	lines := s.rows.Final()
	for more > 0 && rowLoad*lines <= s.taken+more {
		lines *= 2
	}
	return s.rows.BytesWith(lines)
}

// place enters an element that is in no table yet into its line, or into the overflow if
// the line is full.
func (s *Rows) place(table *rowtable.Table[uint64], word uint64, date uint16) {
	lines := table.Arena.Lines()
	row := &lines[word>>s.rows.Shift(len(lines))]
	if at := slices.Index(row[:], 0); at >= 0 {
		row[at] = layout.SlidingCell(word) | uint64(date)
		return
	}
	overflowDated(&table.Overflow, overflowWord(word), date)
}

// decide begins a pass if the lines are full. It continues a pass, or sweeps.
func (s *Rows) decide() {
	if !s.rows.Passing() && s.taken >= s.growAt() {
		s.begin()
	}
	if s.rows.Passing() || s.owed() > 0 {
		s.work()
	}
}

// begin begins to grow or, without memory for that, to halve the sample. Such a pass
// sweeps, too.
func (s *Rows) begin() {
	if next := 2 * s.rows.Lines(); next > s.maxLines || s.rows.Grow(next) != nil {
		s.rows.Thin()
		s.thinned = make([]uint32, len(s.counts))
	}
	if s.sides == nil {
		s.sides = new(rowtable.Sides[uint64])
	}
}

// work handles the next lines of the pass or of the sweep.
func (s *Rows) work() {
	from, to, overflow := s.rows.Next()
	s.sweepDebt = max(0, s.sweepDebt-int64(to-from)*s.steps)
	if s.rows.Thinning {
		s.recount(from, to)
	}
	s.purge(from, to)
	if s.rows.Growing() {
		line.SplitSlidingRows(s.rows.Wider.Arena.Lines(), s.rows.Table.Arena.Lines(), from, to)
	}
	s.placeOverflow(overflow)
	thinned := s.rows.Thinning
	if s.rows.Finish(from, to) && thinned {
		s.halved()
	}
}

// halved ends the pass that halved the sample.
func (s *Rows) halved() {
	s.level, s.levelStep = s.level+1, s.current
	for i := range s.levels {
		s.levels[i] = max(s.levels[i], uint8(s.level))
	}
	s.counts, s.thinned = s.thinned, nil
}

// recount moves the elements of lines from to to-1 that stay in the sample from one count
// to the other.
func (s *Rows) recount(from, to int) {
	for i := range s.rows.Table.Arena.Lines()[from:to] {
		for _, cell := range s.rows.Table.Arena.Lines()[from+i] {
			if cell != 0 {
				s.recountCell(cell)
			}
		}
	}
}

func (s *Rows) recountCell(cell uint64) {
	term, slot := s.expiry(), cell&uint64(len(s.counts)-1)
	if term.Expired(cell) != 0 {
		return // another step has its date now
	}
	s.counts[slot]--
	if term.Drops(cell) == 0 {
		s.thinned[slot]++
	}
}

// owed returns how many lines are still to be swept.
func (s *Rows) owed() int64 { return s.sweepDebt / s.steps }

// sweep adds the lines for the given steps to the owed lines, and sweeps some now: at
// least enough to keep dates unambiguous. Dates are compared over up to SlidingPresent/2
// steps, and a line may wait for two sweeps if a pass begins meanwhile.
func (s *Rows) sweep(steps int64) {
	lines := int64(s.rows.Lines())
	s.sweepDebt = min(s.sweepDebt+steps*sweepsInWindow*lines, lines*s.steps)
	least := 2*steps*lines/(layout.SlidingPresent/2-s.steps) + 1
	for todo := max(least, min(s.owed(), sweptAtOnce)); todo > 0; todo -= int64(s.rows.Group(int(lines))) {
		s.work()
	}
}

// expiry returns the rule by which cells expire.
func (s *Rows) expiry() line.SlidingExpiry {
	level := s.level
	if s.rows.Thinning {
		level++
	}
	return line.SlidingExpiry{Current: uint64(s.current), Steps: uint64(s.steps), Out: sampleMask(level)}
}

// purge removes expired cells, and cells out of the sample, from lines from to to-1.
func (s *Rows) purge(from, to int) {
	s.rows.Table.Copying.KeepRange(from, to)
	expiry := s.expiry()
	s.taken -= expiry.Purge(s.rows.Table.Arena.Lines()[from:to])
}

// placeOverflow enters overflow elements where the pass puts their lines, except elements
// that purge would remove.
func (s *Rows) placeOverflow(overflow rowtable.OverflowSet[uint64]) {
	term, table := s.expiry(), s.rows.Target()
	for word, date := range overflow.All {
		cell := layout.SlidingCell(word) | uint64(date)
		if s.rows.Thinning {
			s.recountCell(cell)
		}
		if term.Drops(cell) == 0 {
			s.place(table, word, date)
		} else {
			s.taken--
		}
	}
}
