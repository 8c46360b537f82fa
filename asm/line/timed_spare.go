// SPDX-License-Identifier: Apache-2.0

package line

import (
	"github.com/flowdedup/flowdedup/layout"
	"math"
	"math/bits"
)

// timedClock is Now and Slack of TimedParams prepared for the kernels. A time is within a
// distance d of Now if it is less than 2d + 1 after Now - d. Without a Now these numbers
// are 0, and no time is within.
type timedClock struct {
	now         uint64 // its mark, without a point
	reach       uint64 // the window and the slack
	reachSpan   uint64 // twice reach, and 1
	windowSpan  uint64 // twice the window and 1
	nowEarliest uint64 // the first time within reach, shifted to the top
	aboveReach  uint64 // reachSpan, shifted to the top
	spareLines  uint64 // number of spare lines
}

// setClock sets the fields that depend on Now and Slack. Times farther away than half of
// a mark's range are nearer the other way round.
func (r *timedRule) setClock(p *TimedParams, spareLines int) {
	r.spareLines = uint64(spareLines)
	r.now = uint64(p.Now) & r.tickMask
	r.reach = min(r.window+uint64(p.Slack), r.tickMask>>1)
	if spareLines > 0 && p.Now != layout.NoTick {
		r.reachSpan, r.windowSpan = 2*r.reach+1, 2*r.window+1
	}
	r.nowEarliest = (r.now - r.reach) << (r.rotation & 63)
	r.aboveReach = r.reachSpan << (r.rotation & 63)
}

// share returns the number of spare lines for each line, as a fraction of 2^64, rounded
// down. There are never more than lines in use.
func (rows *TimedRows) share() uint64 {
	if len(rows.Spare) >= len(rows.Lines) {
		return math.MaxUint64
	}
	share, _ := bits.Div64(uint64(len(rows.Spare)), 0, uint64(len(rows.Lines)))
	return share
}

// spareOf returns the spare line of the line with a number, or nil without spare lines.
func (rows *TimedRows) spareOf(number, share uint64) *[8]uint64 {
	if len(rows.Spare) == 0 {
		return nil
	}
	at, _ := bits.Mul64(number, share)
	return &rows.Spare[at]
}

// spareRows takes elements singly, in their order. Its behavior in rows with spare lines is
// the contract: batches must leave the same verdicts, lines and counts.
type spareRows struct {
	TimedRows
	rule   *timedRule
	counts *TimedCounts
	part   uint64 // share
}

func newSpareRows(rows TimedRows, r *timedRule, c *TimedCounts) spareRows {
	return spareRows{rows, r, c, rows.share()}
}

// testAndSet looks up one element in the line with a number.
func (s *spareRows) testAndSet(number, cell, mark uint64) (isCopy uint64) {
	line, spare := &s.Lines[number], s.spareOf(number, s.part)
	if spare == nil || s.rule.find(line, cell) < layout.TimedCells {
		isCopy, isNew, pushedOut := s.rule.testAndSet(line, cell, mark)
		s.counts.Inserted += isNew
		s.counts.EvictedLive += pushedOut
		return isCopy
	}
	if s.rule.maySpare(line, mark) == 0 {
		s.counts.Inserted++
		s.rule.move(line, layout.TimedCells, cell, mark)
		return 0
	}
	v := s.rule.survey(line, spare, cell, mark)
	return s.take(line, spare, &v, s.ask(line, spare, &v), cell, mark)
}

// take handles an element whose line does not have its fingerprint, but cell at of its
// spare line has, unless at is TimedCells.
func (s *spareRows) take(line, spare *[8]uint64, v *spareView, at, cell, mark uint64) (isCopy uint64) {
	renewed := mark
	if at < layout.TimedCells {
		near, away, diff := s.rule.judge(s.rule.rawMark(spare, at), mark)
		isCopy = near & away
		if isCopy != 0 && !s.rule.refresh {
			return isCopy
		}
		renewed ^= diff & (s.rule.points | s.rule.tickMask) & -isCopy
	} else {
		s.counts.Inserted++
	}
	s.pushOut(line, spare, v, at, mark)
	s.rule.move(line, layout.TimedCells, cell, renewed)
	return isCopy
}

// put puts a cell with the fingerprint of cell and a mark in front of the line with a
// number. It replaces the cell with that fingerprint, there or in the spare line. now is
// the mark of the element that is looked up.
func (s *spareRows) put(number, cell, mark, now uint64) {
	line, spare := &s.Lines[number], s.spareOf(number, s.part)
	at := s.rule.find(line, cell)
	switch {
	case at < layout.TimedCells:
	case spare == nil:
		const last = layout.TimedCells - 1
		s.counts.Inserted++
		s.counts.EvictedLive += s.rule.nearElement(s.rule.rawMark(line, last), now) & above(line[last], 0)
	default:
		v := s.rule.survey(line, spare, cell, now)
		asked := s.ask(line, spare, &v)
		s.counts.Inserted += above(asked, layout.TimedCells-1)
		s.pushOut(line, spare, &v, asked, now)
	}
	s.rule.move(line, at, cell, mark)
}

// ask returns the number of the cell with the element's fingerprint in the spare line, or
// TimedCells, for an element whose line does not have it.
func (s *spareRows) ask(line, spare *[8]uint64, v *spareView) (at uint64) {
	if line[7]&layout.TimedSpilled == 0 {
		return layout.TimedCells
	}
	s.counts.Asked++
	if v.live == 0 {
		*spare, *v = layout.Line{}, spareView{0, 0, 0, 1<<layout.TimedCells - 1}
		line[7] &^= layout.TimedSpilled
	}
	return uint64(bits.TrailingZeros64(v.found | 1<<layout.TimedCells))
}

// pushOut removes the last cell of a line for an element that goes to its front, and puts
// it in front of the spare line if it may have copies. There it replaces cell at, which
// moves to the line. If at is TimedCells it replaces the cell with its fingerprint, else
// the oldest.
func (s *spareRows) pushOut(line, spare *[8]uint64, v *spareView, at, mark uint64) {
	const last = layout.TimedCells - 1
	cell, kept := line[last], s.rule.markOf(line, last)
	switch {
	case s.rule.mayHaveCopies(cell, kept, mark) == 0:
		s.rule.remove(spare, at)
		return
	case at < layout.TimedCells:
	case v.same != 0:
		at = uint64(bits.TrailingZeros64(v.same))
	default:
		at = uint64(bits.Len64(v.oldest)-1) & 7
		if v.live>>at&1 != 0 {
			s.counts.EvictedLive += s.rule.within(s.rule.rawMark(spare, at), mark)
		}
	}
	s.rule.move(spare, at, cell, kept)
	line[7] |= layout.TimedSpilled
	s.counts.Spilled++
}

// spareView has the cells of a spare line that matter for an element and the last cell of
// its line, with a bit for each.
type spareView struct {
	found uint64 // has the element's fingerprint
	same  uint64 // has the last cell's
	live  uint64 // may have copies
	// oldest are the cells farthest behind Now, or behind the element if Now is unknown.
	// Cells beyond reach ahead of it are older than all others, and empty cells are
	// oldest.
	oldest uint64
}

func (r *timedRule) surveyGeneric(line, spare *[8]uint64, cell, mark uint64) (v spareView) {
	now, last, most := r.now, line[layout.TimedCells-1], uint64(0)
	if r.reachSpan == 0 {
		now = mark
	}
	for i := range uint64(layout.TimedCells) {
		word, kept, bit := spare[i], r.rawMark(spare, i), uint64(1)<<i
		v.found |= bit & (above(word^cell, r.low) - 1)
		v.same |= bit & (above(word^last, r.low) - 1)
		v.live |= bit & -r.mayHaveCopies(word, kept, mark)
		age := (now+r.reach-kept)&r.tickMask | (above(word, 0) - 1)
		if age > most {
			v.oldest = 0
		}
		if most = max(most, age); age == most {
			v.oldest |= bit
		}
	}
	return v
}

// mayHaveCopies returns 1 if a cell is not empty, and within the window of an element or
// within reach of Now.
func (r *timedRule) mayHaveCopies(cell, kept, mark uint64) uint64 {
	nearNow := above(r.reachSpan, (kept-r.now+r.reach)&r.tickMask)
	return (r.nearElement(kept, mark) | nearNow) & above(cell, 0)
}

// within returns 1 if the time of a cell is within the window of an element or of Now.
func (r *timedRule) within(kept, mark uint64) uint64 {
	return r.nearElement(kept, mark) | above(r.windowSpan, (kept-r.now+r.window)&r.tickMask)
}

// nearElement returns 1 if the times of two marks are within the window of each other.
func (r *timedRule) nearElement(kept, mark uint64) uint64 {
	return above(2*r.window+1, (kept-mark+r.window)&r.tickMask)
}

// markOf returns the mark of a cell.
func (r *timedRule) markOf(line *[8]uint64, at uint64) uint64 {
	return r.rawMark(line, at) & (r.points | r.tickMask)
}

// remove takes a cell out of a line, unless at is TimedCells. Cells behind it move up.
func (r *timedRule) remove(line *[8]uint64, at uint64) {
	if at == layout.TimedCells {
		return
	}
	var rest layout.Line
	for i := layout.TimedCells - 1; i >= 0; i-- {
		if number := uint64(i); number != at && line[number] != 0 {
			r.move(&rest, layout.TimedCells, line[number], r.markOf(line, number))
		}
	}
	*line = rest
}
