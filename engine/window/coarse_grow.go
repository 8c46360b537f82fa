// SPDX-License-Identifier: Apache-2.0

package window

import (
	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine/theory"
	"github.com/flowdedup/flowdedup/layout"
)

// coarseShape is the capacity of lines of coarse cells. A filter grows when a line has
// more than most live elements on average, to as many lines as hold a window's elements
// at a load of full. Twelve cells and one spare line in 13 miss 2e-6 of the copies, of
// ages that are spread evenly over the window, at 6.6 live elements a line, and 2e-5 at
// 7. Fifteen cells miss as many at 8.9 and 9.3 (TestCoarseSpare).
type coarseShape struct {
	method     string
	fpr        float64
	cells      int
	most, full float64
}

var (
	coarseCells = coarseShape{"coarse", CoarseFPR, layout.CoarseCells, 8.8, 8.3}
	fineCells   = coarseShape{"fine", FineFPR, layout.FineCells, 6.6, 6.2}
)

func coarseShapeOf(fine bool) *coarseShape {
	if fine {
		return &fineCells
	}
	return &coarseCells
}

// lines returns the number of lines, including spare ones, for the given number of live
// elements.
func (s *coarseShape) lines(live float64) int {
	const most = 1 << 40
	lines := min(live/s.full, most)
	return max(1, int(lines*sparePart/(sparePart-1))+1)
}

// CoarseModel returns the model of the rows of a Coarse. Ticks round times down, so a window
// of some ticks reaches half a tick farther on average.
func CoarseModel(w Window, fine bool) theory.SpareRows {
	_, window := coarseTicks(w, fine)
	slack := float64(window/slackPart) + 0.5
	return theory.SpareRows{Cells: coarseShapeOf(fine).cells, Share: sparePart - 1, Slack: slack / float64(window)}
}

// mostCoarseDefault holds four million elements. A filter that begins smaller needs to
// grow twice for a minute of a million packets a second. A filter that begins larger
// costs more than it saves, as its lines remain for a while after it has grown.
const mostCoarseDefault = 48 << 20

// DefaultCoarseMemory is DefaultTimedMemory for Coarse, which takes less for each packet,
// and at most 48 MiB.
func DefaultCoarseMemory(w Window, fine bool, inputBytes int64) int {
	shape := coarseShapeOf(fine)
	of := func(packets float64) int { return shape.lines(packets) * layout.LineSize }
	return min(mostCoarseDefault, defaultMemory(w, inputBytes, packetRate, of))
}

// coarse returns the lines in the form that the kernel of coarse rows takes.
func (r *timedRows) coarse() line.CoarseRows {
	all := r.arena.Lines()
	return line.CoarseRows{Lines: all[:r.lines:r.lines], Spare: all[r.lines:]}
}

// beginBlock begins a block at the present position. There the filter grows, ends older
// rows, and plans growth. So verdicts do not depend on how a stream is cut into calls.
func (c *Coarse) beginBlock() {
	g := &c.growth
	if g.isDue(c.position) && c.grow(c.workingSet.clock.latest(sizeOf(c.kind))) {
		c.rowsChanged()
	}
	for len(g.older) > 0 && c.past(g.older[len(g.older)-1].since) {
		g.dropOldest()
		c.rowsChanged()
	}
	c.blockEnd = c.position + blockLength(c.lines)
	shape := coarseShapeOf(c.params.Fine)
	if g.mayPlan() && float64(c.workingSet.current()) > shape.most*float64(c.rows.lines) {
		g.plan(c.position, c.lines, c.memory, shape.lines(float64(c.workingSet.need())))
	}
}

// past reports whether the stream is too far from a time, before or after it, for copies of an
// element of that time, even if some elements are late by the slack.
func (c *Coarse) past(since int64) bool {
	size := uint64(sizeOf(c.kind))
	now, least := c.workingSet.clock.now, size+2*(size/slackPart)
	return now > since && uint64(now)-uint64(since) > least || now < since && uint64(since)-uint64(now) > least
}

// rowsChanged updates the state that depends on the rows.
func (c *Coarse) rowsChanged() {
	c.lines = len(c.rows.arena.Lines())
	c.memory = c.rows.arena.Bytes() + c.growth.changed((*timedRows).coarse)
}
