package window

import (
	"context"
	"errors"
	"math"

	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine/internal/mem"
	"github.com/flowdedup/flowdedup/layout"
)

const (
	// A filter decides to grow when it holds more than 1/growLoad live elements a line,
	// and grows growLead elements later. At a quarter, one element in four million evicts
	// a live one (see spareLoad).
	growLoad = 8
	// growFactor is the factor by which a small filter grows. A large one, from
	// largeLines on, doubles: it fills more slowly, and its memory costs more.
	growFactor = 4
	largeLines = 32 << 20 / layout.LineSize
	// maxOlder bounds how many older filters there are beside the current one.
	maxOlder = 12
)

// growth lets a filter follow the traffic. When an eighth of an element a line is live, a
// larger arena takes its place. The older one is only looked up
// (line.TestAndSetTimedAround), until all in it is windows old, or until so much was kept
// since that it counts as forgotten (lateness).
//
// Both happen at positions in the stream, some elements after the decision. So verdicts
// do not depend on batches or workers, and the memory is populated meanwhile.
type growth struct {
	limit int    // what all lines may take, in bytes; 0 for a filter that does not grow
	at    uint64 // where the next filter begins, or 0
	next  *preparedArena
	older []olderArena // the latest first
	lines []line.TimedRows
	endAt uint64 // where the oldest of them ends, or 0
	// whenReady has the filter grow later where the memory is not there yet.
	whenReady bool
}

// olderArena is an arena before the current one.
type olderArena struct {
	arena *layout.Arena
	since int64  // the time that the stream had reached when it became older
	kept  uint64 // how many elements had been kept by then
}

// preparedArena is memory that is being prepared. arena and err are valid once done is
// closed.
type preparedArena struct {
	stop  context.CancelFunc
	done  chan struct{}
	arena *layout.Arena
	err   error
}

// prepareArena allocates and populates memory in the background.
func prepareArena(lines int) *preparedArena {
	ctx, stop := context.WithCancel(context.Background())
	n := &preparedArena{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(n.done)
		if n.arena, n.err = layout.NewArena(lines); n.err == nil {
			_ = mem.Populate(ctx, n.arena) // stopped is as good as done
		}
	}()
	return n
}

// ready reports whether the memory is prepared.
func (n *preparedArena) ready() bool {
	select {
	case <-n.done:
		return true
	default:
		return false
	}
}

// close stops preparing, and gives the memory back.
func (n *preparedArena) close() error {
	if n == nil {
		return nil
	}
	n.stop()
	<-n.done
	if n.err != nil {
		return nil
	}
	return n.arena.Close()
}

// GrowWhenReady has the filter grow once the larger memory is prepared. Without it, the
// filter grows at a fixed element, and waits there for the memory. What it forgets then
// depends on how fast the system gives memory, so this is for streams that cannot wait,
// such as live traffic.
func (t *Timed) GrowWhenReady() { t.growth.whenReady = true }

// growLead returns how many elements a filter of so many lines takes between the decision
// to grow and growing, a multiple of 64. At two million elements a second that is as long
// as it takes to populate twice the memory at 4 GB/s.
func growLead(lines int) int { return max(64, lines/8) &^ 63 }

// close returns all memory but that of the current arena.
func (g *growth) close() error {
	err := g.next.close()
	for i := range g.older {
		err = errors.Join(err, g.older[i].arena.Close())
	}
	g.next, g.older, g.lines = nil, nil, nil
	return err
}

// bytes returns the size of older lines.
func (g *growth) bytes() (sum int) {
	for i := range g.older {
		sum += g.older[i].arena.Bytes()
	}
	return sum
}

// factor returns by how much the filter can grow now: 1 if it cannot.
func (t *Timed) factor() int {
	g, now, most := &t.growth, t.arena.Bytes(), growFactor
	switch {
	case len(g.older) == maxOlder || g.limit < now:
		return 1
	case t.lines >= largeLines:
		most = 2
	}
	return max(1, min(most, (g.limit-g.bytes()-now)/now))
}

// planGrowth notes where the filter grows, and where the oldest arena ends, once there is
// a reason.
func (t *Timed) planGrowth() {
	g, m := &t.growth, &t.workingSet
	lead := uint64(growLead(t.lines))
	switch factor := t.factor(); {
	case m.overAt == 0 || g.at != 0:
	case factor == 1:
		m.setLimit(math.MaxUint64) // until an older filter ends
	default:
		g.at = m.overAt + lead
		g.next = prepareArena(factor * t.lines)
	}
	if m.pastAt != 0 && g.endAt == 0 {
		g.endAt = m.pastAt + lead
	}
}

// nextChunk returns how many of the next n elements are handled at a time: no more than
// there are lines (see unusual), and none beyond a change of the arenas.
func (t *Timed) nextChunk(n int) int {
	g := &t.growth
	if g.limit == 0 {
		return min(n, max(64, t.lines&^63))
	}
	if g.at != 0 && g.at == t.position {
		if g.whenReady && !g.next.ready() {
			g.at += uint64(growLead(t.lines))
		} else {
			t.grow()
		}
	}
	if g.endAt != 0 && g.endAt == t.position {
		t.endOldest()
	}
	for _, at := range []uint64{g.at, g.endAt} {
		if at != 0 {
			n = int(min(uint64(n), at-t.position))
		}
	}
	return min(n, growLead(t.lines))
}

// grow makes the larger arena the current one. The filter stays as it is if there is no
// memory.
func (t *Timed) grow() {
	g := &t.growth
	next := g.next
	g.at, g.next = 0, nil
	<-next.done
	next.stop()
	if next.err != nil {
		t.workingSet.setLimit(math.MaxUint64)
		return
	}
	since := t.workingSet.late.reached
	if since == layout.NoTick {
		since = t.params.Origin + 1<<(t.params.TickBits-2) // the first
	}
	t.workingSet.late.grow(len(next.arena.Lines()) / t.lines)
	g.older = append([]olderArena{{t.arena, since, t.workingSet.late.total}}, g.older...)
	t.arena = next.arena
	t.olderChanged()
}

// endOldest returns the memory of the oldest arena. What is in it, and came no more
// since, is forgotten.
func (t *Timed) endOldest() {
	g := &t.growth
	last := len(g.older) - 1
	g.endAt = 0
	t.workingSet.late.forget(g.older[last].since)
	go g.older[last].arena.Close() // packets do not wait for that; it does not fail
	g.older = g.older[:last]
	t.olderChanged()
}

// olderChanged sets what follows from the older arenas.
func (t *Timed) olderChanged() {
	g := &t.growth
	g.lines = g.lines[:0]
	for i := range g.older {
		g.lines = append(g.lines, line.TimedRows{Lines: g.older[i].arena.Lines()})
	}
	t.lines = len(t.arena.Lines())
	t.memory = t.arena.Bytes() + g.bytes()
	t.workingSet.setLimit(uint64(t.lines / growLoad))
	t.workingSet.watch(t.oldest())
}

// oldest returns when the oldest arena ends: when the stream is windows past a time,
// NoTick if there is no such arena, or when so many elements were kept.
func (t *Timed) oldest() (since int64, kept uint64) {
	g := &t.growth
	if len(g.older) == 0 {
		return layout.NoTick, 0
	}
	last := g.older[len(g.older)-1]
	return last.since, last.kept + uint64(t.lines)
}
