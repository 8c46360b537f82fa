// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"math/bits"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
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

// placeGroup takes the next packets of the open batch that are read before end, a group at most,
// and writes their places and times. It returns their number.
func (s *side) placeGroup(places, times *[group]int64, end int64) (n int) {
	for n < group && s.placeNext() && s.next < end {
		places[n], times[n] = s.next, s.time
		n++
		s.at++
		s.hasNext = false
		n += s.placeRun(places[n:], times[n:], end)
	}
	return n
}

// placeRun is placeGroup for packets of the open batch whose times do not go back, as of most: their
// times are their places. It stops at any other packet.
func (s *side) placeRun(places, times []int64, end int64) (n int) {
	b, latest := *s.queue.At(0), s.latest
	for ; n < len(places) && s.at+n < len(b.packets.Frames); n++ {
		t := b.timeOf(s.at + n)
		if t < latest || t-latest >= int64(time.Second) || t >= end {
			break
		}
		places[n], times[n], latest = t, t, t
	}
	if n > 0 {
		s.clock.Pass(latest)
		s.at, s.latest = s.at+n, latest
	}
	return n
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
	for more := true; more && c.failed == nil; {
		more = false
		for i := range c.sides {
			more = c.readUntil(i, end) || more
		}
		c.settle()
	}
	c.passed = end
	c.tracker.update()
	c.settle()
}

// readUntil reads a turn of a side, of packets before a time. It returns whether there are
// more of them.
func (c *Comparer) readUntil(i int, end int64) bool {
	s := &c.sides[i]
	if i == sideB {
		end += c.match.offset
	}
	var places, times [group]int64
	for n, before := 0, c.held; n < turn && c.held-before <= c.cfg.Memory/turnShare; {
		first := s.at
		k := s.placeGroup(&places, &times, end)
		if k == 0 {
			if !c.peek(i) || s.next >= end {
				return false
			}
			continue
		}
		c.add(i, *s.queue.At(0), first, places[:k], times[:k])
		n += k
	}
	return true
}

// add matches the packets of a batch from packet first on, which are read at places and have
// these times.
func (c *Comparer) add(i int, b *Batch, first int, places, times []int64) {
	s, n := &c.sides[i], len(places)
	digests := b.digests[first : first+n]
	c.match.warm(digests)
	s.warm(digests)
	g := added{batch: b, first: first, places: places, times: times}
	if i == sideB {
		g.offset = c.match.offset
	}
	for j, placed := range places {
		g.again |= s.seenBefore(&digests[j], placed-g.offset, c.cfg.Window) << j
	}
	s.counts.Repeats += uint64(bits.OnesCount64(g.again))
	for from, to := 0, 0; from < n; from = to {
		to = from + c.reserve(i, b.packets.Frames[first+from:first+n])
		c.record(i, &g, from, to)
		q := &c.match.queues[i]
		number := q.next - uint64(to-from)
		for j := range to - from {
			r := q.at(number + uint64(j))
			other := c.match.match(i, r, number+uint64(j))
			g.talks[j] = noTalk
			if other == nil {
				continue
			}
			g.talks[j] = other.talk // in most cases
			if i == sideA {
				c.meet(r, other)
			} else {
				c.meet(other, r)
			}
		}
		c.talks.count(g.talks[:to-from], i, b, first+from)
		for j, talk := range g.talks[:to-from] {
			q.at(number + uint64(j)).talk = talk
		}
	}
	s.counts.Packets += uint64(n)
	s.lastRead = places[n-1] - g.offset
}

// added is a group of packets of a batch that add takes.
type added struct {
	batch         *Batch
	first         int
	places, times []int64
	offset        int64         // of the places from the clock of A
	talks         [group]uint32 // of those that have just been matched
	again         uint64        // bits of the packets that equal an earlier packet of the same side
}

// record appends packets of a group to the queue of a side, which has room.
func (c *Comparer) record(i int, g *added, from, to int) {
	s, q, b := &c.sides[i], &c.match.queues[i], g.batch
	for j := from; j < to; j++ {
		k := g.first + j
		f, placed, talk, r := &b.packets.Frames[k], g.places[j], b.talks[k], q.at(q.next)
		q.next++
		r.digest, r.time, r.placed = b.digests[k], g.times[j], placed-g.offset
		r.check, r.flags = checkOf(talk), uint8(talk&backward|g.again>>j&1*repeated)
		r.proto, r.size, r.state = b.protocols[k], f.RecordLen+knownBytes, waiting
		s.protocols[r.proto]++
		if r.proto == headers.NonIP {
			if what, ok := c.prepare.decoder.Unopened(&b.packets, k); ok {
				s.unopened.Count(what, 1)
			}
		}
		if r.time < placed {
			s.late(r, placed)
		}
	}
}

// late counts a packet that is out of order, or has no time. A packet without a time gets the
// time of its place.
func (s *side) late(r *record, placed int64) {
	if r.time != calendar.NoTime {
		s.counts.Disorder++
		return
	}
	r.time = placed
	r.flags |= untimed
	s.counts.NoTime++
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
