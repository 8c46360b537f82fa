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
	link     uint64 // of recent: finding an identity reads these two alone
	time     int64
	number   uint64 // in the input, from 1
	judged   uint64 // the same without undecidable packets
	within   uint64 // hash of the fields that copies have in common, except the LAN
	point    place  // where it was seen
	state    state
	unfit    bool
	doubtful bool   // its original may have been forgotten before it came
	joined   bool   // with Config.Refresh and Config.Across: it shares its window with a packet of another point
	pending  uint32 // in the latest sighting of an identity: how many of it are pending
	original uint32 // with noteOriginal: low bits of the place, plus 1, of the latest original of its identity
	before   uint64 // place of the sighting of its identity before it, plus 1; 0 for none
	// keptBefore is the place, plus 1, of the latest kept sighting of its identity before it,
	// elsewhere of the latest kept sighting before it whose point is not keptBefore's. They are
	// not used with Config.Refresh, where a packet may become kept later.
	keptBefore, elsewhere uint64
}

type state uint8

const (
	kept    state = iota // in the output, or, with Config.Refresh, a copy of a kept packet
	pending              // not in the output; its original may still come
	copied               // was pending, and is a copy; or may have been an original, see noteOriginal
)

// moved is a pair of equal packets: dedup kept the later, and removed the earlier as its copy. first
// is the original of the kept packet, or the first packet that the kept packet settled, and dedup finds
// copies by it. Where times go back, it may lie between a copy and the kept packet, which may then be
// further apart than the window. With Config.Across the copy may be from the point of the kept packet, and first from another.
type moved struct{ first, kept uint64 } // places, plus 1

// sightingBytes is the memory of a sighting, with its share of the table.
const sightingBytes = 128

// longShare is the part of the memory for packets that no later packet is expected to reach.
// Times may go back further than they ever did.
const longShare = 1024

// copies remembers the latest kept and pending packets by identity.
type copies struct {
	cfg     *Config
	recent                          // what is remembered
	most    uint64                  // how many packets memory holds: remembered sightings, and taken
	taken   uint64                  // entries of Verifier.balance
	long    uint64                  // how many are remembered though none is expected to reach them
	moved   map[digest.Digest]moved // the latest of an identity; nil where copies of kept packets are all
	windows calendar.Calendar       // of a landmark window of time
	reach   uint64                  // the largest distance in time of copies

	latest   int64  // of the times so far
	disorder uint64 // by how much times went back behind it
	// forgotten is the horizon of packets that may have been originals, dropped of packets that a
	// later packet may have made originals.
	forgotten, dropped horizon
	unfinished         func(s *inputPacket, forgotten bool) // takes pending packets that match nothing
}

// horizon is the latest time and judged of packets.
type horizon struct {
	any    bool
	time   int64
	judged uint64
}

func (h *horizon) note(s *inputPacket) {
	if !h.any {
		*h = horizon{true, s.time, s.judged}
	}
	h.time, h.judged = max(h.time, s.time), max(h.judged, s.judged)
}

func newCopies(cfg *Config, unfinished func(s *inputPacket, forgotten bool)) *copies {
	c := &copies{
		cfg: cfg, most: max(uint64(cfg.Memory/sightingBytes), 1),
		unfinished: unfinished, reach: uint64(cfg.Window) + uint64(cfg.Tolerance),
	}
	c.long = c.most / longShare
	c.recent = newRecent(c.long)
	if cfg.Unordered {
		c.long = c.most
	}
	if cfg.Landmark && cfg.Window > 0 {
		c.windows = calendar.Calendar{Every: cfg.Window, Location: cfg.Zone}
		c.reach = uint64(c.windows.Longest())
	}
	if (cfg.Window > 0 && !cfg.Landmark || cfg.Across) && !cfg.Refresh {
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
func (c *copies) add(s *inputPacket) {
	c.date(s)
	if c.cfg.Across && c.moved != nil {
		c.noteOriginal(s)
	}
	switch {
	case s.state == kept: // dedup may have kept it in the place of its original
		s.joined = c.cfg.Refresh && c.cfg.Across && c.isCopy(s)
	case !c.isCopy(s) && !c.isCopyOfMoved(s):
		if s.doubtful = c.mayBeAmong(&c.forgotten, s); s.doubtful && c.cfg.Refresh {
			c.forgotten.note(s) // if it is a copy, others may be copies of it
		}
	case c.cfg.Refresh:
		s.state, s.joined = kept, true
	case s.original == uint32(c.next+1): // the next place
		s.state = copied
	default:
		return
	}
	p := c.push(s)
	if s.state == kept && c.at(p).pending > 0 {
		c.settle(p)
	}
}

// push remembers a sighting. It forgets the two oldest at most, so that a single wrong time does not
// make it forget all that is near.
func (c *copies) push(s *inputPacket) uint64 {
	for range 2 {
		if c.len() > 0 && (c.len()+c.taken >= c.most || c.len() >= c.long && c.isOver(c.at(c.first))) {
			c.forget()
		}
	}
	added := c.put(s)
	if before := added.before; before > c.first {
		k := c.at(before - 1)
		added.keptBefore, added.elsewhere, added.pending = k.keptBefore, k.elsewhere, k.pending
		if k.state == kept {
			added.keptBefore = before
			if kept := k.keptBefore; kept > c.first && c.at(kept-1).point != k.point {
				added.elsewhere = kept
			}
		}
	}
	if s.state == pending {
		added.pending++
	}
	return c.next - 1
}

// isOver reports whether a sighting is decided, and no packet that it could decide is expected.
func (c *copies) isOver(s *inputPacket) bool { return s.state != pending && !c.mayCome(s) }

// forget forgets the oldest sighting.
func (c *copies) forget() {
	s := c.at(c.first)
	if s.state != pending {
		c.forgotten.note(s)
	}
	// With Refresh, an original may come by way of packets between.
	c.end(s, c.cfg.Refresh || c.mayCome(s))
	if len(c.moved) > 0 && c.moved[s.identity].first == c.first+1 {
		delete(c.moved, s.identity)
	}
	c.drop()
}

// end decides a sighting that is still pending. open says that its original may still come.
func (c *copies) end(s *inputPacket, open bool) {
	if s.state != pending {
		return
	}
	c.done(s, copied)
	unknown := open || s.doubtful || (c.moved != nil || c.cfg.Refresh) && c.mayBeAmong(&c.dropped, s)
	if open {
		c.dropped.note(s)
	}
	c.unfinished(s, unknown)
}

// mayCome reports whether the original of s may come after the latest packet.
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
	for ; c.len() > 0; c.drop() {
		c.end(c.at(c.first), false)
	}
}

// done ends a pending sighting with a state.
func (c *copies) done(s *inputPacket, to state) {
	s.state = to
	c.at(c.last(&s.identity)-1).pending--
}

// mayBeAmong reports whether the original of a packet may be among the packets of a horizon.
func (c *copies) mayBeAmong(h *horizon, s *inputPacket) bool {
	switch {
	case !h.any:
		return false
	case c.cfg.Packets > 0:
		return s.judged <= h.judged+c.cfg.Packets
	case c.cfg.Window == 0:
		return true
	}
	return s.time <= h.time || apart(s.time, h.time) <= c.reach
}

// apart returns the absolute difference of two times.
func apart(a, b int64) uint64 { return uint64(max(a, b)) - uint64(min(a, b)) }

// isCopy reports whether a packet is a copy of a remembered packet. Any number of equal packets may
// have been removed, or with Config.Across kept at its own place: it jumps over these.
func (c *copies) isCopy(s *inputPacket) bool {
	for at := c.last(&s.identity); at > c.first; {
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

// isCopyOfMoved reports whether a removed packet is a copy of moved.first, and for this alone is no copy
// of moved.kept: both are from one point, or the time of moved.first lies between theirs.
func (c *copies) isCopyOfMoved(s *inputPacket) bool {
	if len(c.moved) == 0 {
		return false
	}
	m := c.moved[s.identity]
	if m.first <= c.first || m.kept <= c.first {
		return false
	}
	first, kept := c.at(m.first-1), c.at(m.kept-1)
	between := min(s.time, kept.time) < first.time && first.time < max(s.time, kept.time)
	return (between || c.cfg.Across && s.point == kept.point) && (first.number < s.number || s.unfit && !first.unfit) && c.copies(s, first)
}

// settle marks the pending packets that are copies of a kept packet, the latest of its identity, or
// copies of the first of these packets.
func (c *copies) settle(place uint64) {
	first, k := c.settleCopies(place), c.at(place)
	if c.cfg.Across { // see noteOriginal
		if m := c.moved[k.identity]; m.kept == place+1 {
			first = m.first
		}
	}
	if first > 0 && c.moved != nil {
		c.moved[k.identity] = moved{first, place + 1}
		for at := place + 1; at > c.first && k.pending > 0; {
			s := c.at(at - 1)
			if s.state == pending && c.isCopyOfMoved(s) {
				c.done(s, copied)
			}
			if at < first && c.isPast(s, c.at(first-1)) {
				break
			}
			at = s.before
		}
	}
}

// settleCopies marks the pending packets that are copies of a kept packet. It returns the place of
// the first of them, plus 1, or 0.
func (c *copies) settleCopies(place uint64) (first uint64) {
	latest := c.at(place)
	for todo := []uint64{place}; len(todo) > 0; todo = todo[1:] {
		k := c.at(todo[0])
		for at := place + 1; at > c.first && latest.pending > 0; {
			s := c.at(at - 1)
			if s.state == pending && c.copies(s, k) {
				to := copied
				if c.cfg.Refresh {
					to = kept
					todo = append(todo, at-1)
					if s.joined = true; c.cfg.Across && !k.joined { // k may be the original of packets of its own point now
						k.joined = true
						todo = append(todo, todo[0])
					}
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
	case s.within != k.within, c.cfg.Across && s.point == k.point && !k.joined, c.cfg.Within&traits.PointLAN != 0 && s.point.lan != k.point.lan:
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
