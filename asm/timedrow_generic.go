package asm

import (
	"math"
	"math/bits"
)

// timedRow is TimedParams as the loop wants them.
type timedRow struct {
	limit     uint64 // cells that differ by less hold the same fingerprint
	maxRel    uint64 // the greatest relative time, all TickBits set
	mid       int64  // where a new base puts its time
	window    uint64
	tickBits  uint
	pointBits uint
	refresh   bool
	across    bool
}

func newTimedRow(p *TimedParams) timedRow {
	return timedRow{
		limit:     1 << (p.PointBits + p.TickBits),
		maxRel:    1<<p.TickBits - 1,
		mid:       1 << (p.TickBits - 1),
		window:    uint64(p.Window),
		tickBits:  p.TickBits,
		pointBits: p.PointBits,
		refresh:   p.Refresh,
		across:    p.Across,
	}
}

func testAndSetTimedGeneric(lines [][8]uint64, seen []uint64, digests []Digest, ticks []int64, points []uint32, p *TimedParams, c *TimedCounts) {
	r := newTimedRow(p)
	var index [64]uint64
	for w := 0; len(digests) > 0; w++ {
		n := min(64, len(digests))
		touchLines(lines, digests[:n], &index)
		var word uint64
		for i, d := range digests[:n] {
			t := ticks[i]
			if t == NoTick {
				continue
			}
			var point uint64
			if points != nil {
				point = reducePoint(points[i], r.pointBits) << (r.tickBits & 63)
			}
			if r.testAndSet(&lines[index[i&63]], d[0], t, point, c) {
				word |= 1 << (i & 63)
			}
		}
		seen[w] = word
		digests, ticks = digests[n:], ticks[n:]
		if points != nil {
			points = points[n:]
		}
	}
}

// touchLines finds the lines of up to 64 elements and loads a word of each, so
// that the cache misses of all of them run at the same time and not one after
// another between the branches of testAndSet. It must stay a call: inlined,
// loads without a use would be left out.
//
//go:noinline
func touchLines(lines [][8]uint64, digests []Digest, index *[64]uint64) (sum uint64) {
	for i := range digests {
		at, _ := bits.Mul64(digests[i][1], uint64(len(lines)))
		index[i&63] = at
		sum += lines[at][0]
	}
	return sum
}

// testAndSet takes one element of time t: fp holds its fingerprint in the top
// bits, point its point in the place that it has in a cell. All cells are
// compared whatever they hold, because a loop that ends early costs a wrong
// guess of the branch predictor for nearly every element.
func (r *timedRow) testAndSet(line *[8]uint64, fp uint64, t int64, point uint64, c *TimedCounts) (isCopy bool) {
	rel := uint64(t) - line[0]
	if rel-1 >= r.maxRel || line[1] == 0 || t < int64(line[0]) {
		rel = r.rebase(line, t, c)
	}
	limit := r.limit
	cell := fp&-limit | point | rel
	c1, c2, c3, c4, c5, c6, c7 := line[1], line[2], line[3], line[4], line[5], line[6], line[7]
	if min(c1^fp, c2^fp, c3^fp, c4^fp, c5^fp, c6^fp, c7^fp) < limit {
		// An empty cell looks like fingerprint 0, but comes after all others.
		if at := r.find(line, fp); line[at] != 0 {
			return r.found(line, at, cell)
		}
	}
	c.EvictedLive += atMost(r.distance(c7, rel), r.window) & atMost(1, c7) // not if it is empty
	c.Inserted++
	line[1], line[2], line[3], line[4] = cell, c1, c2, c3
	line[5], line[6], line[7] = c4, c5, c6
	return false
}

// atMost returns 1 if a <= b and else 0, without a branch.
func atMost(a, b uint64) uint64 {
	if a <= b {
		return 1
	}
	return 0
}

// distance returns how far the cell's time is from rel, in ticks.
func (r *timedRow) distance(cell, rel uint64) uint64 {
	at := cell & r.maxRel
	return max(at, rel) - min(at, rel)
}

// find returns the first word of line with the fingerprint of fp, knowing that
// there is one.
func (r *timedRow) find(line *[8]uint64, fp uint64) uint {
	at := uint(1)
	for at < 7 && line[at]^fp >= r.limit {
		at++
	}
	return at & 7
}

// found decides about an element whose fingerprint is at word at of line, and
// makes the cell what it has to be then. cell is what the element would leave.
func (r *timedRow) found(line *[8]uint64, at uint, cell uint64) (isCopy bool) {
	old, rel := line[at&7], cell&r.maxRel
	samePoint := (old^cell)&(r.limit-1)&^r.maxRel == 0
	isCopy = r.distance(old, rel) <= r.window && !(r.across && samePoint)
	if isCopy && !r.refresh {
		return true
	}
	if isCopy {
		cell = old&^r.maxRel | max(old&r.maxRel, rel)
	}
	for ; at > 1; at-- {
		line[at&7] = line[(at-1)&7]
	}
	line[1] = cell
	return isCopy
}

// rebase moves the clock of line so that t lies in its middle, forgets the
// cells that the new base cannot express, and returns t relative to it. The
// base stops at the least int64, and t lies below the middle then.
func (r *timedRow) rebase(line *[8]uint64, t int64, c *TimedCounts) (rel uint64) {
	from, to := int64(line[0]), max(t, math.MinInt64+r.mid)-r.mid
	kept := 1
	for _, cell := range line[1:] {
		if cell == 0 {
			break
		}
		moved, ok := r.move(cell, from, to)
		if ok {
			line[kept&7] = moved
			kept++
		} else if to < from {
			c.EvictedLive++
			c.EvictedByJump++
		}
	}
	clear(line[kept:])
	line[0] = uint64(to)
	return uint64(t) - uint64(to)
}

// move expresses a cell's time relative to another base, if it can. Bases may
// be further apart than an int64 can say, but not a uint64.
func (r *timedRow) move(cell uint64, from, to int64) (moved uint64, ok bool) {
	rel := cell & r.maxRel
	if to >= from {
		d := uint64(to) - uint64(from)
		return cell - d, d < rel
	}
	d := uint64(from) - uint64(to)
	return cell + d, d <= r.maxRel-rel
}
