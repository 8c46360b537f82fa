package line

import (
	"github.com/flowdedup/flowdedup/layout"
	"math"
	"math/bits"
)

// setClock sets what depends on Now and Slack. Times farther away than half of those that
// a mark can hold are nearer the other way round.
func (r *timedRule) setClock(p *TimedParams) {
	r.now = uint64(p.Now) & r.tickMask
	r.reach = min(r.window+uint64(p.Slack), r.tickMask>>1)
	if p.Now != layout.NoTick {
		r.reachSpan, r.windowSpan = 2*r.reach+1, 2*r.window+1
	}
}

// share returns how many spare lines there are for each line, as a fraction of 2^64,
// rounded down. There are never more than lines in use.
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

// spareRows takes one element after the other. What it does in rows with spare lines is the
// contract: batches have to leave the same verdicts, lines and counts.
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
	at := s.ask(line, spare, cell, mark)
	if at == layout.TimedCells {
		s.counts.Inserted++
		s.pushOut(line, spare, at, mark)
		s.rule.move(line, layout.TimedCells, cell, mark)
		return 0
	}
	near, away, diff := s.rule.judge(s.rule.rawMark(spare, at), mark)
	isCopy = near & away
	if isCopy != 0 && !s.rule.refresh {
		return isCopy
	}
	s.pushOut(line, spare, at, mark)
	s.rule.move(line, layout.TimedCells, cell, mark^diff&(s.rule.points|s.rule.tickMask)&-isCopy)
	return isCopy
}

// put puts a cell with the fingerprint of cell and a mark in front of the line with a
// number. It replaces the cell with that fingerprint, there or in the spare line. now is
// the mark of the element that is looked up.
func (s *spareRows) put(number, cell, mark, now uint64) {
	line, spare := &s.Lines[number], s.spareOf(number, s.part)
	at := s.rule.find(line, cell)
	if at == layout.TimedCells {
		asked := s.ask(line, spare, cell, now)
		s.counts.Inserted += above(asked, layout.TimedCells-1)
		s.pushOut(line, spare, asked, now)
	}
	s.rule.move(line, at, cell, mark)
}

// ask returns the number of the cell with the fingerprint of cell in the spare line, or
// TimedCells, for an element whose line does not have it.
func (s *spareRows) ask(line, spare *[8]uint64, cell, mark uint64) (at uint64) {
	if line[7]&layout.TimedSpilled == 0 || spare == nil {
		return layout.TimedCells
	}
	s.counts.Asked++
	if s.rule.live(spare, mark) == 0 {
		*spare = layout.Line{}
		line[7] &^= layout.TimedSpilled
	}
	return s.rule.find(spare, cell)
}

// pushOut takes the last cell of a line for an element that goes to its front, and puts it
// in front of the spare line if it may have copies. There it replaces cell at, which moves
// to the line, unless at is TimedCells. Without a spare line it is forgotten.
func (s *spareRows) pushOut(line, spare *[8]uint64, at, mark uint64) {
	const last = layout.TimedCells - 1
	cell, kept := line[last], s.rule.markOf(line, last)
	switch {
	case spare == nil:
		s.counts.EvictedLive += s.rule.nearElement(kept, mark) & above(cell, 0)
		return
	case s.rule.mayHaveCopies(cell, kept, mark) == 0:
		s.rule.remove(spare, at)
		return
	case at == layout.TimedCells:
		at = s.room(spare, cell, mark)
	}
	s.rule.move(spare, at, cell, kept)
	line[7] |= layout.TimedSpilled
	s.counts.Spilled++
}

// room returns the number of the cell in the spare line that makes room for cell: the one
// with its fingerprint, else the last one without copies, else the last one.
func (s *spareRows) room(spare *[8]uint64, cell, mark uint64) (at uint64) {
	const last = layout.TimedCells - 1
	if at = s.rule.find(spare, cell); at < layout.TimedCells {
		return at
	}
	if dead := ^s.rule.live(spare, mark) & (1<<layout.TimedCells - 1); dead != 0 {
		return uint64(bits.Len64(dead) - 1)
	}
	s.counts.EvictedLive += s.rule.within(s.rule.rawMark(spare, last), mark)
	return last
}

// live returns a bit for each cell of a line that may have copies, for an element with this
// mark.
func (r *timedRule) live(line *[8]uint64, mark uint64) (live uint64) {
	for i := range uint64(layout.TimedCells) {
		live |= r.mayHaveCopies(line[i], r.rawMark(line, i), mark) << i
	}
	return live
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

// remove takes a cell out of a line, unless at is TimedCells. Those behind it move up.
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
