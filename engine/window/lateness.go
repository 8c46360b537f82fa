package window

import (
	"math"
	"time"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/layout"
)

const (
	// lateSegments is how many parts lateness divides as many kept elements into as a filter has
	// lines. When so many were kept after it, an element is forgotten with a probability of
	// 6e-4 (theory.PoissonTail), and more after more.
	lateSegments = 16
	// leastSegment is the shortest part.
	leastSegment = 64
	// lateElement is the memory for each element, in bytes, in which few are forgotten however
	// late the others are: two lines.
	lateElement = 2 * layout.LineSize
	// lateSample is how many elements one is looked at of.
	lateSample = 64
)

// lateness tells which elements come so late that what they could be copies of is
// forgotten: time went back, as it does where a file holds two captures one behind the other.
//
// It keeps the least time of each of the last parts of the stream. What was kept before
// them is forgotten up to the greatest of their least times: one clock that is wrong makes
// the least time of a part wrong at most in the direction that does no harm.
type lateness struct {
	window    int64
	length    uint64 // of a part, in kept elements
	least     [lateSegments]int64
	closed    int    // how many of them there are, the oldest first
	low       int64  // the least time of the running part, or MaxInt64
	kept      uint64 // in the running part
	total     uint64 // in all of them
	reached   int64  // the greatest of all parts' least times, or NoTick
	forgotten int64  // up to this time, or NoTick for nothing

	late  uint64
	first uint64 // the number of the first late element, from 1
	by    uint64 // how far it lay behind reached, in ticks
}

func newLateness(window int64, lines int) lateness {
	return lateness{
		window: window, length: max(leastSegment, uint64(lines)/lateSegments),
		low: math.MaxInt64, reached: layout.NoTick, forgotten: layout.NoTick,
	}
}

// sample enters the time of one element, and how many were kept since the last sample.
func (l *lateness) sample(tick int64, kept uint64) {
	l.kept += kept
	l.total += kept
	if tick != layout.NoTick {
		l.low = min(l.low, tick)
	}
	if l.kept < l.length || l.low == math.MaxInt64 {
		return
	}
	if l.closed == lateSegments {
		l.forget(l.least[0])
		l.closed = copy(l.least[:], l.least[1:])
	}
	l.least[l.closed] = l.low
	l.closed++
	l.reached = max(l.reached, l.low)
	l.low, l.kept = math.MaxInt64, 0
}

// forget enters that elements up to a time are forgotten.
func (l *lateness) forget(t int64) { l.forgotten = max(l.forgotten, t) }

// before returns the time before which all is more than the window before t.
func (l *lateness) before(t int64) int64 { return max(t, layout.NoTick+l.window) - l.window }

// grow makes parts longer by a factor, for as many more lines.
func (l *lateness) grow(factor int) {
	l.length *= uint64(factor)
	n := 0
	for from := 0; from < l.closed; from += factor {
		low := int64(math.MaxInt64)
		for _, t := range l.least[from:min(from+factor, l.closed)] {
			low = min(low, t)
		}
		l.least[n] = low
		n++
	}
	l.closed = n
}

// count counts the late ones of some elements, from number position on, of those that were
// kept.
func (l *lateness) count(kept uint64, ticks []int64, position uint64) {
	before := l.before(l.forgotten)
	for i, tick := range ticks {
		if tick >= before || tick == layout.NoTick || kept>>i&1 == 0 {
			continue
		}
		if l.late == 0 {
			l.first, l.by = position+uint64(i)+1, uint64(max(l.reached, l.forgotten))-uint64(tick)
		}
		l.late++
	}
}

// passed reports whether all of a part was later than a time by more than three windows.
func (l *lateness) passed(t int64) bool {
	return l.reached > t && (uint64(l.reached)-uint64(t))/3 > uint64(l.window)
}

// stats returns what was found of late elements, with ticks of so many nanoseconds. Enough
// memory is what gives each element that was kept so many bytes.
func (l *lateness) stats(tick uint64, element int) engine.LateStats {
	if l.late == 0 {
		return engine.LateStats{}
	}
	return engine.LateStats{
		Elements: l.late, First: l.first, By: time.Duration(min(l.by, math.MaxInt64/tick) * tick),
		SuggestedMemory: int(min(l.total, uint64(math.MaxInt/element))) * element,
	}
}
