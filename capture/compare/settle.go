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
	q := &c.match.queues[i]
	r := q.at(q.first)
	has := r.state == matched
	switch {
	case !has:
		c.count(i, r)
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

// count counts the oldest packet r of a side, which the other side does not have.
func (c *Comparer) count(i int, r *record) {
	s := &c.sides[i]
	outside := c.isOutside(i, r)
	if outside {
		s.outside[r.proto]++
	} else {
		s.alone++
		s.only[r.proto]++
	}
	switch {
	case !c.talks.has(r):
	case outside && i == sideA:
		c.talks.paced[r.talk].seen--
	case outside:
	default:
		c.talks.counts[r.talk].only[i]++
	}
}

// isOutside reports whether the oldest packet r of a side may come before the first or after the
// last packet of the other side: captures do not begin and end together, so it was not lost. Times
// say so as exactly as delays vary. Where the other side's first or last packet was matched, so
// does the order: r then lies before or behind all packets that were matched.
func (c *Comparer) isOutside(i int, r *record) bool {
	if !c.found {
		return false // nobody knows which time is common
	}
	other, q, of := &c.sides[1-i], &c.match.queues[i], &c.match.queues[1-i]
	first, before, behind := other.first, c.slow, -c.fast
	if i == sideA {
		first, before, behind = first-c.match.offset, behind, before
	}
	if !other.hasTime || r.placed < first+before || of.paired && of.firstPair == 0 && q.first < q.firstPair {
		return true
	}
	done := other.ended && !other.hasNext && !other.open && other.queue.Len() == 0
	return done && (r.placed > other.lastRead-behind || of.paired && of.lastPair+1 == of.next && q.first > q.lastPair)
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

// meet takes two packets that match. Delays of repeated packets are in doubt: where a side has lost
// one of them, the packets behind it match the wrong packets.
func (c *Comparer) meet(a, b *record) {
	p := pair{a.time, b.time - a.time}
	switch flags := a.flags | b.flags; {
	case flags&untimed != 0:
	case flags&repeated != 0:
		c.doubtful.add(p)
	default:
		c.tracker.add(p)
		c.delays.add(p)
		c.fast, c.slow = min(c.fast, p.delta-c.match.offset), max(c.slow, p.delta-c.match.offset)
	}
}
