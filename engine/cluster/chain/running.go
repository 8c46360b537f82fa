// SPDX-License-Identifier: Apache-2.0

package chain

// running counts the timers of a filter that have not reached zero at present: a filter that
// grows by density is full by their number, and a filter without any is discarded. Timers are given
// by the unit in which they reach zero, which lies within a window after the present.
type running struct {
	count uint64
	now   uint64
	due   []uint64 // how many reach zero in a unit, by that unit modulo the window
}

func newRunning(window, now uint64) *running { return &running{now: now, due: make([]uint64, window)} }

// advance makes a unit the present, unless that is past. It takes O(1) for each unit that passes,
// for a window of them at most.
func (r *running) advance(unit uint64) {
	if unit <= r.now {
		return
	}
	if unit-r.now >= uint64(len(r.due)) {
		clear(r.due)
		r.count, r.now = 0, unit
		return
	}
	for r.now < unit {
		r.now++
		at := r.now % uint64(len(r.due))
		r.count -= r.due[at]
		r.due[at] = 0
	}
}

// move counts a timer that is set from one unit to a later unit. It reports false if that is past:
// then the timer stays as it is.
func (r *running) move(from, to uint64) bool {
	if to <= r.now {
		return false
	}
	window := uint64(len(r.due))
	if from > r.now {
		r.due[from%window]--
	} else {
		r.count++
	}
	r.due[to%window]++
	return true
}
