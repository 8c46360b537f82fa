// SPDX-License-Identifier: Apache-2.0

package window

import (
	"math"
	"time"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/layout"
)

const (
	// latePart is the number of kept elements in a part of the stream.
	latePart = 64
	// lateElement is the memory for each element, in bytes, that suffices to forget none
	// however late others are: two lines.
	lateElement = 2 * layout.LineSize
)

// lateness counts the kept elements that come so late that their originals may be
// forgotten. Time goes back in this way where a file holds two captures in sequence.
//
// For filters that forget by the latest time it finds this time: the greatest of the
// least times of all parts of the stream. One wrong clock can only make the least time of
// a part too low, which does no harm. Other filters set reached and bound themselves.
type lateness struct {
	window  int64
	low     int64  // the least time of the running part, or MaxInt64
	kept    uint64 // in the running part
	total   uint64 // elements that were kept
	reached int64  // the time that the stream has reached, or NoTick
	latest  int64  // the latest time that the clock believed, or NoTick
	bound   int64  // elements before it are late, or NoTick for none

	lateElements
}

// lateElements counts late elements.
type lateElements struct {
	late  uint64
	first uint64 // the number of the first late element, from 1
	by    uint64 // its distance behind the elements before it, in ticks
}

// add counts the element with a number. Numbers need not rise.
func (l *lateElements) add(number, by uint64) {
	if l.late == 0 || number < l.first {
		l.first, l.by = number, by
	}
	l.late++
}

// stats describes the late elements, for ticks of the given length in nanoseconds.
func (l *lateElements) stats(tick uint64) engine.LateStats {
	return engine.LateStats{
		Elements: l.late, First: l.first, By: time.Duration(min(l.by, math.MaxInt64/tick) * tick),
	}
}

func newLateness(window int64) lateness {
	return lateness{window: window, low: math.MaxInt64, reached: layout.NoTick, latest: layout.NoTick, bound: layout.NoTick}
}

// sample enters the time of one element, and the number of elements kept since the last
// sample. Elements more than a window before the latest part are late from then on.
func (l *lateness) sample(tick int64, kept uint64) {
	l.kept += kept
	if tick != layout.NoTick {
		l.low = min(l.low, tick)
	}
	if l.kept < latePart || l.low == math.MaxInt64 {
		return
	}
	l.reached = max(l.reached, l.low)
	l.forget(l.before(l.reached))
	l.low, l.kept = math.MaxInt64, 0
}

// forget makes elements before a time late.
func (l *lateness) forget(bound int64) { l.bound = max(l.bound, bound) }

// before returns t minus the window, without overflow.
func (l *lateness) before(t int64) int64 { return earlier(t, l.window) }

// mayBeLate reports whether a tick lies more than a window before the latest tick of
// these, or of the parts before. So it misses no late element where everything before the
// latest part is forgotten.
func (l *lateness) mayBeLate(ticks []int64) bool {
	latest, least := l.reached, int64(math.MaxInt64)
	for _, tick := range ticks {
		latest, least = max(latest, tick), min(least, tick)
	}
	return least < l.before(latest)
}

// count counts the late elements among the kept elements. The first element has number position.
func (l *lateness) count(kept uint64, ticks []int64, position uint64) {
	for i, tick := range ticks {
		if tick >= l.bound || tick == layout.NoTick || kept>>i&1 == 0 {
			continue
		}
		l.add(position+uint64(i)+1, l.behind(tick))
	}
}

// behind returns the distance of a tick behind the stream.
func (l *lateness) behind(tick int64) uint64 {
	reached := l.reached
	if reached == layout.NoTick {
		reached = l.bound
	}
	return uint64(max(reached, tick)) - uint64(tick)
}

// stats describes the late elements, for ticks of the given length in nanoseconds. It
// suggests element bytes for each kept element.
func (l *lateness) stats(tick uint64, element int) engine.LateStats {
	s := l.lateElements.stats(tick)
	if l.late > 0 {
		s.SuggestedMemory = int(min(l.total, uint64(math.MaxInt/element))) * element
	}
	return s
}
