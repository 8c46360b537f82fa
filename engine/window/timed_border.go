package window

import "github.com/flowdedup/flowdedup/layout"

// unusual reports whether one of ticks is none, lies within the window of a border or in
// another era than the first, or may be late. It may report that of others too. What is
// forgotten at the end of a piece was reached when it began, since a piece has no more elements
// than lines.
func (t *Timed) unusual(ticks []int64) bool {
	era := int64(1) << (t.params.TickBits - 1)
	start := ticks[0] - (ticks[0]-t.params.Origin)&(era-1)
	low, high := t.params.Window, era-1-t.params.Window
	if late := t.workingSet.late.before(t.workingSet.late.reached); late > start {
		low = max(low, int64(min(uint64(late)-uint64(start), uint64(era))))
	}
	if low > high {
		return true
	}
	return anyOutside(ticks, start+low, high-low)
}

// anyOutside reports whether one of ticks is not between first and first + span: then that
// is less than what lies between, or the other way round, and has the top bit.
func anyOutside(ticks []int64, first, span int64) bool {
	outside := int64(0)
	for ; len(ticks) >= 4; ticks = ticks[4:] {
		a, b, c, d := ticks[0]-first, ticks[1]-first, ticks[2]-first, ticks[3]-first
		outside |= (a | (span - a)) | (b | (span - b)) | ((c | (span - c)) | (d | (span - d)))
	}
	for _, tick := range ticks {
		a := tick - first
		outside |= a | (span - a)
	}
	return outside < 0
}

// nearBorder reports whether one of ticks lies within the window of a border.
func (t *Timed) nearBorder(ticks []int64) bool {
	width := t.params.TickBits - 1
	last := uint64(1)<<width - uint64(t.params.Window)
	for _, tick := range ticks {
		within := (uint64(tick) - uint64(t.params.Origin)) & (1<<width - 1)
		if (within < uint64(t.params.Window) || within >= last) && tick != layout.NoTick {
			return true
		}
	}
	return false
}
