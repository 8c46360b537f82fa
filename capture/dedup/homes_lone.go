// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// loneAfter is how many first sightings at one point a stream begins with before homes are
// no longer noted: more than come before each point of a capture has shown itself.
const loneAfter = 1 << 16

// loneHome is the state of homes while all first sightings come from one point, so that all
// homes are at that point.
type loneHome struct {
	point uint64
	count int  // first sightings at the point, at most loneAfter
	over  bool // another point had a first sighting
	// since is the time of that sighting if homes were not noted before, else NoTime.
	since int64
}

// lonePoint returns the point of all first sightings so far, and true if there were so many that
// homes are not noted. Then exactly the packets of that point are at home. They need not be passed
// to atHome before the next first sighting at another point.
func (t *homes) lonePoint() (point uint64, ok bool) {
	return t.lone.point, !t.lone.over && t.lone.count == loneAfter
}

// learn counts first sightings from packet number from on. It returns the number of the packet
// before which l changed: after the last one that it counted, or the first one of another point.
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
