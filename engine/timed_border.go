package engine

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/asm"
)

// unusual reports whether one of ticks is none, lies within the window of a border or in
// another era than the first, or may be late. It may report that of others too. What is
// forgotten at the end of a piece was reached when it began, since a piece has no more elements
// than lines.
func (t *Timed) unusual(ticks []int64) bool {
	era := int64(1) << (t.params.TickBits - 1)
	start := ticks[0] - (ticks[0]-t.params.Origin)&(era-1)
	low, high := t.params.Window, era-1-t.params.Window
	if late := t.demand.late.before(t.demand.late.reached); late > start {
		low = max(low, int64(min(uint64(late)-uint64(start), uint64(era))))
	}
	if low > high {
		return true
	}
	first, span, outside := uint64(start)+uint64(low), uint64(high-low), uint64(0)
	for _, tick := range ticks {
		_, borrow := bits.Sub64(span, uint64(tick)-first, 0)
		outside |= borrow
	}
	return outside != 0
}

// bordering reports whether one of ticks lies within the window of a border.
func (t *Timed) bordering(ticks []int64) bool {
	width := t.params.TickBits - 1
	last := uint64(1)<<width - uint64(t.params.Window)
	for _, tick := range ticks {
		within := (uint64(tick) - uint64(t.params.Origin)) & (1<<width - 1)
		if (within < uint64(t.params.Window) || within >= last) && tick != asm.NoTick {
			return true
		}
	}
	return false
}
