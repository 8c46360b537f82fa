// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"math/bits"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/backlog"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

const (
	// parts is how many parts a window has. Both sides are read in turns, a part at a time.
	parts = 4
	// turn is how many packets of a side are read at a time, at most.
	turn = 1 << 9
	// turnShare is the share of Config.Memory that the packets of a turn take at most, where they
	// are written: else they would leave no room for packets of the other side.
	turnShare = 16
	// group is how many packets are matched together, so that what they look up comes from
	// memory at the same time. It is the bits of a word.
	group = 64
	// waitWindows is how many windows a packet waits: two, so that packets out of order by a
	// window are found.
	waitWindows = 2
)

// Run matches all packets. If written is not nil, it gets the batches of each side in
// order, with a bit for each packet that the other side has, too. Its error ends the run.
func (c *Comparer) Run(written func(side int, b *capture.Batch, matched []uint64) error) error {
	c.written = written
	memory := c.cfg.Memory
	if written != nil {
		memory /= 2
	}
	c.tracker = newTracker(c.start)
	c.match = newMatcher(int64(c.cfg.Window), memory/2/perRecord)
	c.match.offset = c.tracker.at(c.start.origin)
	for c.failed == nil {
		if c.peek(sideA); !c.peek(sideB) && !c.sides[sideA].hasNext {
			break
		}
		c.match.offset = c.tracker.at(c.earliest()) // there may have been a pause
		c.passed = c.earliest()
		c.slice(c.passed + max(int64(c.cfg.Window)/parts, 1))
	}
	for i := range c.sides {
		for c.match.queues[i].len() > 0 && c.failed == nil {
			c.match.giveUp(i)
			c.settleOne(i)
		}
		c.release(i)
	}
	return c.failed
}

// earliest returns the place of the packet that comes next, of either side.
func (c *Comparer) earliest() int64 {
	a, b := &c.sides[sideA], &c.sides[sideB]
	switch {
	case !b.hasNext:
		return a.next
	case !a.hasNext:
		return b.next - c.match.offset
	}
	return min(a.next, b.next-c.match.offset)
}

// peek places the packet at the front of a side. It returns false at the end.
func (c *Comparer) peek(i int) bool {
	s := &c.sides[i]
	for !s.placeNext() {
		if s.open {
			c.close(s)
		} else if s.queue.Len() == 0 && !s.read() {
			return false
		}
		c.begin(s)
	}
	return true
}

// begin opens the batch at the front, if there is one.
func (c *Comparer) begin(s *side) {
	if s.queue.Len() == 0 {
		return
	}
	b := *s.queue.At(0)
	c.prepare.refresh(b)
	s.unopened.Add(&b.closed)
	s.counts.Truncated += b.truncated
	s.counts.Undecidable += b.undecidable // of the identities that are compared: Search may have read it before it knew them
	s.at, s.open = 0, true
	if c.written != nil {
		blocks := backlog.BlockBytes(&b.packets)
		s.holds.Push(holding{batch: b, matched: make([]uint64, (len(b.packets.Frames)+63)/64), blocks: blocks})
		c.hold(blocks)
	}
}

// close ends with the open batch: all its packets have been read.
func (c *Comparer) close(s *side) {
	s.open = false
	b := s.queue.Pop()
	if c.written == nil {
		s.source.Release(b)
		return
	}
	s.holds.At(s.holds.Len() - 1).read = true
}

// placeNext places the next packet of the open batch, if there is one.
func (s *side) placeNext() bool {
	if s.hasNext {
		return true
	}
	if !s.open || s.at == len((*s.queue.At(0)).packets.Frames) {
		return false
	}
	s.time = (*s.queue.At(0)).timeOf(s.at)
	s.next, s.hasNext = s.place(s.time), true
	return true
}

// place returns where a packet of that time is read. Packets do not go back.
func (s *side) place(t int64) int64 {
	switch {
	case t == calendar.NoTime:
	case t >= s.latest && t-s.latest < int64(time.Second):
		s.clock.Pass(t)
		s.latest = t
	default:
		s.clock.Observe(t)
		s.latest = s.clock.Latest()
	}
	return s.latest
}

// slice reads what both sides have before a time.
func (c *Comparer) slice(end int64) {
	for more := true; more && c.failed == nil; c.settle() {
		if more = c.step(end); more {
			continue
		}
		for i := range c.sides {
			more = c.readUntil(i, end) || more
		}
	}
	c.passed = end
	c.tracker.update()
	c.settle()
}

// readUntil reads a turn of a side, of packets before a time, behind the packets that step has placed. It
// returns whether there are more of them.
func (c *Comparer) readUntil(i int, end int64) bool {
	g := &c.groups[i]
	for n, before := 0, c.held; n < turn && c.held-before <= c.cfg.Memory/turnShare; n += g.n {
		if g.from == g.n && !c.placeGroup(i, end, group) {
			return false
		}
		c.add(i)
	}
	return true
}

// add matches the packets of a side's group that are left.
func (c *Comparer) add(i int) {
	g, s, q := &c.groups[i], &c.sides[i], &c.match.queues[i]
	b := g.batch
	c.match.warm(b.digests[g.first+g.from : g.first+g.n])
	for g.from < g.n {
		number, from := q.next, g.from
		g.from += c.reserve(i, b.packets.Frames[g.first+from:g.first+g.n])
		c.record(i, from, g.from)
		for wild := g.wild >> from << from & (1<<g.from - 1); wild != 0; wild &= wild - 1 {
			j := bits.TrailingZeros64(wild)
			s.wild(q.at(number+uint64(j-from)), g.times[j])
		}
		c.pairUp(i, b, g.first+from, number)
	}
}

// record appends packets of a side's group to its queue, which has room.
func (c *Comparer) record(i, from, to int) {
	g, q, offset := &c.groups[i], &c.match.queues[i], int64(0)
	if i == sideB {
		offset = c.match.offset
	}
	b, first, again := g.batch, g.first+from, g.again>>from
	digests, protocols := b.digests[first:g.first+to], b.protocols[first:g.first+to]
	for j, placed := range g.places[from:to] {
		r := q.at(q.next + uint64(j))
		r.digest, r.time, r.placed = digests[j], placed+offset, placed
		r.proto, r.state, r.flags = protocols[j], waiting, uint8(again&repeated)
		again >>= 1
		if c.written != nil {
			r.size = b.packets.Frames[first+j].RecordLen + knownBytes
		}
	}
	if i == sideA {
		var places [group]talkPlace
		c.talks.count(places[:to-from], b, first)
		for j, at := range places[:to-from] {
			q.at(q.next + uint64(j)).talk = at
		}
	}
	q.next += uint64(to - from)
}

// wild gives a packet its time, and counts it if that lies before its place. A packet without a time keeps
// the time of its place.
func (s *side) wild(r *record, time int64) {
	switch {
	case time == calendar.NoTime:
		r.flags |= untimed
		s.counts.NoTime++
		return
	case time < r.time:
		s.counts.Disorder++
	}
	r.time = time
}

// pairUp matches the packets of a side from that number on, which are packets of b from packet first on.
// Packets of B that match have the conversations of A's packets.
func (c *Comparer) pairUp(i int, b *Batch, first int, number uint64) {
	q, pairs, left := &c.match.queues[i], 0, uint64(0)
	var all [group]pair
	for at := number; at < q.next; at++ {
		a := q.at(at)
		b := c.match.match(i, a, at)
		if b == nil {
			left |= 1 << (at - number)
			continue
		}
		if i == sideB {
			a, b = b, a
		}
		b.talk = a.talk
		if flags := a.flags | b.flags; flags == 0 {
			all[pairs%group] = pair{a.time, b.time - a.time}
			pairs++
		} else if flags&untimed == 0 {
			c.doubtful.add(pair{a.time, b.time - a.time})
		}
	}
	c.meet(all[:pairs])
	if i == sideA || left == 0 {
		return
	}
	c.prepare.converse(&b.known, &b.packets, first+bits.TrailingZeros64(left), first+bits.Len64(left))
	for ; left != 0; left &= left - 1 {
		j := bits.TrailingZeros64(left)
		var at [1]talkPlace
		c.talks.count(at[:], b, first+j)
		q.at(number + uint64(j)).talk = at[0]
	}
}

// reserve makes room for some packets of a side, and returns for how many: for all, or for the first
// packet only. It settles the oldest packets of the side early until there is room for the first.
func (c *Comparer) reserve(i int, frames []capture.Frame) int {
	if size := c.sizeOf(frames); c.held+size <= c.cfg.Memory/2 && c.match.reserve(i, len(frames)) {
		c.held += size
		return len(frames)
	}
	c.hold(c.sizeOf(frames[:1]))
	for !c.match.reserve(i, 1) {
		c.forget(i)
	}
	return 1
}

// sizeOf returns the bytes of packets that are to be written, 0 if none are.
func (c *Comparer) sizeOf(frames []capture.Frame) (size int) {
	if c.written == nil {
		return 0
	}
	for i := range frames {
		size += int(frames[i].RecordLen + knownBytes)
	}
	return size
}

// hold makes room for packets to be written. Without room, it settles the oldest packets
// early, and writes the packets behind them. If none waits, it writes all.
func (c *Comparer) hold(size int) {
	c.held += size
	for most := c.cfg.Memory / 2; c.held > most && c.match.queues[sideA].len()+c.match.queues[sideB].len() > 0; {
		oldest := sideA
		if a, b := c.front(sideA), c.front(sideB); a == nil || b != nil && b.placed < a.placed {
			oldest = sideB
		}
		c.forget(oldest)
		c.release(oldest)
	}
	if c.held > c.cfg.Memory/2 {
		c.release(sideA)
		c.release(sideB)
	}
}

// forget settles the oldest packet of a side.
func (c *Comparer) forget(i int) {
	if c.front(i).state == waiting {
		c.forgotten++
		c.match.giveUp(i)
	}
	c.settleOne(i)
}

// front returns the oldest packet of a side, nil if there is none.
func (c *Comparer) front(i int) *record {
	q := &c.match.queues[i]
	if q.len() == 0 {
		return nil
	}
	return q.at(q.first)
}
