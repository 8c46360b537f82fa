// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// inputPacket is a packet of the input that is remembered.
type inputPacket struct {
	identity digest.Digest
	time     int64
	number   uint64 // in the input, from 1
	judged   uint64 // the same without undecidable packets
	within   uint64 // hash of the fields that copies have in common, except the LAN
	point    place  // where it was seen
	state    state
	unfit    bool
	before   uint64 // place of the sighting of its identity before it, plus 1; 0 for none
	// keptBefore is the place, plus 1, of the latest kept sighting of its identity before it.
	// elsewhere is that of the latest kept one with another point than keptBefore. They are not
	// used with Config.Refresh, where a packet may become kept later.
	keptBefore, elsewhere uint64
}

type state uint8

const (
	kept    state = iota // in the output, or, with Config.Refresh, a copy of one there
	pending              // not in the output; its original may still come
	copied               // was pending, and is a copy
)

// moved is a packet that was removed for a later one. It is the first of the packets that the kept
// one settled, and dedup finds copies by it. Where times go back, it may lie between a copy and
// the kept one, so that these two are further apart than the window.
type moved struct{ first, kept uint64 } // places, plus 1

// sightingBytes is the memory of a sighting, with its share of the map.
const sightingBytes = 128

// copies remembers kept and pending packets by identity, the latest ones.
type copies struct {
	cfg     *Config
	most    uint64                   // how many are remembered
	ring    []inputPacket            // place p is at p % most
	last    map[digest.Digest]uint64 // the place of the latest sighting of an identity, plus 1
	waiting map[digest.Digest]int    // how many of an identity are pending
	moved   map[digest.Digest]moved  // the latest of an identity; nil where times do not matter
	first   uint64                   // the oldest place that is remembered
	next    uint64                   // the place of the next sighting
	windows calendar.Calendar        // of a landmark window of time
	reach   uint64                   // the largest distance in time of copies

	latest   int64  // of the times so far
	disorder uint64 // by how much times went back behind it
	// The latest time and judged of the kept packets that were forgotten, nil if there are
	// none.
	forgotten  *inputPacket
	unfinished func(s *inputPacket, forgotten bool) // takes pending packets that match nothing
}

func newCopies(cfg *Config, unfinished func(s *inputPacket, forgotten bool)) *copies {
	c := &copies{
		cfg: cfg, most: max(uint64(cfg.Memory/sightingBytes), 1), last: map[digest.Digest]uint64{},
		waiting: map[digest.Digest]int{}, unfinished: unfinished, reach: uint64(cfg.Window) + uint64(cfg.Tolerance),
	}
	if cfg.Landmark && cfg.Window > 0 {
		c.windows = calendar.Calendar{Every: cfg.Window, Location: cfg.Zone}
		c.reach = uint64(c.windows.Longest())
	}
	if cfg.Window > 0 && !cfg.Landmark && !cfg.Refresh {
		c.moved = map[digest.Digest]moved{}
	}
	return c
}

// date notes the time of the next packet of the input. A packet without a time gets the time of
// its place.
func (c *copies) date(s *inputPacket) {
	if s.time == capture.NoTime {
		s.time = c.latest
	}
	if s.time < c.latest {
		c.disorder = max(c.disorder, apart(s.time, c.latest))
	}
	c.latest = max(c.latest, s.time)
}

// add takes the next packet of the input.
func (c *copies) add(s inputPacket) {
	c.date(&s)
	switch {
	case s.state == kept:
	case !c.isCopy(&s) && !c.isCopyOfMoved(&s):
		c.waiting[s.identity]++
	case c.cfg.Refresh:
		s.state = kept
	default:
		return
	}
	p := c.push(s)
	if s.state == kept {
		c.settle(p)
	}
}

// at returns a sighting by its place.
func (c *copies) at(place uint64) *inputPacket { return &c.ring[place%c.most] }

// push remembers a sighting, in the place of the oldest one if need be.
func (c *copies) push(s inputPacket) uint64 {
	if c.next-c.first == c.most {
		c.forget()
	}
	s.before = c.last[s.identity]
	if s.before > c.first {
		k := c.at(s.before - 1)
		s.keptBefore, s.elsewhere = k.keptBefore, k.elsewhere
		if k.state == kept {
			s.keptBefore = s.before
			if before := k.keptBefore; before > c.first && c.at(before-1).point != k.point {
				s.elsewhere = before
			}
		}
	}
	if p := c.next % c.most; p < uint64(len(c.ring)) {
		c.ring[p] = s
	} else {
		c.ring = append(c.ring, s)
	}
	c.next++
	c.last[s.identity] = c.next
	return c.next - 1
}

// forget forgets the oldest sighting.
func (c *copies) forget() {
	s := c.at(c.first)
	c.first++
	c.end(s, c.mayCome(s))
	if s.state == kept {
		if c.forgotten == nil {
			c.forgotten = &inputPacket{time: s.time}
		}
		c.forgotten.time, c.forgotten.judged = max(c.forgotten.time, s.time), s.judged
	}
	if c.last[s.identity] == c.first {
		delete(c.last, s.identity)
		delete(c.moved, s.identity)
	}
}

// end decides a sighting that is still pending. open says that its original may still come.
func (c *copies) end(s *inputPacket, open bool) {
	if s.state == pending {
		c.done(s, copied)
		c.unfinished(s, open || c.mayBeForgotten(s))
	}
}

// mayCome reports whether a packet that s copies may come after the latest one.
func (c *copies) mayCome(s *inputPacket) bool {
	switch {
	case c.cfg.Packets > 0:
		return s.judged+c.cfg.Packets > c.at(c.next-1).judged
	case c.cfg.Window == 0:
		return true
	}
	return c.latest < s.time || apart(c.latest, s.time) <= c.disorder+c.reach
}

// finish ends all that is pending.
func (c *copies) finish() {
	for ; c.first < c.next; c.first++ {
		c.end(c.at(c.first), false)
	}
}

// done gives a pending sighting another state.
func (c *copies) done(s *inputPacket, to state) {
	s.state = to
	if c.waiting[s.identity]--; c.waiting[s.identity] == 0 {
		delete(c.waiting, s.identity)
	}
}

// mayBeForgotten reports whether the original of a packet may have been forgotten.
func (c *copies) mayBeForgotten(s *inputPacket) bool {
	switch {
	case c.forgotten == nil:
		return false
	case c.cfg.Packets > 0:
		return s.judged <= c.forgotten.judged+c.cfg.Packets
	case c.cfg.Window == 0:
		return true
	}
	return s.time <= c.forgotten.time || apart(s.time, c.forgotten.time) <= c.reach
}

// apart returns the absolute difference of two times.
func apart(a, b int64) uint64 { return uint64(max(a, b)) - uint64(min(a, b)) }

// isCopy reports whether a packet is a copy of one that is remembered. It passes over equal
// packets that were removed, and with Config.Across over all kept at its own place in a row. There
// may be any number of both.
func (c *copies) isCopy(s *inputPacket) bool {
	for at := c.last[s.identity]; at > c.first; {
		k := c.at(at - 1)
		if k.state == kept && c.copies(s, k) {
			return true
		}
		if c.isPast(k, s) {
			return false
		}
		at = c.nextOf(k, s)
	}
	return false
}

// nextOf returns the place of the sighting before k that s may be a copy of, plus 1.
func (c *copies) nextOf(k, s *inputPacket) uint64 {
	switch before := k.keptBefore; {
	case c.cfg.Refresh:
		return k.before
	case c.cfg.Across && before > c.first && c.at(before-1).point == s.point:
		return k.elsewhere
	default:
		return before
	}
}

// isCopyOfMoved reports whether a removed packet is a copy of one before it that was removed for a
// later one, and whose time lies between both.
func (c *copies) isCopyOfMoved(s *inputPacket) bool {
	m := c.moved[s.identity]
	if m.first <= c.first || m.kept <= c.first {
		return false
	}
	first, kept := c.at(m.first-1), c.at(m.kept-1)
	between := min(s.time, kept.time) < first.time && first.time < max(s.time, kept.time)
	return between && first.number < s.number && c.copies(s, first)
}

// settle marks the pending packets that are copies of a kept one, or of the first of these.
func (c *copies) settle(place uint64) {
	if first := c.settleCopies(place); first > 0 && c.moved != nil {
		k := c.at(place)
		c.moved[k.identity] = moved{first, place + 1}
		for at := c.last[k.identity]; at >= first && c.waiting[k.identity] > 0; {
			s := c.at(at - 1)
			if s.state == pending && c.isCopyOfMoved(s) {
				c.done(s, copied)
			}
			at = s.before
		}
	}
}

// settleCopies marks the pending packets that are copies of a kept one. It returns the place of the
// first of them, plus 1, or 0.
func (c *copies) settleCopies(place uint64) (first uint64) {
	for todo := []uint64{place}; len(todo) > 0; {
		k := c.at(todo[0])
		todo = todo[1:]
		for at := c.last[k.identity]; at > c.first && c.waiting[k.identity] > 0; {
			s := c.at(at - 1)
			if s.state == pending && c.copies(s, k) {
				to := copied
				if c.cfg.Refresh {
					to = kept
					todo = append(todo, at-1)
				}
				c.done(s, to)
				first = at
			}
			if c.isPast(s, k) {
				break
			}
			at = s.before
		}
	}
	return first
}

// copies reports whether s is a copy of k, which has the same identity.
func (c *copies) copies(s, k *inputPacket) bool {
	switch {
	case k.unfit && !s.unfit, s.unfit != k.unfit && (c.cfg.Packets > 0 || c.cfg.Across):
		return false
	case s.within != k.within, c.cfg.Across && s.point == k.point, c.cfg.Within&traits.PointLAN != 0 && s.point.lan != k.point.lan:
		return false
	case c.cfg.Landmark:
		return c.shareWindow(s, k)
	case c.cfg.Packets > 0:
		return max(s.judged, k.judged)-min(s.judged, k.judged) <= c.cfg.Packets
	}
	return c.cfg.Window == 0 || apart(s.time, k.time) <= c.reach
}

// shareWindow reports whether two packets lie in the same landmark window.
func (c *copies) shareWindow(s, k *inputPacket) bool {
	if c.cfg.Packets > 0 {
		return (s.judged-1)/c.cfg.Packets == (k.judged-1)/c.cfg.Packets
	}
	of, _ := c.windows.Window(s.time)
	same, _ := c.windows.Window(k.time)
	return of == same
}

// isPast reports whether s and all sightings before it are too far from k, which came
// later.
func (c *copies) isPast(s, k *inputPacket) bool {
	switch {
	case c.cfg.Packets > 0:
		return s.judged+c.cfg.Packets < k.judged
	case c.cfg.Window == 0:
		return false
	}
	return s.time < k.time && apart(s.time, k.time) > c.disorder+c.reach
}
