// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"math/bits"
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// record is a packet that was read and is not counted yet: a line of a cache.
type record struct {
	digest digest.Digest
	time   int64 // by the clock of its side
	placed int64 // when it was read, by the corrected clock
	// next is the packet behind this one in its list, of equal packets that wait. The first of a list
	// also has the last of the list, and chain: the first of the next list of the same bucket.
	next, last, chain uint32
	mate              uint32 // of a matched packet of B: the number of that in A, its low bits
	talk              talkPlace
	size              uint32 // its memory while it waits to be written
	proto             headers.Protocol
	state             state
	flags             uint8
}

const recordBytes = int(unsafe.Sizeof(record{}))

type state uint8

// A packet waits, or was matched, or the other side has no equal packet.
const (
	waiting state = iota
	matched
	alone
)

// Bits of record.flags.
const (
	repeated = 1 << iota // an equal packet came before on the same side
	untimed              // it has no time of its own
)

// queue has the records of a side in the order of its packets, from number first on.
type queue struct {
	records     []record // a power of two
	first, next uint64
	// paired is whether any packet was matched: from number firstPair to number lastPair.
	paired              bool
	firstPair, lastPair uint64
}

// pair notes that a packet was matched.
func (q *queue) pair(number uint64) {
	if !q.paired {
		q.paired, q.firstPair, q.lastPair = true, number, number
		return
	}
	q.firstPair, q.lastPair = min(q.firstPair, number), max(q.lastPair, number)
}

// skip passes n packets that were matched without records, of an empty queue.
func (q *queue) skip(n int) {
	if n > 0 {
		q.pair(q.next)
		q.next += uint64(n)
		q.first = q.next
		q.pair(q.next - 1)
	}
}

func (q *queue) len() int { return int(q.next - q.first) }

func (q *queue) at(number uint64) *record { return &q.records[number&uint64(len(q.records)-1)] }

// matcher finds equal packets of two sides. Equal packets of a side wait in a list for
// equal packets of the other side. Lists of digests that share a bucket are chained.
type matcher struct {
	window uint64
	offset int64 // of the clock of B, now
	queues [2]queue
	// heads has the first packet of each bucket. A reference to a packet is its place in
	// its queue, with the side as the lowest bit, plus 1. 0 is none.
	heads   []uint32
	shift   int
	most    int    // records of a side
	touched uint32 // the OR of warm's reads, so that no compiler leaves them out
}

const leastRecords = 1 << 10

func newMatcher(window int64, most int) *matcher {
	m := &matcher{window: uint64(window), most: leastRecords}
	for m.most*2 <= most {
		m.most *= 2
	}
	for i := range m.queues {
		m.queues[i].records = make([]record, leastRecords)
	}
	m.rebuild()
	return m
}

// bytes returns the memory of the matcher.
func (m *matcher) bytes() int {
	return (len(m.queues[0].records)+len(m.queues[1].records))*recordBytes + 4*len(m.heads)
}

// perRecord is the memory of a record, with its share of the buckets.
const perRecord = recordBytes + 8

// reserve reports whether the queue of a side has room for n records. It grows the queue as far
// as it may.
func (m *matcher) reserve(side, n int) bool {
	q := &m.queues[side]
	for q.len()+n > len(q.records) {
		if len(q.records) >= m.most {
			return false
		}
		m.grow(q)
	}
	return true
}

// grow doubles a queue.
func (m *matcher) grow(q *queue) {
	old := *q
	q.records = make([]record, 2*len(old.records))
	for n := old.first; n < old.next; n++ {
		*q.at(n) = *old.at(n)
	}
	m.rebuild()
}

// rebuild makes all buckets and lists again.
func (m *matcher) rebuild() {
	n := len(m.queues[0].records) + len(m.queues[1].records)
	buckets := 1 << bits.Len(uint(n-1))
	m.heads, m.shift = make([]uint32, buckets), 65-bits.Len(uint(buckets))
	for side := range m.queues {
		q := &m.queues[side]
		for n := q.first; n < q.next; n++ {
			if r := q.at(n); r.state == waiting {
				m.wait(r, m.reference(side, n), m.find(&r.digest))
			}
		}
	}
}

func (m *matcher) reference(side int, number uint64) uint32 {
	return uint32(number)&uint32(len(m.queues[side].records)-1)<<1 | uint32(side) + 1
}

func (m *matcher) record(reference uint32) *record {
	return &m.queues[(reference-1)&1].records[(reference-1)>>1]
}

// find returns where the reference to the list of a digest is. It is to 0 if there is none.
func (m *matcher) find(d *digest.Digest) *uint32 {
	link := &m.heads[d[0]>>m.shift]
	for *link != 0 {
		r := m.record(*link)
		if r.digest == *d {
			break
		}
		link = &r.chain
	}
	return link
}

// wait lets a record wait in the list that link refers to, which has its digest.
func (m *matcher) wait(r *record, reference uint32, link *uint32) {
	r.next, r.chain, r.last = 0, 0, reference
	if *link == 0 {
		*link = reference
		return
	}
	head := m.record(*link)
	m.record(head.last).next = reference
	head.last = reference
	r.flags |= repeated
}

// unlink takes the first packet off a list.
func (m *matcher) unlink(link *uint32) {
	head := m.record(*link)
	if head.next == 0 {
		*link = head.chain
		return
	}
	next := m.record(head.next)
	next.last, next.chain = head.last, head.chain
	*link = head.next
}

// match returns the equal packet of the other side for r, which has that number on its side, or
// lets r wait and returns nil. Equal packets are matched in order: packets too far behind are
// skipped on either side.
func (m *matcher) match(side int, r *record, number uint64) *record {
	link := m.find(&r.digest)
	for *link != 0 && int(*link-1)&1 != side {
		other := m.record(*link)
		offset := m.offset
		if side == sideA {
			offset = -offset
		}
		behind := calendar.Since(r.time-other.time, offset) // how much later r was seen than other
		switch {
		case calendar.Distance(behind, 0) <= m.window:
			theirs := m.numberOf(1-side, *link)
			m.unlink(link)
			r.state, other.state = matched, matched
			m.queues[side].pair(number)
			m.queues[1-side].pair(theirs)
			if side == sideA {
				other.mate = uint32(number)
			} else {
				r.mate = uint32(theirs)
			}
			return other
		case behind < 0: // r comes too early for all that wait
			r.state = alone
			return nil
		}
		other.state = alone
		m.unlink(link)
		link = m.find(&r.digest)
	}
	m.wait(r, m.reference(side, number), link)
	return nil
}

// numberOf returns the number of a packet of a side.
func (m *matcher) numberOf(side int, reference uint32) uint64 {
	q := &m.queues[side]
	return q.first + (uint64((reference-1)>>1)-q.first)&uint64(len(q.records)-1)
}

// warm touches the memory that matching some packets will touch. These loads overlap, while the loads
// of match wait for each other.
func (m *matcher) warm(digests []digest.Digest) {
	touched := uint32(0)
	var heads [group]uint32
	for i := range digests {
		heads[i] = m.heads[digests[i][0]>>m.shift]
	}
	for i := range digests {
		if heads[i] != 0 {
			touched |= m.record(heads[i]).next
		}
	}
	m.touched |= touched
}

// giveUp decides that the other side lacks the first packet of a side, if that still waits. Packets
// of a list wait in the order of their side, so it is the first of its list.
func (m *matcher) giveUp(side int) {
	r := m.queues[side].at(m.queues[side].first)
	if r.state == waiting {
		m.unlink(m.find(&r.digest))
		r.state = alone
	}
}
