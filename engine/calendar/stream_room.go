// SPDX-License-Identifier: Apache-2.0

package calendar

import "cmp"

// Which window makes room for another, where too many are open.
const (
	// shelteredWindows is the number of windows, those with the most packets, that do not
	// make room for others while stamps jump. A burst of wrong stamps, each in another
	// window, must not close the window that all good packets belong to.
	shelteredWindows = 8
	// maxStepsBack is how often the order of last packets may differ from the order of
	// windows in a stream that goes on in time: at stragglers, and from one clock to
	// another.
	maxStepsBack = 8
)

// leastNeeded returns the index of the window that makes room for another.
func (s *Stream[T]) leastNeeded() int {
	if newest := s.newestInUse(); s.goesOn(newest) {
		return longestSilent(s.open[:newest])
	}
	return s.unsheltered()
}

// newestInUse returns the index of the newest window that had a packet after half of the
// others had their last one. Windows behind it are of wrong stamps.
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
// order of time. So many wrong stamps are in random order, and step back every second
// time: they pass for a stream that goes on once in 10^15 cases.
func (s *Stream[T]) goesOn(newest int) bool {
	back := 0
	for i := range newest {
		if s.open[i].touched > s.open[i+1].touched {
			back++
		}
	}
	return newest >= maxOpenWindows/4*3 && back <= maxStepsBack
}

func longestSilent[T any](open []openWindow[T]) (least int) {
	for i := range open {
		if open[i].touched < open[least].touched {
			least = i
		}
	}
	return least
}

// unsheltered returns the index of the window that has been without a packet for longest
// of those that are not sheltered.
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

// EvictOldest closes the window that has been without a packet for longest, except the
// window of the last packet. It reports whether there was one. Callers that watch their
// memory call it between runs.
func (s *Stream[T]) EvictOldest() bool {
	oldest := -1
	for i := range s.open {
		if i != s.current && (oldest < 0 || s.open[i].touched < s.open[oldest].touched) {
			oldest = i
		}
	}
	if oldest < 0 {
		return false
	}
	s.close(oldest)
	return true
}
