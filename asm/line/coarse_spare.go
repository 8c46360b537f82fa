// SPDX-License-Identifier: Apache-2.0

package line

import "math/bits"

// coarseTable looks elements up one at a time, by the whole rule.
type coarseTable struct {
	rule   *coarseRule
	rows   CoarseRows
	older  []CoarseRows
	place  uint64 // the half of the digest that chooses lines, where there are older rows
	counts *CoarseCounts
}

// coarseElement is an element whose line does not have it. Its youths are relative to the
// line's clock after it was turned for the element.
type coarseElement struct {
	line      *[8]uint64
	number    uint64 // of the line
	cell      uint64
	tick      uint32
	clock     uint32 // of the line
	own, last uint64 // the youth of the element, and of the last cell
	freed     int    // the cell of the spare line that the element frees if it is a copy, or -1
}

// elementOf describes an element of a line that may not yet have been turned for it.
func (r *coarseRule) elementOf(line *[8]uint64, number, cell uint64, tick uint32) coarseElement {
	e := coarseElement{line: line, number: number, cell: cell, tick: tick, clock: uint32(line[7] >> 32), freed: -1}
	e.own, e.last = r.seenFrom(line, tick, r.youth(line, r.cells-1))
	if uint64(e.clock-tick) >= r.tooLate {
		e.clock = tick
	}
	return e
}

// testAndSet looks up one element.
func (t *coarseTable) testAndSet(line *[8]uint64, number, cell uint64, tick uint32) (isCopy, found uint64) {
	r := t.rule
	own := r.turn(line, tick)
	at, found := r.find(line, cell)
	if found == 1 {
		youth := r.youth(line, at)
		isCopy = r.isHit(own, youth, 1)
		if isCopy == 0 {
			r.put(line, at, cell, own)
		} else if r.refresh {
			r.put(line, at, cell, max(own, youth))
		}
		return isCopy, 1
	}
	e := r.elementOf(line, number, cell, tick)
	if later, found := t.ask(&e); found {
		t.take(line, &e, later)
		return 1, 1
	}
	t.pushOut(&e)
	r.put(line, r.cells-1, cell, own)
	return 0, 0
}

// ask looks for an element in the spare line, if its line is full, and in older rows. It
// reports whether the element is a copy, and how much later the cell is, or 0.
func (t *coarseTable) ask(e *coarseElement) (later uint64, isCopy bool) {
	r := t.rule
	if len(t.rows.Spare) > 0 && r.isFull(e.own, e.last) {
		t.counts.Asked++
		if at, later, found := r.peek(t.rows.spareOf(e.number), e.cell, e.tick); found {
			e.freed = at
			return later, true
		}
	}
	for i := range t.older {
		if later, found := t.askOlder(&t.older[i], e); found {
			return later, true
		}
	}
	return 0, false
}

// take puts a copy that its line did not have in front of it, if copies renew cells. The last
// cell of the line takes the place that the copy had in the spare line.
func (t *coarseTable) take(line *[8]uint64, e *coarseElement, later uint64) {
	if t.rule.refresh {
		t.pushOut(e)
		t.rule.put(line, t.rule.cells-1, e.cell, min(e.own+later, t.rule.old))
	}
}

// pushOut moves the last cell of the line of an element to the spare line, if the line is
// full.
func (t *coarseTable) pushOut(e *coarseElement) {
	r := t.rule
	switch {
	case !r.isFull(e.own, e.last):
	case len(t.rows.Spare) == 0:
		t.counts.EvictedLive++
	default:
		t.spill(e)
	}
}

// spill puts the last cell of the line of an element into the spare line, which it turns for
// the clock of the line.
func (t *coarseTable) spill(e *coarseElement) {
	r, spare := t.rule, t.rows.spareOf(e.number)
	cell, clock := r.cell(e.line, r.cells-1), r.turn(spare, e.clock)
	if e.last+clock <= r.old { // too old for the spare line
		t.counts.EvictedLive++
		return
	}
	t.counts.Spilled++
	at, found := r.find(spare, cell)
	if found == 0 && e.freed >= 0 {
		at, found = e.freed, 1
	}
	// By the clock of the element's line, the youth of the cell to remove is
	// last+old-clock.
	if last := r.youth(spare, at); found == 0 && last > 0 {
		t.counts.EvictedLive += above(last+r.old-clock+r.window+1, e.own)
	}
	r.put(spare, at, cell, e.last+clock-r.old)
}

// isFull reports whether a line whose last cell has this youth is full for an element.
func (r *coarseRule) isFull(own, last uint64) bool {
	return last > 0 && r.isHit(own, last, 0) == 1
}

// peek looks for an element in a line without changing it. It returns the cell with its
// fingerprint, if that is within the window, and how much later the cell is than the
// element, or 0.
func (r *coarseRule) peek(line *[8]uint64, cell uint64, tick uint32) (at int, later uint64, found bool) {
	at, found1 := r.find(line, cell)
	if found1 == 0 {
		return 0, 0, false
	}
	own, youth := r.seenFrom(line, tick, r.youth(line, at))
	if r.isHit(own, youth, 1) == 0 {
		return 0, 0, false
	}
	return at, max(own, youth) - own, true
}

// seenFrom returns the youths that an element and a cell of its line would have if the
// line were turned for the element.
func (r *coarseRule) seenFrom(line *[8]uint64, tick uint32, youth uint64) (own, cell uint64) {
	clock := uint32(line[7] >> 32)
	if late := uint64(clock - tick); late < r.tooLate {
		return r.old - late, youth
	}
	return r.old, max(youth, uint64(tick-clock)) - uint64(tick-clock)
}

// SpareOf returns the number of the spare line of the line with a number. There must be
// spare lines.
func (rows *CoarseRows) SpareOf(number uint64) uint64 {
	return number * uint64(len(rows.Spare)) / uint64(len(rows.Lines))
}

// spareOf returns the spare line of the line with a number.
func (rows *CoarseRows) spareOf(number uint64) *[8]uint64 { return &rows.Spare[rows.SpareOf(number)] }

// coarseSecondPass looks up again the elements of a batch that find their line full. The
// state is then as if elements had come one at a time.
//
// The kernel took all of them as if there were no spare lines. That is right for the line
// of an element that finds nothing there, so it remains only to move the line's last
// cell, which is in the log. An element that is a copy after all has changed its line
// wrongly, and so may have the later elements of the line. Its line is restored, and the
// later elements are looked up once more at their turn.
type coarseSecondPass struct {
	coarseTable
	batch *batch
	log   *coarseLog
	size  int
}

// run takes and returns the elements that are copies, and the elements that find their
// fingerprint, all in order. full are the elements that ask the spare line.
func (s *coarseSecondPass) run(copies, found, full uint64) (allCopies, allFound uint64) {
	s.touchSpare(full)
	again := uint64(0)
	for todo := full; todo != 0; todo &= todo - 1 {
		i := bits.TrailingZeros64(todo) & 63
		offset, cell, tick := s.batch.offset[i], s.batch.low[i], uint32(s.batch.random[i])
		line := &s.rows.Lines[offset/64]
		if again>>i&1 == 1 {
			isCopy, isFound := s.testAndSet(line, offset/64, cell, tick)
			copies, found = copies|isCopy<<i, found|isFound<<i
			continue
		}
		e := s.rule.elementOf(&s.log[i], offset/64, cell, tick)
		newer, isCopy := s.ask(&e)
		if !isCopy {
			s.pushOut(&e)
			continue
		}
		*line = s.log[i]
		s.rule.turn(line, tick)
		s.take(line, &e, newer)
		later := sameLine(&s.batch.offset, offset) & (1<<s.size - 1) &^ (2<<i - 1)
		again, todo = again|later, todo|later
		copies, found = copies&^later|1<<i, found&^later|1<<i
	}
	return copies, found
}

// touchSpare loads the spare lines of elements, so that all cache misses run at the same
// time.
func (s *coarseSecondPass) touchSpare(elements uint64) {
	var offsets [64]uint64
	n := 0
	for ; elements != 0; elements &= elements - 1 {
		number := s.batch.offset[bits.TrailingZeros64(elements)&63] / 64
		offsets[n&63] = s.rows.SpareOf(number) * 64
		n++
	}
	touchLines(s.rows.Spare, offsets[:n])
}
