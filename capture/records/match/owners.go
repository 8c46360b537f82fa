// SPDX-License-Identifier: Apache-2.0

package match

import (
	"math"
	"math/bits"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/layout"
)

// maxPoint is the largest number that a point of owners may have.
const maxPoint = layout.OwnerMax

// owners remembers which point reported a flow, and until when. Several points report one flow,
// each in a report for every piece of its time. [owners.report] says whether another point
// already reported that time. Not safe for concurrent use.
//
// A report touches a line of 64 bytes, and further lines of its group where the line is full. A cell is free again when its flow is no longer alive. Where a group is full of
// flows alive, the table grows, up to its arena. Then a report of another flow is not remembered,
// so a flood of flows evicts none.
type owners struct {
	arena *layout.Arena
	first uint64 // groups at first, each of which is 1 << grown now
	grown uint
	most  uint // of grown
	ranks [maxPoint + 1]uint8
	// silent is for how many units each point may report nothing about a flow that it owns.
	silent [maxPoint + 1]int32
	touch  uint64 // of lines that are fetched ahead
}

// ownerReport is a point's report of a flow.
type ownerReport struct {
	Flow  uint64 // keyed hash
	Point uint32 // 1 to maxPoint
	// Start and End are nanoseconds since 1970 on one clock for all points.
	Start, End int64
	// Now is the time at which the report came. A flow is alive until both Now and End are
	// more than Alive after the end of its reported time: reports may come long after it.
	Now   int64
	Alive time.Duration
	// Within is the largest difference between the times of two points.
	Within time.Duration
	// Gap is the average time between two packets, 0 if unknown.
	Gap time.Duration
}

// ownerAnswer says whether a report is about a new flow.
type ownerAnswer uint8

// The answers.
const (
	ownerNew  ownerAnswer = iota // no other point reported it
	ownerCopy                    // another point reported it
	ownerFull                    // there is no room to remember it
)

// newOwners makes a table that grows to at most this many bytes, and to at least 1024. It returns
// errors of layout.NewArena.
func newOwners(memory int) (*owners, error) {
	return newOwnersOf(max(memory/layout.LineSize/ownerGroup, 1))
}

// newOwnersOf makes a table that grows to about this many groups.
func newOwnersOf(groups int) (*owners, error) {
	o := new(owners)
	for o.most < maxOwnersGrown && groups>>(o.most+1) >= leastOwnerGroups {
		o.most++
	}
	o.first = uint64(groups >> o.most)
	var err error
	o.arena, err = layout.NewArena(int(o.first) << o.most * ownerGroup)
	return o, err
}

// rank gives a point a rank. At first, every rank is 0.
func (o *owners) rank(point uint32, rank uint8) { o.ranks[point] = rank }

// line returns the number of a flow's line. The upper bits of the flow choose the group at first.
// Bits of its tag choose the group among the groups that this has grown to, and the line.
func (o *owners) line(flow uint64) uint64 {
	group, _ := bits.Mul64(flow, o.first)
	return (group<<o.grown|tagOf(flow)>>(ownerTagBits-o.grown))*ownerGroup | flow%ownerGroup
}

// fetch prefetches the lines that reports about these flows will touch.
func (o *owners) fetch(flows []uint64) {
	o.arena.CheckOpen("Owners.Fetch")
	lines, sum := o.arena.Lines(), uint64(0)
	for _, flow := range flows {
		sum += lines[o.line(flow)][0] // which nothing waits for
	}
	o.touch = sum
}

// setSilent says for how long a point may report nothing about a flow that it owns. At first
// that is no time.
func (o *owners) setSilent(point uint32, silent time.Duration) {
	o.silent[point] = int32(min(silent>>layout.OwnerUnitShift, 1<<30))
}

// report takes a report, and returns the owner of the flow. The answer is ownerCopy if another
// point owns the flow, and the reported time contains the beginning of the report and lasts
// until its end, but for the time that the owner may be silent. Reports may begin up to Within
// earlier than the reported time. Reports of less time than twice Within, of a single packet for
// example, may begin up to Within later than its end. Longer reports must begin more than Within
// before that. Otherwise they are about the time after it. With ownerNew, the point becomes the
// owner, and what it reports joins the reported time.
//
// A point of a higher rank takes a flow over with its first ownerCopy. A report of a point of
// a lower rank than the owner is ownerNew only if it begins more than Alive later.
//
// It does not allocate. It panics after Close.
func (o *owners) report(r ownerReport) (owner uint32, answer ownerAnswer) {
	o.arena.CheckOpen("Owners.Report")
	start, end := units(r.Start), units(max(r.Start, r.End))
	within := int32(min(r.Within>>layout.OwnerUnitShift, 1<<29))
	c, known, room := o.find(r, start, end)
	for !known && !room && o.grown < o.most {
		o.grow()
		c, known, room = o.find(r, start, end)
	}
	if !known {
		if !room {
			return 0, ownerFull
		}
		c.set(r.Flow, r.Point, reported{start, start, start, end})
		return r.Point, ownerNew
	}
	told := c.reported(end)
	owner = c.owner()
	if owner != r.Point {
		before, after, silent := o.ranks[owner], o.ranks[r.Point], o.silent[owner]
		near := within
		if before > after {
			near = int32(min(r.Alive>>layout.OwnerUnitShift, 1<<29))
		}
		if told.contains(start, end, units(int64(r.Gap)), near) && int32(end-told.end) <= max(silent, near) {
			if after > before {
				c.set(r.Flow, r.Point, told)
			}
			return owner, ownerCopy
		}
	}
	if owner != r.Point && int32(end-told.end) <= 0 {
		return r.Point, ownerNew // not after the owner's reports
	}
	told.add(start, end, within, owner != r.Point)
	c.set(r.Flow, r.Point, told)
	return r.Point, ownerNew
}

// find returns the flow's cell at a time, else a free one, else false. Records of a week ago may
// come beside present ones, even of the same flow: each has a cell of its own. So an empty cell
// is taken before a dead cell, and of dead cells the nearest in time.
func (o *owners) find(r ownerReport, start, end uint32) (c ownerCell, known, room bool) {
	lines, first := o.arena.Lines(), o.line(r.Flow)
	now, alive := units(r.Now), int32(min(r.Alive>>layout.OwnerUnitShift, 1<<30))
	nearest := uint32(math.MaxUint32)
	for i := range uint64(ownerGroup) {
		line := &lines[first^i]
		for at := range uint(layout.OwnerCells) {
			one := ownerCell{line, at}
			if one.owner() == 0 { // so are all behind it, and the line never was full
				return one, false, true
			}
			away := min(apart(now, one.end(now)), apart(end, one.end(end)))
			switch {
			case one.tag() == tagOf(r.Flow) && one.near(start, end, alive):
				return one, true, true
			case away > uint32(alive) && away < nearest: // dead, or its clock was wrong and ahead
				c, nearest, room = one, away, true
			}
		}
	}
	return c, false, room
}

// near reports whether the reported time and the time from start to end are at most span apart.
func (c ownerCell) near(start, end uint32, span int32) bool {
	until := c.end(end)
	return int32(start-until) <= span && int32(c.begin(until)-end) <= span
}

// apart returns the units between two times.
func apart(a, b uint32) uint32 { return uint32(max(int32(a-b), int32(b-a))) }

// units returns 32 bits of a time, above its OwnerUnitShift lowest bits.
func units(time int64) uint32 { return uint32(time >> layout.OwnerUnitShift) }

// Bytes returns the memory of the table.
func (o *owners) Bytes() int { return len(o.used()) * layout.LineSize }

// Close gives the memory back.
func (o *owners) Close() error { return o.arena.Close() }

// nearby is by how much the times of two points may differ after their offset was
// removed. It is half of the shortest active timeout that routers have, so it does not
// reach from one record to the next. Times in whole seconds need more: their unit, and a
// quarter of this for the offset.
const nearby = 500 * time.Millisecond

// owner is the policy that keeps the records of one point of a flow at a time.
type owner struct {
	*owners
	judges *Judge
}

// judge finds the flow's owner. A record with translated addresses belongs to two flows. It is
// a copy if another point owns either flow, and the owner of the first owns both.
func (o *owner) judge(s *timedRecord) (uint32, records.Verdict) {
	report := ownerReport{
		Flow: s.flow, Point: s.point, Start: s.start, End: s.end, Now: s.now,
		Alive: o.judges.Alive(), Within: max(nearby, o.judges.precision+nearby/4),
	}
	if o.judges.cfg.OwnerTimeout > 0 || s.timeless {
		report.Within = report.Alive
	}
	if s.Packets > 1 {
		report.Gap = time.Duration(uint64(s.end-s.start) / (s.Packets - 1))
	}
	o.setSilent(s.point, o.judges.points.at(s.point).silent())
	of, answer := o.report(report)
	if s.nat != 0 && answer != ownerFull {
		report.Flow, report.Point = s.nat, of
		if before, other := o.report(report); answer == ownerNew && other == ownerCopy {
			of, answer = before, other
		}
	}
	switch answer {
	case ownerCopy:
		return of, records.Copy
	case ownerFull:
		o.judges.counts.NoRoom++
		return 0, records.Unchecked
	}
	return 0, records.Keep
}

// reported is the time for which a flow was reported, in units: from begin to left and from back
// to end. In between the flow paused. The flow may pause more
// often: a pause replaces an earlier pause that is not longer. Without a pause begin, left and back are equal.
type reported struct{ begin, left, back, end uint32 }

// contains reports whether a report begins within the reported time: see [owners.report]. A
// report that begins where a part of that time ends may be about the packets after it. It begins
// with the last packet of that part if the next packet cannot come so soon: if packets come much
// further apart than times differ; if they come not sooner, and the last packet came alone; or if
// the pause is hardly longer than packets are apart.
func (t reported) contains(start, end, gap uint32, within int32) bool {
	in := func(from, until uint32, same bool) bool {
		later := -within // must the time end by as much
		if !same {
			later += int32(min(end-start, uint32(2*within)))
		}
		if later < 0 {
			later -= int32((t.end - until) / (2 * mantissa)) // by how much it may be rounded
		}
		return int32(start-until)+later <= 0 && int32(from-start) <= within
	}
	apart := uint32(within)
	return in(t.back, t.end, gap > 4*apart || gap > apart && int32(start-t.back) <= within) ||
		in(t.begin, t.left, gap > apart && t.back-t.left <= gap+gap/4)
}

// add adds a report to the reported time. If another point than the owner reports, a pause
// before the report stays, however short: the owner may still report that time.
func (t *reported) add(start, end uint32, within int32, another bool) {
	if int32(start-t.back) >= 0 && int32(start-t.end) <= within { // as most do
		if int32(end-t.end) > 0 {
			t.end = end
		}
		return
	}
	runs := [3][2]uint32{{t.begin, t.left}, {t.back, t.end}, {start, end}}
	for i := 2; i > 0 && int32(runs[i][0]-runs[i-1][0]) < 0; i-- {
		runs[i], runs[i-1] = runs[i-1], runs[i]
	}
	n := 0
	for _, run := range runs[1:] {
		if int32(run[0]-runs[n][1]) > within {
			n++
			runs[n] = run
		} else if int32(run[1]-runs[n][1]) > 0 {
			runs[n][1] = run[1]
		}
	}
	*t = reported{runs[0][0], runs[0][0], runs[0][0], runs[n][1]}
	switch {
	case n == 1, n == 2 && !another && runs[1][0]-runs[0][1] > runs[2][0]-runs[1][1]:
		t.left, t.back = runs[0][1], runs[1][0]
	case n == 2:
		t.left, t.back = runs[1][1], runs[2][0]
	}
}
