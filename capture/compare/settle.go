// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// settle counts the packets at the front of both sides whose matches are known. B comes
// first: the order of its packets needs the packets of A.
func (c *Comparer) settle() {
	for _, i := range [2]int{sideB, sideA} {
		q := &c.match.queues[i]
		for warmed := q.first; q.first != q.next; {
			if i == sideB && q.first == warmed {
				c.talks.warm(q)
				warmed += group
			}
			if r := q.at(q.first); r.state == waiting {
				if !c.isOld(r) {
					break
				}
				c.match.giveUp(i)
			}
			c.settleOne(i)
		}
		c.release(i)
	}
}

// isOld reports whether no packet of the other side can come any more that matches r.
func (c *Comparer) isOld(r *record) bool {
	behind := calendar.Since(c.passed, r.placed)
	return behind > waitWindows*int64(c.cfg.Window) || behind < -waitWindows*int64(c.cfg.Window)-int64(2*calendar.Tolerance)
}

// settleOne counts the oldest packet of a side, which does not wait.
func (c *Comparer) settleOne(i int) {
	q, s := &c.match.queues[i], &c.sides[i]
	r := q.at(q.first)
	has := r.state == matched
	switch {
	case !has:
		s.count(r, &c.sides[1-i], c, i)
	case i == sideB:
		a := &c.match.queues[sideA]
		c.talks.order(r, a.next-uint64(uint32(a.next)-r.mate))
	default:
		c.both++
	}
	q.first++
	if c.written != nil {
		c.held -= int(r.size)
		c.mark(i, has)
	}
}

// count counts a packet that the other side does not have.
func (s *side) count(r *record, other *side, c *Comparer, i int) {
	s.alone++
	s.only[r.proto]++
	if c.talks.has(r) {
		c.talks.counts[r.talk].only[i]++
	}
	from := other.first
	if i == sideA {
		from -= c.start.offset
	}
	if !other.hasTime || r.placed < from-int64(c.cfg.Window) || other.ended && r.placed > other.lastRead+int64(c.cfg.Window) {
		s.outside++
	}
}

// mark notes whether the next packet of a side was matched.
func (c *Comparer) mark(i int, has bool) {
	s := &c.sides[i]
	at := s.number
	s.number++
	for k := 0; has; k++ {
		h := s.holds.At(k)
		n := len(h.batch.packets.Frames)
		if at < n {
			h.matched[at/64] |= 1 << (at % 64)
			return
		}
		at -= n
	}
}

// release writes the batches of a side whose packets are all settled.
func (c *Comparer) release(i int) {
	s := &c.sides[i]
	for s.holds.Len() > 0 {
		h := *s.holds.At(0)
		n := len(h.batch.packets.Frames)
		if !h.read || s.number < n {
			return
		}
		s.number -= n
		s.holds.Pop()
		c.held -= h.blocks
		if c.failed == nil {
			c.failed = c.written(i, &h.batch.packets, h.matched)
		}
		s.source.Release(h.batch)
	}
}

// meet takes two packets that match. Delays of repeated ones are in doubt: where one of
// several is lost, those behind it match the wrong ones.
func (c *Comparer) meet(a, b *record) {
	p := pair{a.time, b.time - a.time}
	switch flags := a.flags | b.flags; {
	case flags&untimed != 0:
	case flags&repeated != 0:
		c.doubtful.add(p)
	default:
		c.tracker.add(p)
		c.delays.add(p)
	}
}
