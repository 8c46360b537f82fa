// SPDX-License-Identifier: Apache-2.0

package match

import (
	"math/bits"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/layout"
)

// Deltas are by how much two records of one flow may differ that match one to one. A
// negative value allows any difference, except of Start.
type Deltas struct {
	Start, Duration time.Duration
	Packets, Bytes  int64
}

// pairs is the policy that matches records one to one. Kept records lie in a ring. Records of a
// flow that begin in the same slot of time are a chain, from the latest to the first.
type pairs struct {
	judges *Judge
	arena  *layout.Arena
	// heads has the number of the latest record of each chain, older for each line the number of
	// the record before it in its chain, in 32 bits. Numbers of records that left the ring end a chain.
	heads, older []uint32
	first, next  uint64 // the numbers of the first record in the ring, and behind the last
	slot         int64  // ns
}

// The fields of a kept record in a line of pairs.
const (
	pairFlow     = iota // its hash
	pairPoint           // its point, and after pairStamp bits the time until which it lives, in seconds
	pairStart           // ns
	pairDuration        // ns
	pairPackets         // in both directions
	pairBytes
	pairMatched // the points that reported it too, from 1, and in the next word
)

const (
	// pairStamp is where the time begins.
	pairStamp = 16
	// MaxPairPoints is how many points match one to one. Records of later points are unchecked.
	MaxPairPoints = 2*64 - 1
	// pairCells is the memory of a record's numbers in heads and older.
	pairCells = 2 * 4
	// leastPairLines is room for records in any case.
	leastPairLines = 64
	// slots is how many slots of time Deltas.Start has, shortestSlot the least length of a slot.
	slots        = 4
	shortestSlot = int64(time.Second / 4)
	// pairReach is how many records of a chain are compared: more than 3,000 a second of a
	// flow.
	pairReach = 1 << 12
)

func newPairs(j *Judge) (*pairs, error) {
	arena, err := layout.NewArena(max(j.cfg.forFlows()/(layout.LineSize+pairCells), leastPairLines))
	if err != nil {
		return nil, err
	}
	p := &pairs{judges: j, slot: max(int64(j.cfg.Pairs.Start)/slots, shortestSlot)}
	p.use(arena)
	return p, nil
}

// use makes an arena the ring, without records.
func (p *pairs) use(arena *layout.Arena) {
	n := len(arena.Lines())
	p.arena, p.heads, p.older, p.first, p.next = arena, make([]uint32, n), make([]uint32, n), 1, 1
}

func (p *pairs) rank(uint32, uint8) {}
func (p *pairs) fetch([]uint64)     {}
func (p *pairs) Bytes() int         { return p.arena.Bytes() + pairCells*len(p.older) }
func (p *pairs) Close() error       { return p.arena.Close() }

// at returns the place of a record in the ring.
func (p *pairs) at(number uint64) int { return int(number % uint64(len(p.older))) }

// head returns the head of a chain.
func (p *pairs) head(flow uint64, slot int64) *uint32 {
	n, _ := bits.Mul64(flow^uint64(slot)*0x9e3779b97f4a7c15, uint64(len(p.heads)))
	return &p.heads[n]
}

// push makes the record in a line, the next of the ring, the head of its chain.
func (p *pairs) push(line *layout.Line) {
	head := p.head(line[pairFlow], int64(line[pairStart])/p.slot)
	p.older[p.at(p.next)], *head = *head, uint32(p.next)
	p.next++
}

// judge looks for the record of another point that is nearest in time and within the
// deltas, and that no record of this point was matched with. If there is no such record, it
// remembers s.
func (p *pairs) judge(s *timedRecord) (uint32, records.Verdict) {
	if s.point > MaxPairPoints {
		return 0, records.Unchecked
	}
	if best := p.nearest(s); best != nil {
		best[pairMatched+s.point/64] |= 1 << (s.point % 64)
		return uint32(best[pairPoint] & (1<<pairStamp - 1)), records.Copy
	}
	now, alive := uint64(max(s.now, 0)/int64(time.Second)), uint64(p.judges.Alive()/time.Second)
	line := &p.arena.Lines()[p.at(p.next)]
	if p.next-p.first == uint64(len(p.older)) {
		if until := line[pairPoint] >> pairStamp; until >= now && until <= now+alive {
			p.judges.counts.NoRoom++
			return 0, records.Unchecked
		}
		p.first++ // it no longer lives, or its clock was wrong
	}
	*line = layout.Line{
		pairFlow: s.flow, pairPoint: uint64(s.point) | (now+alive)<<pairStamp,
		pairStart: uint64(s.start), pairDuration: uint64(s.end - s.start), pairPackets: s.TotalPackets(), pairBytes: s.TotalBytes(),
	}
	p.push(line)
	return 0, records.Keep
}

// nearest returns the record that a record is a copy of, nil for none. It looks through slots of
// time from the record's own on, as far as records may start apart.
func (p *pairs) nearest(s *timedRecord) (best *layout.Line) {
	most := calendar.Shift(int64(p.judges.cfg.Pairs.Start), int64(p.judges.precision))
	own, nearest := s.start/p.slot, uint64(most)
	for away := int64(0); away*p.slot <= calendar.Shift(int64(nearest), p.slot); away++ {
		best, nearest = p.inSlot(s, own-away, best, nearest)
		if away > 0 {
			best, nearest = p.inSlot(s, own+away, best, nearest)
		}
	}
	return best
}

// inSlot returns the record in a slot that is nearest, if it is nearer than the best so far.
func (p *pairs) inSlot(s *timedRecord, slot int64, best *layout.Line, nearest uint64) (*layout.Line, uint64) {
	number := *p.head(s.flow, slot)
	for range pairReach {
		age := uint64(uint32(p.next) - number)
		if age == 0 || age > p.next-p.first {
			break
		}
		at := p.at(p.next - age)
		if line := &p.arena.Lines()[at]; line[pairFlow] == s.flow {
			if d, ok := p.matches(line, s); ok && (best == nil || d < nearest) {
				best, nearest = line, d
			}
		}
		number = p.older[at]
	}
	return best, nearest
}

// matches reports whether a record matches a kept record, and how far apart they begin.
func (p *pairs) matches(line *layout.Line, s *timedRecord) (apart uint64, ok bool) {
	d := p.judges.cfg.Pairs
	apart = distance(ordered(int64(line[pairStart])), ordered(s.start))
	if uint32(line[pairPoint]&(1<<pairStamp-1)) == s.point || line[pairMatched+s.point/64]>>(s.point%64)&1 != 0 {
		return 0, false
	}
	return apart, within(apart, calendar.Shift(int64(d.Start), int64(p.judges.precision))) &&
		within(distance(line[pairDuration], uint64(s.end-s.start)), int64(d.Duration)) &&
		within(distance(line[pairPackets], s.TotalPackets()), d.Packets) &&
		within(distance(line[pairBytes], s.TotalBytes()), d.Bytes)
}

func within(d uint64, most int64) bool { return most < 0 || d <= uint64(most) }

// ordered returns a number that is greater for a later time, by as many nanoseconds.
func ordered(t int64) uint64 { return uint64(t) ^ 1<<63 }

// distance returns how far apart two numbers are. Counters may be of any size.
func distance(a, b uint64) uint64 { return max(a, b) - min(a, b) }
