package window

import (
	"math"
	"time"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/layout"
)

const (
	// lateSegments is how many parts lateness looks back on. Together they have as many
	// kept elements as the filter has lines. An element is forgotten after so many with a
	// probability of 6e-4 (theory.PoissonTail), which rises from there.
	lateSegments = 16
	// leastSegment is the shortest part.
	leastSegment = 64
	// lateElement is the memory for each element, in bytes, that forgets few however late
	// others are: two lines.
	lateElement = 2 * layout.LineSize
)

// lateness tells which elements come so late that their originals may be forgotten. Time
// goes back so where a file holds two captures one behind the other.
//
// It keeps the least time of each of the last parts of the stream. Elements up to the
// greatest least time of the parts before them count as forgotten. One wrong clock can
// only make the least time of a part too low, which does no harm.
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
	atOnce    bool   // all before the latest part is forgotten

	lateElements
}

// lateElements counts those that come late.
type lateElements struct {
	late  uint64
	first uint64 // the number of the first late element, from 1
	by    uint64 // how far it lay behind those before it, in ticks
}

// add counts the element with a number. Numbers need not rise.
func (l *lateElements) add(number, by uint64) {
	if l.late == 0 || number < l.first {
		l.first, l.by = number, by
	}
	l.late++
}

// stats describes the late elements, for ticks of so many nanoseconds.
func (l *lateElements) stats(tick uint64) engine.LateStats {
	return engine.LateStats{
		Elements: l.late, First: l.first, By: time.Duration(min(l.by, math.MaxInt64/tick) * tick),
	}
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
	if l.atOnce {
		l.forget(l.reached)
	}
	l.low, l.kept = math.MaxInt64, 0
}

// forget notes that elements up to a time are forgotten.
func (l *lateness) forget(t int64) { l.forgotten = max(l.forgotten, t) }

// before returns t minus the window, without overflow.
func (l *lateness) before(t int64) int64 { return max(t, layout.NoTick+l.window) - l.window }

// grow makes parts longer by the factor by which the lines became more.
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

// mayBeLate reports whether a tick lies more than a window before the latest one, of these
// or of parts before them. So no late element is left out where all before the latest part
// is forgotten.
func (l *lateness) mayBeLate(ticks []int64) bool {
	latest, least := l.reached, int64(math.MaxInt64)
	for _, tick := range ticks {
		latest, least = max(latest, tick), min(least, tick)
	}
	return least < l.before(latest)
}

// count counts the late ones among kept elements. The first element has number position.
func (l *lateness) count(kept uint64, ticks []int64, position uint64) {
	before := l.before(l.forgotten)
	for i, tick := range ticks {
		if tick >= before || tick == layout.NoTick || kept>>i&1 == 0 {
			continue
		}
		l.add(position+uint64(i)+1, uint64(max(l.reached, l.forgotten))-uint64(tick))
	}
}

// passed reports whether a whole part was later than t by more than three windows.
func (l *lateness) passed(t int64) bool {
	return l.reached > t && (uint64(l.reached)-uint64(t))/3 > uint64(l.window)
}

// stats describes the late elements, for ticks of so many nanoseconds. It suggests so
// many bytes for each kept element.
func (l *lateness) stats(tick uint64, element int) engine.LateStats {
	s := l.lateElements.stats(tick)
	if l.late > 0 {
		s.SuggestedMemory = int(min(l.total, uint64(math.MaxInt/element))) * element
	}
	return s
}
