// SPDX-License-Identifier: Apache-2.0

package inspect

import "github.com/flowdedup/flowdedup/capture/traits"

// trail has the latest packets that equal earlier packets, as they were counted. A loop shows only
// after some passes, and its packets are counted anew then.
type trail struct {
	events []event // a ring
	next   uint16
}

// maxTrail is how many packets are remembered. More frames that loop at a time are taken for copies.
const maxTrail = 1 << 14

// event is a packet that equals an earlier packet, and how it was counted.
type event struct {
	check           uint64 // of the digest
	time            int64
	delay           uint64
	number, earlier uint64 // of the packets in the stream
	place           uint32 // see placeOf
	loop            uint32 // of which it is a pass, from 1 on
	passes          uint32 // of its packet through the loop, this event included
	run             uint32 // the number of events of its packet, this event included
	previous        uint16 // the event before
	sort            int8   // of an equal packet that differs in nothing, or aCopy
	span            int8
	kind            difference // of a copy
	proto           protocolKey
	point           uint16
	first, copied   uint16    // the points, in order of time
	sums            [2]uint16 // the flags of both about checksums
	step            int16     // by how much the time to live of the copy is smaller
	verdicts        verdicts
	hops, weight    uint8
	foreign         bool // at another capture point
	rewrapped       bool
}

// aCopy is the sort of packets that differ as no sender makes them differ.
const aCopy = -1

// add returns the next event of an entry, and the event before it, nil if that is forgotten.
func (t *trail) add(e *entry) (x, previous *event) {
	if t.events == nil {
		t.events = make([]event, maxTrail)
	}
	number := t.next
	t.next = (t.next + 1) % maxTrail
	x, previous = &t.events[number], t.last(e)
	if previous == x {
		previous = nil
	}
	*x = event{check: e.check, previous: e.last, run: 1}
	if previous != nil {
		x.run = previous.run + 1
	}
	e.last, e.lastOf = number, uint32(e.check)
	return x, previous
}

// last returns the last event of an entry, or nil if it is forgotten or there is none. Entries keep an
// event of an earlier packet, and reading it would be a cache miss.
func (t *trail) last(e *entry) *event {
	if t.events == nil || e.lastOf != uint32(e.check) || t.events[e.last].check != e.check {
		return nil
	}
	return &t.events[e.last]
}

// before returns the event before x, or nil if it is forgotten or there is none.
func (t *trail) before(x *event) *event {
	if p := &t.events[x.previous]; p.check == x.check && p.run+1 == x.run {
		return p
	}
	return nil
}

// placeOf returns a hash of where a packet was seen, and of the headers that its link gave it.
func (s *sighting) placeOf() uint32 {
	return uint32(traits.Mix(uint64(s.mac)<<32|uint64(s.vlan), uint64(s.labels)<<16|uint64(s.point)) >> 32)
}

// describe notes what is counted of s, which equals first.
func (x *event) describe(first, s *sighting, delay uint64, v verdicts) {
	x.time, x.delay, x.verdicts = s.time, delay, v
	x.number, x.earlier = max(first.number, s.number), min(first.number, s.number)
	x.place, x.point, x.hops, x.weight = s.placeOf(), s.point, s.hops, uint8(s.weight())
	x.foreign, x.rewrapped = first.device != s.device, first.isRewrapped(s)
	if s.time < first.time {
		first, s = s, first
	}
	x.first, x.copied, x.step = first.point, s.point, int16(first.hops)-int16(s.hops)
	const sums = validSum | wrongSum
	x.sums = [2]uint16{first.flags & sums, s.flags & sums}
}

// ends returns as much of both packets as counts.
func (x *event) ends() (first, copied sighting) {
	first = sighting{point: x.first, flags: x.sums[0], hops: uint8(max(x.step, 0))}
	copied = sighting{point: x.copied, flags: x.sums[1], hops: uint8(max(-x.step, 0)), device: uint32(count(x.foreign)), outer: uint32(count(x.rewrapped))}
	return first, copied
}

// recount counts x weight times more than before, which may be a negative number as two's complement.
func (m *measure) recount(x *event, weight uint64) {
	if x.sort == aCopy {
		first, copied := x.ends()
		m.copy(x.kind, &first, &copied, x.delay, weight)
		return
	}
	m.same.add(x, weight, "")
	if x.sort < timedSorts {
		m.matrix.addSame(x, weight)
	}
}
