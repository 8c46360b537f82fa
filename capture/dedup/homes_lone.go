// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// loneAfter is how many first sightings at one point a stream begins with before homes are
// no longer noted: more than come before each point of a capture has shown itself.
const loneAfter = 1 << 16

// loneHome is the state of homes for a stream whose first sightings come from one point. All
// homes are there.
type loneHome struct {
	point uint64
	count int  // first sightings there, at most loneAfter
	over  bool // there was one at another point
	// since is the time at which it was, if homes were not noted before, or NoTime.
	since int64
}

// lonePoint returns the point of all first sightings so far, if there are enough of them that homes
// are not noted. Exactly the packets of that point are at home then. They need not be passed
// to atHome before the next first sighting at another point.
func (t *homes) lonePoint() (point uint64, ok bool) {
	return t.lone.point, !t.lone.over && t.lone.count == loneAfter
}

// learn returns where the packets from number from on end that are noted before lone
// changes: behind the last one that it counts, or before one of another point.
func (l *loneHome) learn(s *homeSightings, from int) int {
	for i := from; i < len(s.Conversation); i++ {
		if !counts(s, i) || isCopy(s, i) {
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

// pass sets the bits of packets from number from on that are at home, up to a first
// sighting at another point, whose number it returns.
func (l *loneHome) pass(home []uint64, s *homeSightings, from int) int {
	for i := from; i < len(s.Conversation); i++ {
		switch {
		case s.Point[i] == l.point || !counts(s, i):
			home[i/wordSize] |= 1 << (i % wordSize)
		case !isCopy(s, i):
			l.over, l.since = true, s.Times[i]
			return i
		}
	}
	return len(s.Conversation)
}

// counts reports whether a packet has a home.
func counts(s *homeSightings, i int) bool {
	return s.Conversation[i] != 0 && s.Times[i] != calendar.NoTime
}

func isCopy(s *homeSightings, i int) bool { return s.Copies[i/wordSize]>>(i%wordSize)&1 != 0 }

// homeOf returns the home of a conversation that is not remembered, and that is seen at a
// point. It may have begun when homes were not noted.
func (l *loneHome) homeOf(point uint32, now int64) uint32 {
	if l.since != calendar.NoTime && calendar.Distance(now, l.since) < uint64(silence) {
		return uint32(l.point)
	}
	return point
}
