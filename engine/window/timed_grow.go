// SPDX-License-Identifier: Apache-2.0

package window

import (
	"context"
	"errors"
	"math"

	"github.com/flowdedup/flowdedup/engine/internal/mem"
	"github.com/flowdedup/flowdedup/layout"
)

const (
	// A filter grows when a line has more than growLoad live elements on average, to as
	// many lines as hold a window's elements at fullLoad, and at least leastGrowth times
	// as many as before. In between the traffic may vary.
	growLoad    = 2.4
	fullLoad    = 2.2
	leastGrowth = 1.25
	// maxOlder bounds the number of older rows.
	maxOlder = 12
)

// growth lets a filter follow the traffic. When too many elements a line are live, larger
// rows take their place. The older rows are only looked up (line.TestAndSetTimedAround,
// line.TestAndSetCoarseAround), until all of their elements are older than a window, or
// would have been pushed out. R is the rows in the form that the kernel takes.
//
// Both happen at the beginning of a block, at fixed positions in the stream. So verdicts do
// not depend on batches or workers. The memory is populated between the decision and
// growing.
type growth[R any] struct {
	limit int    // limit of the size of all rows, in bytes; 0 for a filter that does not grow, math.MaxInt for the budget
	at    uint64 // the position from which on the filter grows, or 0
	lines int    // the number of lines then
	next  *preparedRows
	older []olderRows // the latest first
	rows  []R
	// whenReady makes the filter grow later if the memory is not ready.
	whenReady bool
	// refused means that the system had no memory when the filter would have grown.
	refused bool
}

// olderRows are rows before the current ones.
type olderRows struct {
	timedRows
	// since is a time that the stream reached after them, or layout.NoTick until all
	// samples of the clock are newer.
	since int64
	taken uint64 // samples that the clock had taken when they became older
	kept  uint64 // number of elements kept by then
}

// preparedRows is memory that is being prepared. rows and err are valid once done is
// closed.
type preparedRows struct {
	stop context.CancelFunc
	done chan struct{}
	rows timedRows
	err  error
}

// prepareRows allocates and populates memory in the background.
func prepareRows(lines int) *preparedRows {
	ctx, stop := context.WithCancel(context.Background())
	n := &preparedRows{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(n.done)
		if n.rows, n.err = newTimedRows(lines, true); n.err == nil {
			_ = mem.Populate(ctx, n.rows.arena) // memory that is not populated serves, too
		}
	}()
	return n
}

// ready reports whether the memory is prepared.
func (n *preparedRows) ready() bool {
	select {
	case <-n.done:
		return true
	default:
		return false
	}
}

// close stops preparing, and gives the memory back.
func (n *preparedRows) close() error {
	if n == nil {
		return nil
	}
	n.stop()
	<-n.done
	if n.err != nil {
		return nil
	}
	return n.rows.arena.Close()
}

// growLead returns the number of elements that a filter with the given number of lines
// takes between the decision to grow and growing, about a twentieth of its capacity.
func growLead(lines int) int { return max(leastBlock, lines/8) &^ (leastBlock - 1) }

// close returns all memory except the current rows'.
func (g *growth[R]) close() error {
	err := g.next.close()
	for i := range g.older {
		err = errors.Join(err, g.older[i].arena.Close())
	}
	g.next, g.older, g.rows = nil, nil, nil
	return err
}

// isDue reports whether the filter grows at a position.
func (g *growth[R]) isDue(position uint64) bool {
	return g.at != 0 && g.at <= position && (!g.whenReady || g.next.ready())
}

// mayPlan reports whether the filter may plan to grow.
func (g *growth[R]) mayPlan() bool { return g.limit > 0 && g.at == 0 && !g.refused }

// plan prepares larger rows, if there may be any. The current rows have the given number
// of lines, and all rows together take memory bytes. A window needs need lines, including
// spare ones.
func (g *growth[R]) plan(position uint64, lines, memory, need int) {
	if g.limit == math.MaxInt {
		g.limit = layout.MemoryBudget() // read from files of the system, which most filters do not need
	}
	least := int(leastGrowth * float64(lines))
	room := (g.limit - memory) / layout.LineSize
	if len(g.older) == maxOlder || least > room {
		return
	}
	g.prepare(position+uint64(growLead(lines)), min(max(least, need), room))
}

// prepare makes the filter grow to the given number of lines at a position.
func (g *growth[R]) prepare(at uint64, lines int) {
	g.at, g.lines, g.next = at, lines, prepareRows(lines)
}

// grow makes the larger rows current. The rows before become older rows, without an element
// later than since. If there is no memory, it changes nothing and reports false.
func (f *rowFilter[R]) grow(since int64) (grown bool) {
	g, m := &f.growth, &f.workingSet
	next := g.next
	g.at, g.lines, g.next = 0, 0, nil
	<-next.done
	next.stop()
	if next.err != nil {
		g.refused = true
		return false
	}
	g.older = append([]olderRows{{f.rows, since, m.clock.taken, m.late.total}}, g.older...)
	f.rows = next.rows
	m.begin(m.clock.now)
	return true
}

// dropOldest returns the memory of the oldest rows.
func (g *growth[R]) dropOldest() {
	last := len(g.older) - 1
	go g.older[last].arena.Close() // packets do not wait for it; it does not fail
	g.older = g.older[:last]
}

// changed updates the state that depends on the older rows, and returns their size in
// bytes.
func (g *growth[R]) changed(of func(*timedRows) R) (bytes int) {
	g.refused = false
	g.rows = g.rows[:0]
	for i := range g.older {
		g.rows = append(g.rows, of(&g.older[i].timedRows))
		bytes += g.older[i].arena.Bytes()
	}
	return bytes
}

// changeRows grows, ends older rows, and plans growth. A block begins.
func (t *Timed) changeRows() {
	g := &t.growth
	if g.isDue(t.position) && t.grow(layout.NoTick) {
		t.rowsChanged()
	}
	for i := range g.older {
		g.older[i].date(&t.workingSet.clock)
	}
	for t.oldestEnds() {
		t.endOldest()
	}
	if g.mayPlan() && float64(t.workingSet.current()) > growLoad*float64(t.rows.lines) {
		g.plan(t.position, t.lines, t.memory, timedLines(float64(t.workingSet.need())))
	}
}

// date sets the time, if all samples of the clock came after the rows.
func (r *olderRows) date(c *medianClock) {
	if r.since == layout.NoTick && c.taken >= r.taken+clockSamples {
		r.since = c.now
	}
}

// oldestEnds reports whether all elements of the oldest rows are older than a window, or the
// current rows took enough elements to push them out of a single table.
func (t *Timed) oldestEnds() bool {
	g, m := &t.growth, &t.workingSet
	if len(g.older) == 0 {
		return false
	}
	oldest := &g.older[len(g.older)-1]
	return t.past(oldest.since) || m.late.total-oldest.kept >= uint64(layout.TimedCells*t.lines)
}

// past reports whether a time is older than the window and the least slack.
func (t *Timed) past(since int64) bool {
	now := t.workingSet.clock.now
	return since != layout.NoTick && now > since && uint64(now)-uint64(since) > uint64(t.params.Window+t.leastSlack())
}

// endOldest returns the memory of the oldest rows. Their elements that have not come
// again are forgotten, so all elements from before now are late. Live elements count as
// evicted.
func (t *Timed) endOldest() {
	oldest := &t.growth.older[len(t.growth.older)-1]
	if t.past(oldest.since) {
		t.forgetBefore(0)
	} else {
		t.counts.EvictedLive += oldest.live(&t.params, t.workingSet.clock.now)
		t.forgetBefore(t.leastSlack())
	}
	t.growth.dropOldest()
	t.rowsChanged()
}

// rowsChanged updates the state that depends on the rows.
func (t *Timed) rowsChanged() {
	t.lines = len(t.rows.arena.Lines())
	t.memory = t.rows.arena.Bytes() + t.growth.changed((*timedRows).rows)
	t.workingSet.horizon.lines = uint64(t.rows.lines)
}
