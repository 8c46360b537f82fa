// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// settle counts the packets at the front of both sides whose matches are known. B comes
// first: the order of its packets needs the packets of A.
func (c *Comparer) settle() {
	for _, i := range [2]int{sideB, sideA} {
		for q := &c.match.queues[i]; q.first != q.next; {
			if c.settleMatched(i, uint64(q.len())) {
				continue
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

// settleMatched counts the oldest packets of a side that were matched, at most most of them. It returns
// false if there are none.
func (c *Comparer) settleMatched(i int, most uint64) bool {
	q, n := &c.match.queues[i], uint64(0)
	for n < most && q.at(q.first+n).state == matched {
		n++
	}
	if i == sideA {
		c.both += n
	} else {
		next := c.match.queues[sideA].next
		for from := q.first; from < q.first+n; from += group {
			to := min(from+group, q.first+n)
			c.talks.warm(q, from, to)
			for number := from; number < to; number++ {
				r := q.at(number)
				c.talks.order(r.talk, next-uint64(uint32(next)-r.mate))
			}
		}
	}
	c.leave(i, n, true)
	return n > 0
}

// settleOne counts the oldest packet of a side, which does not wait.
func (c *Comparer) settleOne(i int) {
	if !c.settleMatched(i, 1) {
		c.count(i)
		c.leave(i, 1, false)
	}
}

// leave takes counted packets off the queue of a side. has is whether the other side has them.
func (c *Comparer) leave(i int, n uint64, has bool) {
	q := &c.match.queues[i]
	if c.written != nil {
		for number := q.first; number < q.first+n; number++ {
			c.held -= int(q.at(number).size)
			c.mark(i, has)
		}
	}
	q.first += n
}

// count counts the oldest packet of a side, which the other side does not have.
func (c *Comparer) count(i int) {
	s, r := &c.sides[i], c.front(i)
	if c.isOutside(i, r) {
		s.outside[r.proto]++
		return
	}
	s.alone++
	s.only[r.proto]++
	if c.talks.has(r.talk) {
		only := [2]*uint64{&c.talks.all[r.talk.at].OnlyA, &c.talks.all[r.talk.at].OnlyB}
		*only[i]++
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

// meet takes pairs of packets that match. Delays of repeated packets are not among them, as they are in
// doubt: where a side has lost one of them, the packets behind it match the wrong packets.
func (c *Comparer) meet(pairs []pair) {
	c.tracker.add(pairs...)
	c.delays.add(pairs...)
	for _, p := range pairs {
		c.fast, c.slow = min(c.fast, p.delta-c.match.offset), max(c.slow, p.delta-c.match.offset)
	}
}
