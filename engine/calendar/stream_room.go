// SPDX-License-Identifier: Apache-2.0

package calendar

import "cmp"

// Which window makes room for another, where too many are open.
const (
	// shelteredWindows is the number of windows, by most packets, that do not
	// make room for others while stamps jump. A burst of wrong stamps, each in another
	// window, must not close the window that all good packets belong to.
	shelteredWindows = 8
	// maxStepsBack is how often the order of last packets may differ from the order of
	// windows in a stream that goes on in time: at stragglers, and from one clock to
	// another.
	maxStepsBack = 8
	// sparsest is how many windows may lie between the first and the last open window, for each
	// open window, in a stream that goes on in time although its packets are out of order.
	sparsest = 16
	// inUsePart is how many times longer than a window in use an idle window is silent.
	inUsePart = 16
)

// waits reports whether the window before window i is open, and so near that the packets of
// a capture point may still have to pass through both. A window further back belongs to a
// wrong clock.
func (s *Stream[T]) waits(i int) bool {
	return i > 0 && s.near(maxOpenWindows, i-1, i)
}

// near reports whether the first of two open windows begins less than n lengths of the
// second window before it.
func (s *Stream[T]) near(n uint64, first, second int) bool {
	o := &s.open[second]
	return Distance(s.open[first].start, o.start)/n < Distance(o.start, o.end)
}

// leastNeeded returns the index of the window that makes room for another.
func (s *Stream[T]) leastNeeded() int {
	if newest := s.newestInUse(); s.goesOn(newest) {
		if first := s.firstSilent(newest); !s.jumpsAfter(first) {
			return first
		}
	}
	return s.unsheltered()
}

// jumpsAfter reports whether the next window lies far from window i, and all later ones together
// have fewer packets than it. Their stamps may be a run of wrong stamps that ascend. Of a stream that
// goes on after a pause, more packets come.
func (s *Stream[T]) jumpsAfter(i int) bool {
	later := int64(0)
	for j := i + 1; j < len(s.open); j++ {
		later += s.open[j].packets
	}
	return later < s.open[i].packets && !s.near(sparsest*maxOpenWindows, i, i+1)
}

// newestInUse returns the index of the newest window that had a packet after half of the
// other windows had their last packet. Windows behind it are of wrong stamps.
func (s *Stream[T]) newestInUse() int {
	newest := len(s.open) - 1
	for ; newest > 0; newest-- {
		before := 0
		for i := range s.open {
			if s.open[i].touched < s.open[newest].touched {
				before++
			}
		}
		if before >= len(s.open)/2 {
			break
		}
	}
	return newest
}

// goesOn reports whether the stream goes on in time: whether the windows up to the newest
// in use are at least three quarters of all, and nearly all had their last packet in the
// order of time, or all lie near each other, where packets may come in any order. Wrong
// stamps are in random order and step back every second time. Unless they lie near each other,
// they pass for a stream that goes on in 1 of 10^15 cases.
func (s *Stream[T]) goesOn(newest int) bool {
	back := 0
	for i := range newest {
		if s.open[i].touched > s.open[i+1].touched {
			back++
		}
	}
	return newest >= maxOpenWindows/4*3 && (back <= maxStepsBack || s.near(sparsest*maxOpenWindows, 0, newest))
}

// firstSilent returns the index of the first of the first n open windows that is not in
// use, or -1. A window in use was silent for less than a sixteenth of the longest silence.
// The window of the last packet is in use. So windows close in the order of time where
// packets come from two capture points, one behind the other.
func (s *Stream[T]) firstSilent(n int) int {
	longest := int64(0)
	for i := range n {
		if i != s.current {
			longest = max(longest, s.packets-s.open[i].touched)
		}
	}
	for i := range n {
		if i != s.current && (s.packets-s.open[i].touched)*inUsePart >= longest {
			return i
		}
	}
	return -1
}

// unsheltered returns the index of the unsheltered window that has been without a packet for
// longest.
func (s *Stream[T]) unsheltered() int {
	least := -1
	for i := range s.open {
		if (least < 0 || s.open[i].touched < s.open[least].touched) && !s.sheltered(i) {
			least = i
		}
	}
	return least
}

// sheltered reports whether open window i is one of the shelteredWindows with the most
// packets. Of windows with as many packets, the latest are.
func (s *Stream[T]) sheltered(i int) bool {
	before := 0
	for j := range s.open {
		a, b := &s.open[j], &s.open[i]
		if cmp.Or(cmp.Compare(b.packets, a.packets), cmp.Compare(b.touched, a.touched), cmp.Compare(j, i)) < 0 {
			before++
		}
	}
	return before < shelteredWindows
}

// EvictOldest closes the first window that is not in use. It reports whether there was
// such a window. Callers that watch their memory call it between runs.
func (s *Stream[T]) EvictOldest() bool {
	oldest := s.firstSilent(len(s.open))
	if oldest >= 0 {
		s.evicted.add(s.open[oldest].start, s.open[oldest].end)
		s.close(oldest)
	}
	return oldest >= 0
}
