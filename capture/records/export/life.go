// SPDX-License-Identifier: Apache-2.0

package export

import (
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/engine/calendar"
)

// life is the time between two restarts of an exporter.
type life struct {
	began       bool
	first, last arrival // in the order of numbers
	gaps        []gap
}

// gap are numbers that were counted as lost. They may still come, stamped between the
// messages around them.
type gap struct {
	from, to  uint32
	low, high stamp
}

// stamp is a reading of an exporter's clocks.
type stamp struct {
	exported int64
	uptime   uint32
}

// maxGaps bounds the gaps of a life. Messages of earlier gaps are late and not found.
const maxGaps = 64

// span returns the numbers of a message, from the first up to, but without, to.
func (u unit) span(a *arrival) (from, to uint32) {
	switch u {
	case allRecords:
		return a.number, a.number + a.count
	case ownRecords:
		return a.number - a.own(), a.number
	}
	return a.number, a.number + 1
}

func (a *arrival) stamp() stamp { return stamp{a.exported, a.uptime} }

func (l *life) start(a *arrival) { l.began, l.first, l.last = true, *a, *a }

// gap returns by how much a message is ahead of the expected number.
func (l *life) gap(a *arrival, u unit) int32 {
	from, _ := u.span(a)
	_, want := u.span(&l.last)
	return int32(from - want)
}

// place takes a late message of a life that has ended. It reports whether the message belongs to
// that life.
func (l *life) place(a *arrival, u unit) (o outcome, ok bool) {
	if !l.began || l.rebooted(a) || l.isBefore(a) {
		return o, false
	}
	if o.found, ok = l.fill(a, u); ok {
		return o, true
	}
	if gap := l.gap(a, u); gap >= 0 && gap < farAhead && !after(l.last.stamp(), a.stamp()) {
		o = l.ahead(a, u)
		l.last = *a
		return o, true
	}
	return l.below(a, u)
}

// ahead counts the numbers missing between the last message and message a.
func (l *life) ahead(a *arrival, u unit) (o outcome) {
	from, _ := u.span(a)
	_, want := u.span(&l.last)
	if o.lost = from - want; o.lost > 0 {
		l.miss(gap{want, from, l.last.stamp(), a.stamp()})
	}
	return o
}

// below takes a message from before the first message of the life.
func (l *life) below(a *arrival, u unit) (o outcome, ok bool) {
	_, to := u.span(a)
	first, _ := u.span(&l.first)
	missing := int32(first - to)
	if missing < 0 || missing >= farAhead || after(a.stamp(), l.first.stamp()) {
		return o, false
	}
	if o.lost = uint32(missing); missing > 0 {
		l.miss(gap{to, first, a.stamp(), l.first.stamp()})
	}
	l.first = *a
	return o, true
}

func (l *life) miss(g gap) {
	if len(l.gaps) == maxGaps {
		l.gaps = append(l.gaps[:0], l.gaps[1:]...)
	}
	l.gaps = append(l.gaps, g)
}

// fill takes a message that was counted as lost, and returns its units.
func (l *life) fill(a *arrival, u unit) (found uint32, ok bool) {
	from, to := u.span(a)
	at := slices.IndexFunc(l.gaps, func(g gap) bool {
		return from-g.from < g.to-g.from && to-g.from <= g.to-g.from && from != to &&
			!after(g.low, a.stamp()) && !after(a.stamp(), g.high)
	})
	if at < 0 {
		return 0, false
	}
	g := l.gaps[at]
	left, right := g, g
	left.to, left.high = from, a.stamp()
	right.from, right.low = to, a.stamp()
	var rest []gap
	if left.from != left.to {
		rest = append(rest, left)
	}
	if right.from != right.to {
		rest = append(rest, right)
	}
	l.gaps = slices.Replace(l.gaps, at, at+1, rest...)
	return to - from, true
}

// after reports whether stamp a is later than b. Threads of an exporter may stamp their messages
// slightly out of order.
func after(a, b stamp) bool {
	const little = time.Second
	return a.exported-b.exported > int64(little) || ran(b.uptime, a.uptime) > little
}

// ran returns how long an exporter ran between two uptimes, in milliseconds of 32 bits.
func ran(from, to uint32) time.Duration {
	return time.Duration(int32(to-from)) * time.Millisecond
}

// drift returns how much later the exporter started by message a than by the last message. Datagrams of sFlow have no time, so their arrival counts.
func (l *life) drift(a *arrival) time.Duration {
	passed := a.exported - l.last.exported
	if a.exported == 0 {
		passed = calendar.Since(a.received, l.last.received)
	}
	return less(passed, ran(l.last.uptime, a.uptime))
}

// less subtracts the times that two clocks measured. Either may be of any size.
func less(passed int64, ran time.Duration) time.Duration {
	return time.Duration(calendar.Since(passed, int64(ran)))
}

// isBefore reports whether a message was sent before the life began.
func (l *life) isBefore(a *arrival) bool {
	if !a.hasUptime {
		return a.exported < l.first.exported
	}
	return l.drift(a) < -apart
}

// rebooted reports whether, by its uptime, the exporter started again before it sent a message.
// Its clock may step by itself, but not if ours agrees with the uptime.
func (l *life) rebooted(a *arrival) bool {
	ran := ran(l.last.uptime, a.uptime)
	if !a.hasUptime || ran == 0 {
		return false
	}
	drift := l.drift(a)
	if ran < 0 && drift > apart {
		return true
	}
	ours := less(calendar.Since(a.received, l.last.received), ran)
	return drift.Abs() > farApart && ours.Abs() > farApart
}
