package line

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
	"math/bits"
)

// TestAndSetTimedAround does what TestAndSetTimed does, and more where elements lie between
// two eras, or between two filters. It is written in Go alone, since it serves for moments.
//
// Eras have no borders: what an element leaves in front of its line is put there once more
// under the era on the other side, if its time is within the window of a border. So each
// element finds under its own era whatever may be its twin. For that, all elements whose
// times are within the window of a border must come this way.
//
// Lines take the place of older ones, the latest of them first in older, which it only reads:
// an element whose fingerprint is not in its line of lines is looked up in its line of each of
// older, and the first cell that has it is put in front of the line, as it is, before the
// element is taken. So verdicts are those of lines that held all from the beginning.
//
// What is put in front for either reason counts as inserted, and what it pushes out as
// evicted. It panics as TestAndSetTimed does, and if one of older has no lines.
func TestAndSetTimedAround(lines []layout.Line, older [][]layout.Line, seen []uint64, digests []digest.Digest, ticks []int64, points []uint32, p *TimedParams, c *TimedCounts) {
	p.checkArguments(lines, seen, digests, ticks, points)
	for i := range older {
		if len(older[i]) == 0 {
			panic("line: TestAndSetTimedAround: no older lines")
		}
	}
	r := newTimedRule(p)
	a := timedAround{timedRule: &r, lines: lines, older: older, counts: c}
	if len(digests) == 0 {
		return
	}
	a.pipeline.elements = elements{kind: inLines, count: len(digests), digests: digests}
	a.pipeline.begin(lines)
	for at := 0; at < len(digests); at += 64 {
		to := min(at+64, len(digests))
		part := []uint32(nil)
		if p.PointBits > 0 {
			part = points[at:to]
		}
		seen[at/64] = a.testAndSet(digests[at:to], ticks[at:to], part)
	}
}

// timedAround is what TestAndSetTimedAround works with.
type timedAround struct {
	*timedRule
	lines    []layout.Line
	older    [][]layout.Line
	counts   *TimedCounts
	pipeline pipeline
	batch    timedBatch
}

// testAndSet takes the next elements, up to 64.
func (a *timedAround) testAndSet(digests []digest.Digest, ticks []int64, points []uint32) (copies uint64) {
	b := &a.batch
	current, _, n := a.pipeline.next()
	b.fill(&current.low, ticks, points, a.timedRule)
	touchLines(a.lines, current.offset[:n])
	a.touchOlder(digests)
	for i := range n {
		if b.noTime>>i&1 != 0 {
			continue
		}
		to, cell, mark := &a.lines[current.offset[i]/64], b.cell[i], b.mark[i]
		if len(a.older) > 0 && a.find(to, cell) == layout.TimedCells {
			a.fetch(to, digests[i][1], cell, mark)
		}
		isCopy, isNew, pushedOut := a.timedRule.testAndSet(to, cell, mark)
		a.counts.Inserted += isNew
		a.counts.EvictedLive += pushedOut
		copies |= isCopy << i
		if isCopy == 0 || a.refresh {
			a.mirror(to, digests[i][0], ticks[i])
		}
	}
	return copies
}

// touchOlder loads the older lines of up to 64 digests.
func (a *timedAround) touchOlder(digests []digest.Digest) {
	var offsets [64]uint64
	for _, lines := range a.older {
		for i := range digests {
			line, _ := bits.Mul64(digests[i][1], uint64(len(lines)))
			offsets[i&63] = line * 64
		}
		touchLines(lines, offsets[:len(digests)])
	}
}

// fetch puts the latest of the older cells with the fingerprint of cell in front of a line
// that has none. The mark is that of the element that wants it.
func (a *timedAround) fetch(line *[8]uint64, place, cell, mark uint64) {
	for _, lines := range a.older {
		at, _ := bits.Mul64(place, uint64(len(lines)))
		if found := a.find(&lines[at], cell); found < layout.TimedCells {
			a.put(line, cell, a.markOf(&lines[at], found), mark)
			return
		}
	}
}

// mirror puts what is in front of a line there under another era too, if its time is within
// the window of a border. An element at a tick left it there.
func (a *timedAround) mirror(line *[8]uint64, low uint64, tick int64) {
	mark := a.markOf(line, 0)
	// A copy may leave the time of the other one.
	shift := a.rotation & 63
	kept := uint64(tick) + uint64(int64((mark-uint64(tick))<<shift)>>shift)
	own := (uint64(tick) - a.origin) >> (a.eraBits & 63)
	era := (kept - a.origin) >> (a.eraBits & 63)
	within := (kept - a.origin) & (1<<(a.eraBits&63) - 1)
	last := ^uint64(0) >> (a.eraBits & 63)
	if era != own {
		a.put(line, a.cellOf(low, era), mark, mark)
	}
	if other := (era - 1) & last; within < a.window && other != own {
		a.put(line, a.cellOf(low, other), mark, mark)
	}
	if other := (era + 1) & last; within >= 1<<(a.eraBits&63)-a.window && other != own {
		a.put(line, a.cellOf(low, other), mark, mark)
	}
}

// put puts a cell with the fingerprint of cell and a mark in front of a line, in place of the
// one with that fingerprint or of the last one, which is live if it is within the window of
// the mark now.
func (a *timedAround) put(line *[8]uint64, cell, mark, now uint64) {
	at := a.find(line, cell)
	if at == layout.TimedCells {
		last := (a.rawMark(line, at) - now + a.window) & a.tickMask
		a.counts.Inserted++
		a.counts.EvictedLive += above(2*a.window+1, last) & above(line[layout.TimedCells-1], 0)
	}
	a.move(line, at, cell, mark)
}

// markOf returns the mark of a cell.
func (a *timedAround) markOf(line *[8]uint64, at uint64) uint64 {
	return a.rawMark(line, at) & (a.points | a.tickMask)
}

// cellOf returns the fingerprint of an element in an era, in the place that cells have it.
func (r *timedRule) cellOf(low, era uint64) uint64 { return max((low^era*golden)&^r.low, r.low+1) }
