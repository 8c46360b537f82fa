// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"math/bits"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/backlog"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

const (
	// parts is how many parts a window has. Both sides are read in turns, one such part
	// at a time.
	parts = 4
	// turn is how many packets of a side are read at a time, at most.
	turn = 1 << 12
	// turnShare is the share of Config.Memory that these take at most, where they are
	// written: else they would leave no room for those of the other side.
	turnShare = 16
	// group is how many packets are matched together, so that what they look up comes from
	// memory at the same time. It is the bits of a word.
	group = 64
	// waitWindows is how many windows a packet waits: two, so that packets out of order by a
	// window are found.
	waitWindows = 2
	// recentLines times recentCells is among how many packets of a side repeated ones are
	// noticed.
	recentLines = 1 << 10
	recentCells = 8
)

// recentLine is a cache line of packets of equal hash, the latest first: 32 bits of the
// digest, and its time in ticks.
type recentLine [recentCells]uint64

// Run matches all packets. If written is not nil, it gets the batches of each side in
// order, with a bit for each packet that the other side has, too. Its error ends the run.
func (c *Comparer) Run(written func(side int, b *capture.Batch, matched []uint64) error) error {
	c.written = written
	memory := c.cfg.Memory
	if written != nil {
		memory /= 2
	}
	c.tracker = newTracker(c.start)
	c.match = newMatcher(int64(c.cfg.Window), memory/2/perRecord, c.meet)
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
	s.undecidable += b.undecidable // of the identities that are compared: Search may have read it before it knew them
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
	s.next, s.hasNext = s.place((*s.queue.At(0)).timeOf(s.at)), true
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
	var places [group]int64
	for n, before := 0, c.held; n < turn && c.held-before <= c.cfg.Memory/turnShare; {
		first, k := s.at, 0
		for ; k < group && s.placeNext() && s.next < end; k++ {
			places[k] = s.next
			s.at++
			s.hasNext = false
		}
		if k == 0 {
			if !c.peek(i) || s.next >= end {
				return false
			}
			continue
		}
		c.add(i, *s.queue.At(0), first, places[:k])
		n += k
	}
	return true
}

// countUnopened counts frame i of b, which has no IP, if it was not opened.
func (c *Comparer) countUnopened(s *side, b *capture.Batch, i int) {
	if what, ok := c.prepare.decoder.Unopened(b, i); ok {
		s.unopened.Count(what, 1)
	}
}

// add matches the packets of a batch from packet first on, which are read at places.
func (c *Comparer) add(i int, b *Batch, first int, places []int64) {
	s := &c.sides[i]
	var room [group]uint32
	talks := room[:len(places)]
	c.match.warm(b.digests[first : first+len(places)])
	c.talks.count(talks, i, b, first)
	offset := int64(0)
	if i == sideB {
		offset = c.match.offset
	}
	again := uint64(0)
	for j, placed := range places {
		if s.seenBefore(&b.digests[first+j], placed-offset, c.cfg.Window) {
			again |= 1 << j
		}
	}
	s.repeats += uint64(bits.OnesCount64(again))
	for j, placed := range places {
		k := first + j
		f, t := &b.packets.Frames[k], b.timeOf(k)
		size := f.RecordLen + knownBytes
		r := c.push(i, int(size))
		r.digest, r.time, r.placed = b.digests[k], t, placed-offset
		r.talk, r.check, r.flags = talks[j], checkOf(b.talks[k]), uint8(b.talks[k]&backward|again>>j&1*repeated)
		r.proto, r.size, r.state = b.protocols[k], size, waiting
		s.protocols[r.proto]++
		if r.proto == headers.NonIP {
			c.countUnopened(s, &b.packets, k)
		}
		if t < placed {
			s.late(r, placed)
		}
		if f.CapLen < f.WireLen {
			s.truncated++
		}
		c.match.match(i, r, c.match.queues[i].next-1)
	}
	s.packets += uint64(len(places))
	s.lastRead = places[len(places)-1] - offset
}

// late counts a packet that is out of order, or has no time. A packet without a time gets the
// time of its place.
func (s *side) late(r *record, placed int64) {
	if r.time != calendar.NoTime {
		s.disorder++
		return
	}
	r.time = placed
	r.flags |= untimed
	s.noTime++
}

// seenBefore reports whether an equal packet came on the same side lately, and remembers
// this one.
func (s *side) seenBefore(d *digest.Digest, placed int64, window time.Duration) bool {
	const tick = 20 // about a millisecond
	line, now := &s.recent[d[0]%recentLines], uint32(placed>>tick)
	next := d[1]<<32 | uint64(now)
	for i, before := range line {
		line[i] = next
		if before>>32 == d[1]&(1<<32-1) {
			return now-uint32(before) <= uint32(window>>tick)
		}
		next = before
	}
	return false
}

// push returns room for a packet. Where there is none, the oldest ones of its side are
// settled early.
func (c *Comparer) push(i, size int) *record {
	if c.written != nil {
		c.hold(size)
	}
	r := c.match.push(i)
	for r == nil {
		c.forget(i)
		r = c.match.push(i)
	}
	return r
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
