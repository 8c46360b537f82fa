// SPDX-License-Identifier: Apache-2.0

package window

import (
	"math"

	"github.com/flowdedup/flowdedup/layout"
)

// Blocks are parts of the stream, some elements long. Verdicts depend on the elements, and
// on state that changes only where a block begins: the clock, the time back to which rows
// remember, and the rows themselves. So it does not matter how a stream is cut into calls.
const (
	leastBlock = 64
	mostBlock  = 4096
)

// The least slack is a part of the window: elements may be late by this much at any load.
// Where lines have more than crowdedLoad live elements, as in a filter that cannot grow,
// elements without further copies must not take the spare lines, so it is less.
const (
	slackPart        = 8
	crowdedSlackPart = 32
	crowdedLoad      = 2.6
)

// blockLength returns the number of elements in a block of a filter with the given number
// of lines.
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
		t.params.Now = int64(t.tick.divide(t.blockEnd)) // without a clock no element is late
	case t.workingSet.clock.now != layout.NoTick:
		t.setClock()
	}
}

// setClock makes the rows remember the elements within the window and the slack of the
// clock. Elements that are later than the slack may be late. If the clock went back by
// more, all earlier elements may be late, too: rows also forget elements ahead of it.
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

// forgetBefore records that elements older than the window and the slack may be
// forgotten.
func (t *Timed) forgetBefore(slack int64) {
	m := &t.workingSet
	m.late.forget(earlier(m.clock.now, slack))
}

// earlier returns t - d, and later t + d, without overflow.
func earlier(t, d int64) int64 { return max(t, layout.NoTick+d) - d }
func later(t, d int64) int64   { return min(t, math.MaxInt64-d) + d }

// leastSlack returns the slack of the rows at their load.
func (t *Timed) leastSlack() int64 {
	if float64(t.workingSet.current()) > crowdedLoad*float64(t.rows.lines) {
		return t.params.Window / crowdedSlackPart
	}
	return t.params.Window / slackPart
}

// Slack returns how long a Timed with the given number of live elements a line remembers
// elements beyond its window of time, as a share of the window.
func Slack(load float64) float64 {
	if load > crowdedLoad {
		return 1.0 / crowdedSlackPart
	}
	return max(1.0/slackPart, 1/load-1)
}

// mostSlack returns the greatest slack at which times are comparable.
func (t *Timed) mostSlack() int64 { return 1<<(t.params.TickBits-1) - 1 - t.params.Window }

// slack returns how far beyond the window the rows remember: the farthest that their room
// allows.
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
