// SPDX-License-Identifier: Apache-2.0

package window

import (
	"math"

	"github.com/flowdedup/flowdedup/layout"
)

// Blocks are parts of the stream, some elements long. What verdicts depend on beside the
// elements changes where a block begins, so it does not matter how a stream is cut into
// calls: the clock, up to when rows remember, and the rows themselves.
const (
	leastBlock = 64
	mostBlock  = 4096
)

// The least slack is a part of the window: so late may elements be at any load. Where lines
// have more than crowdedLoad live elements, as in a filter that cannot grow, what has no
// copies any more must not take the spare lines, so it is less.
const (
	slackPart        = 8
	crowdedSlackPart = 32
	crowdedLoad      = 2.6
)

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
// Elements that are later than the slack may be late. Where the clock went back by more, so
// may all be that came before: rows forget what lies ahead, too.
func (t *Timed) setClock() {
	m := &t.workingSet
	t.params.Now, t.params.Slack = m.clock.now, t.slack()
	m.late.reached = max(m.late.reached, m.clock.now)
	m.late.latest = max(m.late.latest, m.clock.latest(t.leastSlack()))
	t.forgetBefore(t.params.Slack)
	if uint64(m.late.reached)-uint64(t.params.Now) > uint64(t.params.Window+t.params.Slack) {
		m.late.forget(later(m.late.latest, t.params.Window+t.leastSlack()))
	}
}

// forgetBefore notes that what is older than the window and the slack may be forgotten.
func (t *Timed) forgetBefore(slack int64) {
	m := &t.workingSet
	m.late.forget(earlier(m.clock.now, slack))
}

// earlier returns t - d, and later t + d, without overflow.
func earlier(t, d int64) int64 { return max(t, layout.NoTick+d) - d }
func later(t, d int64) int64   { return min(t, math.MaxInt64-d) + d }

// leastSlack returns the slack that the rows have at their load.
func (t *Timed) leastSlack() int64 {
	if float64(t.workingSet.current()) > crowdedLoad*float64(t.rows.lines) {
		return t.params.Window / crowdedSlackPart
	}
	return t.params.Window / slackPart
}

// Slack returns how long a Timed that has so many live elements a line remembers elements
// beyond its window of time, as a share of it.
func Slack(load float64) float64 {
	if load > crowdedLoad {
		return 1.0 / crowdedSlackPart
	}
	return max(1.0/slackPart, 1/load-1)
}

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
