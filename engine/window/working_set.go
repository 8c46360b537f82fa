package window

import (
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/engine/theory"
	"github.com/flowdedup/flowdedup/layout"
)

// windowSlices is how many slices a window is counted in. groupElements is how many
// elements are counted at a time, as if all came with the last one.
const (
	windowSlices  = 8
	groupElements = 32
)

// workingSet measures how many elements a window asks a filter to remember: those kept in
// the last eight slices, each an eighth of the window, and in the current one. For a
// steady stream it is too high by an eighth and two groups at most. A clock that jumps
// starts the count again; the peak stays.
type workingSet struct {
	length uint64 // of a slice, in ticks
	start  int64  // of the running slice
	kept   [windowSlices + 1]uint64
	slice  int    // the running slice's place in kept
	live   uint64 // sum of kept
	peak   uint64

	size  int    // of the group that has begun, whose first element came at first
	fresh uint64 // those of it that were kept
	first int64

	late      lateness
	eights    uint64 // of elements that were counted: snapshots have them so
	unsampled uint64 // elements kept that late has not seen: snapshots may have some

	// Growth waits for more live elements than limit. The end of the oldest arena waits
	// for the stream to be windows past since, or for until kept elements. overAt and
	// pastAt are the number of elements before that.
	limit  uint64
	overAt uint64 // 0 for not yet
	since  int64  // or NoTick
	until  uint64
	pastAt uint64 // 0 for not yet
}

// newWorkingSet returns the empty set of a window, in ticks, for a filter of so many
// lines.
func newWorkingSet(window int64, lines int) workingSet {
	return workingSet{
		length: max(1, (uint64(window)+windowSlices-1)/windowSlices), late: newLateness(window, lines),
		limit: math.MaxUint64, since: layout.NoTick,
	}
}

// setLimit waits for more live elements than limit.
func (m *workingSet) setLimit(most uint64) { m.limit, m.overAt = most, 0 }

// watch waits for the stream to be windows past since, or for until kept elements. With
// NoTick it waits for neither.
func (m *workingSet) watch(since int64, until uint64) { m.since, m.until, m.pastAt = since, until, 0 }

// observe counts the elements that seen does not mark as copies, and the late ones if
// there may be any. Groups continue from call to call, so that the sizes of calls do not
// matter.
func (m *workingSet) observe(seen []uint64, ticks []int64, late bool) {
	at := 0
	if m.size == 0 && !late {
		for ; at+groupElements <= len(ticks); at += groupElements {
			m.fresh = uint64(bits.OnesCount32(^uint32(seen[at/64] >> (at % 64))))
			m.add(m.fresh, ticks[at], ticks[at+groupElements-1])
		}
		m.fresh = 0
	}
	for at < len(ticks) {
		n := min(groupElements-m.size, 64-at%64, len(ticks)-at)
		if m.size == 0 {
			m.first = ticks[at]
		}
		kept := ^(seen[at/64] >> (at % 64)) & (1<<n - 1)
		if late {
			m.late.count(kept, ticks[at:at+n], m.counted()+uint64(m.size))
		}
		m.fresh += uint64(bits.OnesCount64(kept))
		m.size += n
		at += n
		if m.size == groupElements {
			m.add(m.fresh, m.first, ticks[at-1])
			m.size, m.fresh = 0, 0
		}
	}
}

// counted returns how many elements were counted, without those of the group that has begun.
func (m *workingSet) counted() uint64 { return 8 * m.eights }

// add counts a group of which so many elements were kept. late takes the last one as a sample.
func (m *workingSet) add(kept uint64, first, last int64) {
	m.eights += groupElements / 8
	m.late.sample(last, m.unsampled+kept)
	m.unsampled = 0
	if m.since != layout.NoTick && m.pastAt == 0 && (m.late.passed(m.since) || m.late.total >= m.until) {
		m.pastAt = m.counted()
	}
	if last == layout.NoTick {
		return // most of the group has no time, or few elements are left out
	}
	if last < m.start || uint64(last)-uint64(m.start) >= m.length {
		m.advance(last)
		// If a group takes longer than a window, not all of it is live at its end.
		window, span := windowSlices*m.length, uint64(last)-uint64(first)
		if last > first && span > window {
			high, low := bits.Mul64(kept, window)
			part, _ := bits.Div64(high, low, span)
			kept = min(kept, part+1)
		}
	}
	m.kept[m.slice] += kept
	m.live += kept
	if m.live > m.limit && m.overAt == 0 {
		m.overAt = m.counted()
	}
}

// advance makes the slice of t the current one. Elements that are late by less than a
// window count with the others, as they are remembered as long.
func (m *workingSet) advance(t int64) {
	if t < m.start && uint64(m.start)-uint64(t) < windowSlices*m.length {
		return
	}
	m.peak = max(m.peak, m.live+m.fresh)
	if t < m.start || uint64(t)-uint64(m.start) >= windowSlices*m.length {
		m.start = t
		clear(m.kept[:])
		m.live = 0
		return
	}
	for uint64(t)-uint64(m.start) >= m.length {
		m.start += int64(m.length)
		m.slice = (m.slice + 1) % len(m.kept)
		m.live -= m.kept[m.slice]
		m.kept[m.slice] = 0
	}
}

// memory returns how many bytes would have remembered a stream of so many inserted
// elements to the end of its windows, at its peak, in lines of so many cells.
func (m *workingSet) memory(inserted uint64, cells int) int {
	lines := float64(max(m.peak, m.live+m.fresh)) / spareLoad(inserted, cells)
	return int(min(math.Ceil(lines), math.MaxInt/2/layout.LineSize)) * layout.LineSize
}

// spareLoad returns how many live elements a line may have on average so that the
// inserted elements evict fewer than one live element. The load is at least 1/4, where
// one element in four million evicts one of six cells, and at most half of the cells.
//
// Digests spread evenly, so the load of a line is a Poisson variable. An element that
// finds all cells live evicts one. For six cells that has a probability of 2.7e-7 at a mean
// of 1/4, 1.4e-5 at 1/2, 5.9e-4 at 1, 4.5e-3 at 1.5 and 8.4e-2 at 3.
func spareLoad(inserted uint64, cells int) float64 {
	const least, step = 0.25, 1.0 / 16
	load := float64(cells) / 2
	for load > least && float64(inserted)*theory.PoissonTail(cells, load) > 1 {
		load -= step
	}
	return load
}
