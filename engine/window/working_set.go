// SPDX-License-Identifier: Apache-2.0

package window

import (
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/engine/theory"
	"github.com/flowdedup/flowdedup/layout"
)

// windowSlices is the number of slices that a window is counted in. groupElements is the
// number of elements that are counted at a time, as if all came at the time of the clock
// then.
const (
	windowSlices  = 8
	groupElements = 32
)

// mostAhead bounds the factor by which an extrapolated need exceeds the live elements:
// few elements in a burst say little about a window.
const mostAhead = 16

// workingSet measures how many elements a filter must remember for a window: the elements
// kept in the last eight slices, each an eighth of the window, and in the current slice.
// Its clock takes the last element of each group as a sample. If the clock jumps, the
// count starts again; the peak stays.
type workingSet struct {
	clock  medianClock
	length uint64 // of a slice, in ticks
	start  int64  // of the running slice
	kept   [windowSlices + 1]uint64
	slice  int    // the running slice's place in kept
	live   uint64 // sum of kept
	peak   uint64

	// since is the number of elements kept since began. began is the first sample, or the
	// first sample after the clock jumped or the filter grew.
	began int64
	since uint64

	size    int    // of the group that has begun
	fresh   uint64 // kept elements of the group
	counted uint64 // elements counted, without the group

	late    lateness
	horizon horizon // of Timed
}

// newWorkingSet returns the empty set of a window, in ticks, for a filter whose horizon
// has the given number of lines, or none with 0.
func newWorkingSet(window int64, lines int) workingSet {
	return workingSet{
		clock:  medianClock{now: layout.NoTick},
		length: max(1, (uint64(window)+windowSlices-1)/windowSlices),
		began:  layout.NoTick,
		late:   newLateness(window), horizon: horizon{lines: uint64(lines)},
	}
}

// observe counts the elements that seen does not mark as copies and, if there may be any,
// the late elements. Groups continue from call to call, so the sizes of calls do not
// matter.
func (m *workingSet) observe(seen []uint64, ticks []int64, late bool) {
	at := 0
	if m.size == 0 && !late {
		for ; at+groupElements <= len(ticks); at += groupElements {
			m.add(uint64(bits.OnesCount32(^uint32(seen[at/64]>>(at%64)))), ticks[at+groupElements-1])
		}
	}
	for at < len(ticks) {
		n := min(groupElements-m.size, 64-at%64, len(ticks)-at)
		kept := ^(seen[at/64] >> (at % 64)) & (1<<n - 1)
		if late {
			m.late.count(kept, ticks[at:at+n], m.counted+uint64(m.size))
		}
		m.fresh += uint64(bits.OnesCount64(kept))
		m.size += n
		at += n
		if m.size == groupElements {
			group := m.fresh
			m.size, m.fresh = 0, 0
			m.add(group, ticks[at-1])
		}
	}
}

// add counts a group of which kept elements were kept, and takes the last element as a
// sample.
func (m *workingSet) add(kept uint64, last int64) {
	m.counted += groupElements
	m.late.total += kept
	if m.horizon.lines == 0 {
		m.late.sample(last, kept)
	}
	if last == layout.NoTick {
		return // most of the group has no time, or few elements are left out
	}
	before, samples := m.clock.now, m.clock.count
	m.clock.sample(last)
	now := m.clock.now
	live := kept
	if now < m.start || uint64(now)-uint64(m.start) >= m.length || before == layout.NoTick {
		m.advance(now)
		live = m.inWindow(kept, before, now)
	}
	m.kept[m.slice] += live
	m.live += live
	if m.since += kept; samples == clockSamples-1 {
		m.begin(now) // from now on the clock lags as much as at the end
	}
	if m.horizon.lines > 0 {
		m.horizon.add(kept, now)
	}
}

// inWindow returns how many of the elements that were kept between two times are live at
// the second: not all of them if the times are further apart than a window.
func (m *workingSet) inWindow(kept uint64, before, now int64) uint64 {
	window, span := windowSlices*m.length, uint64(now)-uint64(before)
	if before == layout.NoTick || now <= before || span <= window {
		return kept
	}
	high, low := bits.Mul64(kept, window)
	part, _ := bits.Div64(high, low, span)
	return min(kept, part+1)
}

// advance makes the slice of t current. Elements that are late by less than a
// window count with the others, as they are remembered as long.
func (m *workingSet) advance(t int64) {
	window := windowSlices * m.length
	if m.began != layout.NoTick && t < m.start && uint64(m.start)-uint64(t) < window {
		return
	}
	m.peak = max(m.peak, m.inSet(t))
	if m.began == layout.NoTick || t < m.start || uint64(t)-uint64(m.start) >= window {
		m.start = t
		clear(m.kept[:])
		m.live = 0
		m.begin(t)
		return
	}
	for uint64(t)-uint64(m.start) >= m.length {
		m.start += int64(m.length)
		m.slice = (m.slice + 1) % len(m.kept)
		m.live -= m.kept[m.slice]
		m.kept[m.slice] = 0
	}
}

// begin measures the need anew from t on.
func (m *workingSet) begin(t int64) { m.began, m.since = t, 0 }

// inSet returns how many elements the window has at t, which is in the running slice or
// after it. It counts the part of the earliest slice that has not left the window.
func (m *workingSet) inSet(t int64) uint64 {
	if m.began == layout.NoTick || t < m.start {
		return m.live + m.fresh
	}
	gone := min(uint64(t)-uint64(m.start), m.length)
	high, low := bits.Mul64(m.kept[(m.slice+1)%len(m.kept)], gone)
	part, _ := bits.Div64(high, low, m.length)
	return m.live - part + m.fresh
}

// current returns how many elements the window has.
func (m *workingSet) current() uint64 { return m.inSet(m.clock.now) }

// need returns how many elements a whole window will have at the rate since begin, and at
// most mostAhead times its present number.
func (m *workingSet) need() uint64 {
	live, window, now := m.current(), windowSlices*m.length, m.clock.now
	if m.began == layout.NoTick || now < m.began || uint64(now)-uint64(m.began) >= window {
		return live
	}
	span := max(1, float64(uint64(now)-uint64(m.began)))
	return max(live, uint64(min(float64(m.since)*float64(window)/span, float64(live)*mostAhead)))
}

// highest returns the largest number of elements that a window had.
func (m *workingSet) highest() uint64 { return max(m.peak, m.current()) }

// memory returns the memory, in bytes, that would have sufficed for a stream of the given
// number of inserted elements to the end of its windows, at its peak, in lines of the
// given number of cells.
func (m *workingSet) memory(inserted uint64, cells int) int {
	return linesOfSize(float64(m.highest()) / spareLoad(inserted, cells))
}

// linesOfSize returns the size in bytes of the given number of lines, rounded up.
func linesOfSize(lines float64) int {
	return int(min(math.Ceil(lines), math.MaxInt/2/layout.LineSize)) * layout.LineSize
}

// spareLoad returns how many live elements a line may have on average so that the
// inserted elements evict fewer than one live element. The load is at least 1/4, at which
// one element in four million evicts one of six cells, and at most half of the cells.
//
// Digests spread evenly, so the load of a line is a Poisson variable. An element that
// finds all cells live evicts a live element. For six cells that has a probability of 2.7e-7 at a mean
// of 1/4, 1.4e-5 at 1/2, 5.9e-4 at 1, 4.5e-3 at 1.5 and 8.4e-2 at 3.
func spareLoad(inserted uint64, cells int) float64 {
	const least, step = 0.25, 1.0 / 16
	load := float64(cells) / 2
	for load > least && float64(inserted)*theory.PoissonTail(cells, load) > 1 {
		load -= step
	}
	return load
}

// resume takes over saved state. It reports false if no working set can have this state.
func (m *workingSet) resume(saved *workingSet) bool {
	if saved.length != m.length || saved.slice < 0 || saved.slice > windowSlices || saved.size < 0 || saved.size >= groupElements ||
		!saved.clock.resume() || !saved.horizon.resume() {
		return false
	}
	sum := uint64(0)
	for _, n := range saved.kept {
		sum += n
	}
	if sum != saved.live {
		return false
	}
	saved.late.window, saved.horizon.lines = m.late.window, m.horizon.lines
	*m = *saved
	return true
}
