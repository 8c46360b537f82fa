package window

import "github.com/flowdedup/flowdedup/layout"

// Blocks are parts of the stream, some elements long. What verdicts depend on beside the
// elements changes where a block begins, so it does not matter how a stream is cut into
// calls: the clock, up to when rows remember, and the rows themselves.
const (
	leastBlock = 64
	mostBlock  = chunkElements
)

// slackPart is which part of a window is the least slack: so late may elements be whatever
// the load.
const slackPart = 8

// blockLength returns how many elements the blocks of a filter of so many lines have.
func blockLength(lines int) uint64 {
	return uint64(min(max(leastBlock, lines/8), mostBlock) &^ (leastBlock - 1))
}

// beginBlock begins a block at the present position.
func (t *Timed) beginBlock() {
	if t.growth.limit > 0 {
		t.changeRows()
	}
	length := blockLength(t.lines)
	t.blockEnd = t.position + length
	switch {
	case t.kind.None:
	case t.kind.Packets > 0:
		t.params.Now = int64(t.tick.divide(t.blockEnd)) // nothing is late here
	case t.workingSet.clock.now != layout.NoTick:
		t.setClock()
	}
}

// setClock has the rows remember what lies within the window and the slack of the clock.
// Elements that are later than the slack may be late.
func (t *Timed) setClock() {
	m := &t.workingSet
	t.params.Now, t.params.Slack = m.clock.now, t.slack()
	m.late.reached = max(m.late.reached, m.clock.now)
	t.forgetBefore(t.params.Slack)
}

// forgetBefore notes that what is older than the window and the slack may be forgotten.
func (t *Timed) forgetBefore(slack int64) {
	m := &t.workingSet
	m.late.forget(max(m.clock.now, layout.NoTick+slack) - slack)
}

// leastSlack returns the slack that the rows have at any load.
func (t *Timed) leastSlack() int64 { return t.params.Window / slackPart }

// mostSlack returns the greatest slack of which times can be compared.
func (t *Timed) mostSlack() int64 { return 1<<(t.params.TickBits-1) - 1 - t.params.Window }

// slack returns how far beyond the window the rows remember: as far as there is room.
func (t *Timed) slack() int64 {
	most := t.mostSlack()
	now, since := t.workingSet.clock.now, t.workingSet.horizon.since()
	if since == layout.NoTick {
		return most
	}
	room := int64(0)
	if now > since && uint64(now)-uint64(since) > uint64(t.params.Window) {
		room = int64(min(uint64(now)-uint64(since)-uint64(t.params.Window), uint64(most)))
	}
	return max(room, t.leastSlack())
}
