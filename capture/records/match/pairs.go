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
// negative one allows any difference.
type Deltas struct {
	Start, Duration time.Duration
	Packets, Bytes  int64
}

// pairs is the policy that matches records one to one. Each kept record takes a line: the first
// its flow's line, the others the lines behind.
type pairs struct {
	judges *Judge
	arena  *layout.Arena
	touch  uint64
}

// The fields of a kept record in a line of pairs.
const (
	pairFlow     = iota // its hash, 0 for an empty line
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
	// pairReach is how many lines behind its flow's line a record may lie.
	pairReach = 64
	// pairPoints is how many points can be matched.
	pairPoints = 2 * 64
)

func newPairs(j *Judge) (*pairs, error) {
	arena, err := layout.NewArena(max(j.cfg.forFlows()/layout.LineSize, pairReach))
	if err != nil {
		return nil, err
	}
	return &pairs{judges: j, arena: arena}, nil
}

func (p *pairs) rank(uint32, uint8) {}
func (p *pairs) Bytes() int         { return p.arena.Bytes() }
func (p *pairs) Close() error       { return p.arena.Close() }

func (p *pairs) line(flow uint64, i int) *layout.Line {
	lines := p.arena.Lines()
	n, _ := bits.Mul64(flow, uint64(len(lines)))
	at := int(n) + i
	if at >= len(lines) {
		at -= len(lines)
	}
	return &lines[at]
}

func (p *pairs) fetch(flows []uint64) {
	sum := uint64(0)
	for _, flow := range flows {
		sum += p.line(flow, 0)[0]
	}
	p.touch = sum
}

// judge looks for the record of another point that is nearest in time and within the
// deltas, and that no record of this point was matched with. Where there is none the
// record is remembered, in the first line that is empty or whose record no longer lives.
func (p *pairs) judge(s *timedRecord) (uint32, records.Verdict) {
	if s.point >= pairPoints {
		return 0, records.Unchecked
	}
	var best, free *layout.Line
	nearest, now := uint64(0), uint64(max(s.now, 0)/int64(time.Second))
	for i := range pairReach {
		line := p.line(s.flow, i)
		if line[pairFlow] == 0 {
			if free == nil {
				free = line
			}
			break
		}
		if line[pairPoint]>>pairStamp < now {
			if free == nil {
				free = line
			}
			continue
		}
		if line[pairFlow] == s.flow {
			if d, ok := p.matches(line, s); ok && (best == nil || d < nearest) {
				best, nearest = line, d
			}
		}
	}
	switch {
	case best != nil:
		best[pairMatched+s.point/64] |= 1 << (s.point % 64)
		return uint32(best[pairPoint] & (1<<pairStamp - 1)), records.Copy
	case free == nil:
		return 0, records.Unchecked
	}
	until := now + uint64(p.judges.Alive()/time.Second)
	*free = layout.Line{
		pairFlow: s.flow | bits.Reverse64(isZero(s.flow)), pairPoint: uint64(s.point) | until<<pairStamp,
		pairStart: uint64(s.start), pairDuration: uint64(s.end - s.start), pairPackets: s.TotalPackets(), pairBytes: s.TotalBytes(),
	}
	return 0, records.Keep
}

// matches reports whether a record matches one that was kept, and how far apart they
// begin.
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

func isZero(n uint64) uint64 {
	if n == 0 {
		return 1
	}
	return 0
}
