package engine

import (
	"errors"
	"math"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/layout"
)

const (
	// growLoad is how many live elements a line may have on average, as 1/growLoad, before
	// the filter grows: see spareLoad.
	growLoad = 4
	// growFactor is by how much it grows, if the limit allows it.
	growFactor = 4
	// maxOlder bounds how many filters may stand beside the present one.
	maxOlder = 8
)

// growth is how a filter without a fixed memory follows the traffic. When a quarter of an
// element a line is live, a larger filter begins, and the one before stands beside it, to be
// looked up only, until all in it lies windows back (asm.TestAndSetTimedAround).
//
// Both happen at positions in the stream, some elements after their reason is known: so
// neither batches nor workers change verdicts, and the memory is populated meanwhile.
type growth struct {
	limit int    // what all lines may take, in bytes; 0 for a filter that does not grow
	at    uint64 // where the next filter begins, or 0
	next  *nextArena
	older []olderArena // the latest first
	lines [][]layout.Line
	endAt uint64 // where the oldest of them ends, or 0
}

// olderArena is the memory of a filter before the present one.
type olderArena struct {
	arena *layout.Arena
	since int64 // the time that the stream had reached when it became older
}

// nextArena is memory that is being prepared. The others are for when done is closed.
type nextArena struct {
	done  chan struct{}
	arena *layout.Arena
	err   error
}

// prepareArena has memory made and populated.
func prepareArena(lines int) *nextArena {
	n := &nextArena{done: make(chan struct{})}
	go func() {
		defer close(n.done)
		if n.arena, n.err = layout.NewArena(lines); n.err == nil {
			n.arena.Populate(0, lines)
		}
	}()
	return n
}

// close waits for the memory, and gives it back.
func (n *nextArena) close() error {
	if n == nil {
		return nil
	}
	<-n.done
	if n.err != nil {
		return nil
	}
	return n.arena.Close()
}

// growLead returns how many elements a filter of so many lines takes between the reason to grow and
// growing: a sixteenth of an element a line, but enough for a call of the kernel while
// that is not more than an eighth. It is a multiple of 64.
func growLead(lines int) int {
	return max(64, lines/16, min(chunk, lines/8)) &^ 63
}

// close gives all memory back that is not that of the present filter.
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
	g, now := &t.growth, t.arena.Bytes()
	if len(g.older) == maxOlder || g.limit < now {
		return 1
	}
	return max(1, min(growFactor, (g.limit-g.bytes()-now)/now))
}

// plan notes where the filter grows, and where the oldest ends, once there is a reason.
func (t *Timed) plan() {
	g, m := &t.growth, &t.demand
	lead := uint64(growLead(t.lines))
	if m.over != 0 && g.at == 0 {
		if t.factor() == 1 {
			m.setMost(math.MaxUint64)
			return
		}
		g.at = m.over + lead
		g.next = prepareArena(t.factor() * t.lines)
	}
	if m.pastAt != 0 && g.endAt == 0 {
		g.endAt = m.pastAt + lead
	}
}

// piece returns how many of the next n elements are handled at a time: not more than there
// are lines (see unusual), and none behind a change of the filter.
func (t *Timed) piece(n int) int {
	g := &t.growth
	if g.limit == 0 {
		return min(n, max(64, t.lines&^63))
	}
	if g.at != 0 && g.at == t.position {
		t.grow()
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

// grow makes the larger filter the present one. If there is no memory it stays as it is.
func (t *Timed) grow() {
	g := &t.growth
	next := g.next
	g.at, g.next = 0, nil
	<-next.done
	if next.err != nil {
		t.demand.setMost(math.MaxUint64)
		return
	}
	since := t.demand.late.reached
	if since == asm.NoTick {
		since = t.params.Origin + 1<<(t.params.TickBits-2) // the first
	}
	t.demand.late.grow(len(next.arena.Lines()) / t.lines)
	g.older = append([]olderArena{{t.arena, since}}, g.older...)
	t.arena = next.arena
	t.shards.relocate(t.arena.Lines())
	t.olderChanged()
}

// endOldest gives the memory of the oldest filter back. What is in it, and was not
// looked up since, is forgotten.
func (t *Timed) endOldest() {
	g := &t.growth
	last := len(g.older) - 1
	g.endAt = 0
	t.demand.late.forget(g.older[last].since)
	_ = g.older[last].arena.Close() // unmapping memory that was mapped does not fail
	g.older = g.older[:last]
	t.olderChanged()
}

// olderChanged sets what follows from the older filters.
func (t *Timed) olderChanged() {
	g := &t.growth
	g.lines = g.lines[:0]
	for i := range g.older {
		g.lines = append(g.lines, g.older[i].arena.Lines())
	}
	t.lines = len(t.arena.Lines())
	t.memory = t.arena.Bytes() + g.bytes()
	t.demand.setMost(uint64(t.lines / growLoad))
	since := int64(asm.NoTick)
	if n := len(g.older); n > 0 {
		since = g.older[n-1].since
	}
	t.demand.watch(since)
}
