// SPDX-License-Identifier: Apache-2.0

package line

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
	"math/bits"
)

// TestAndSetTimedAround is TestAndSetTimed for elements near the border of two eras, and
// for a filter that moves from older lines to new lines. It has no kernel in assembly,
// since few elements need it.
//
// Near a border of eras it remembers an element twice: it puts the cell in front of the
// line once more, under the era on the other side, if the time is within the window of a
// border. So an element finds its twin under its own era. All elements whose times are
// within the window of a border must come through this function.
//
// rows replace the rows of older, which it only reads; the latest come first in older. If rows
// do not have the fingerprint of an element, it looks in the element's line of each of
// older, and in the spare line behind that, and copies the first cell with that fingerprint
// to the front before it takes the element. So the verdicts are as if rows had held
// everything from the beginning.
//
// Cells that it adds for either reason count as inserted, and cells that they push out as
// evicted. It panics as TestAndSetTimed does, and if a member of older is empty.
func TestAndSetTimedAround(rows TimedRows, older []TimedRows, seen []uint64, digests []digest.Digest, ticks []int64, points []uint32, p *TimedParams, c *TimedCounts) {
	p.checkArguments(rows.Lines, seen, digests, ticks, points)
	for i := range older {
		if len(older[i].Lines) == 0 {
			panic("line: TestAndSetTimedAround: no older lines")
		}
	}
	r := newTimedRule(p, len(rows.Spare))
	a := timedAround{timedRule: &r, spareRows: newSpareRows(rows, &r, c), older: older}
	if len(digests) == 0 {
		return
	}
	a.pipeline.elements = elements{kind: inLines, count: len(digests), digests: digests}
	a.pipeline.begin(rows.Lines)
	for at := 0; at < len(digests); at += 64 {
		to := min(at+64, len(digests))
		part := []uint32(nil)
		if p.PointBits > 0 {
			part = points[at:to]
		}
		seen[at/64] = a.testAndSet(digests[at:to], ticks[at:to], part)
	}
}

// timedAround is the state of a call of TestAndSetTimedAround.
type timedAround struct {
	*timedRule
	spareRows
	older    []TimedRows
	pipeline pipeline
	batch    timedBatch
}

// testAndSet looks up the next elements, up to 64.
func (a *timedAround) testAndSet(digests []digest.Digest, ticks []int64, points []uint32) (copies uint64) {
	b := &a.batch
	current, _, n := a.pipeline.next()
	b.fill(&current.low, ticks, points, a.timedRule)
	touchLines(a.Lines, current.offset[:n])
	a.touchOlder(digests)
	for i := range n {
		if b.noTime>>i&1 != 0 {
			continue
		}
		number, cell, mark := current.offset[i]/64, b.cell[i], b.mark[i]
		if len(a.older) > 0 && !a.has(number, cell) {
			a.fetch(number, digests[i][1], cell, mark)
		}
		isCopy := a.spareRows.testAndSet(number, cell, mark)
		copies |= isCopy << i
		if isCopy == 0 || a.refresh {
			a.mirror(number, digests[i][0], ticks[i])
		}
	}
	return copies
}

// touchOlder loads the older lines of up to 64 digests.
func (a *timedAround) touchOlder(digests []digest.Digest) {
	var offsets [64]uint64
	for _, rows := range a.older {
		for i := range digests {
			line, _ := bits.Mul64(digests[i][1], uint64(len(rows.Lines)))
			offsets[i&63] = line * 64
		}
		touchLines(rows.Lines, offsets[:len(digests)])
	}
}

// fetch copies the latest of the older cells with the fingerprint of cell to the front of
// a line that has none. The mark is the mark of the element that is looked up.
func (a *timedAround) fetch(number, place, cell, mark uint64) {
	for _, rows := range a.older {
		at, _ := bits.Mul64(place, uint64(len(rows.Lines)))
		if home, found := a.findIn(rows, at, cell); found < layout.TimedCells {
			a.put(number, cell, a.markOf(home, found), mark)
			return
		}
	}
}

// has returns whether the line with a number, or its spare line, has the fingerprint of
// cell.
func (a *timedAround) has(number, cell uint64) bool {
	_, at := a.findIn(a.TimedRows, number, cell)
	return at < layout.TimedCells
}

// findIn returns the line that has the fingerprint of cell, and the number of that cell
// in it: the line with a number, or else its spare line. If neither has it, at is
// TimedCells.
func (a *timedAround) findIn(rows TimedRows, number, cell uint64) (home *[8]uint64, at uint64) {
	home = &rows.Lines[number]
	if at = a.find(home, cell); at < layout.TimedCells || home[7]&layout.TimedSpilled == 0 || len(rows.Spare) == 0 {
		return home, at
	}
	home = rows.spareOf(number, rows.share())
	return home, a.find(home, cell)
}

// mirror adds the front cell of a line once more under another era, if its time is within
// the window of a border. The element that put it in front has this tick.
func (a *timedAround) mirror(number, low uint64, tick int64) {
	mark := a.markOf(&a.Lines[number], 0)
	// A copy may keep the time of the other element.
	shift := a.rotation & 63
	kept := uint64(tick) + uint64(int64((mark-uint64(tick))<<shift)>>shift)
	own := (uint64(tick) - a.origin) >> (a.eraBits & 63)
	era := (kept - a.origin) >> (a.eraBits & 63)
	within := (kept - a.origin) & (1<<(a.eraBits&63) - 1)
	last := ^uint64(0) >> (a.eraBits & 63)
	if era != own {
		a.put(number, a.cellOf(low, era), mark, mark)
	}
	if other := (era - 1) & last; within < a.window && other != own {
		a.put(number, a.cellOf(low, other), mark, mark)
	}
	if other := (era + 1) & last; within >= 1<<(a.eraBits&63)-a.window && other != own {
		a.put(number, a.cellOf(low, other), mark, mark)
	}
}

// cellOf returns the fingerprint of an element in an era, at its place in a cell.
func (r *timedRule) cellOf(low, era uint64) uint64 { return max((low^era*golden)&^r.low, r.low+1) }
