package affinity

import (
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// loneAfter is how many packets of one point a stream begins with before homes are no
// longer noted: more than come before each point of a capture has shown itself.
const loneAfter = 1 << 16

// lone is what a Table knows about a stream that has shown one point.
type lone struct {
	point uint64
	count int  // packets there, at most loneAfter
	over  bool // another point was seen
	// since is the time at which it was, if homes were not noted before, or NoTime.
	since int64
}

// Lone returns the point that all packets so far came from, if these are so many that
// homes are not noted. Packets of that point are at home then, and need not be passed to
// AtHome.
func (t *Table) Lone() (point uint64, ok bool) {
	return t.lone.point, !t.lone.over && t.lone.count == loneAfter
}

// learn returns where the packets from number from on end that are noted before lone
// changes: behind the last one that it counts, or before one of another point.
func (l *lone) learn(s *Sightings, from int) int {
	for i := from; i < len(s.Conversation); i++ {
		if !counts(s, i) {
			continue
		}
		if l.count == 0 {
			l.point = s.Point[i]
		}
		if l.point != s.Point[i] {
			l.over = true
			return i
		}
		if l.count++; l.count == loneAfter {
			return i + 1
		}
	}
	return len(s.Conversation)
}

// pass returns the first packet from number from on that is of another point.
func (l *lone) pass(s *Sightings, from int) int {
	for i := from; i < len(s.Conversation); i++ {
		if s.Point[i] != l.point && counts(s, i) {
			l.over, l.since = true, s.Times[i]
			return i
		}
	}
	return len(s.Conversation)
}

// counts reports whether a packet has a home.
func counts(s *Sightings, i int) bool {
	return s.Conversation[i] != 0 && s.Times[i] != calendar.NoTime
}

// homeOf returns the home of a conversation that is not remembered, and that is seen at a
// point. It may have begun when homes were not noted.
func (l *lone) homeOf(point uint32, now int64) uint32 {
	if l.since != calendar.NoTime && distance(now, l.since) < uint64(silence) {
		return uint32(l.point)
	}
	return point
}

// setRange sets the bits from from to to-1.
func setRange(bitmap []uint64, from, to int) {
	for from < to {
		end := min(from&^63+64, to)
		bitmap[from/64] |= ^uint64(0) >> (64 - (end - from)) << (from % 64)
		from = end
	}
}
