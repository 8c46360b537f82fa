package paper

import "math"

// maxTimers bounds an array of timers, which takes eight bytes for each however
// few bits the method accounts for.
const maxTimers = maxBits / 64

// timers is an array of timers that are set to at most window and lose one in each
// time unit until they are zero. A timer is held as the unit in which it reaches
// zero, so that time costs nothing for those that are left alone; what can be
// observed is the same.
type timers struct {
	zeroAt  []uint64
	window  uint64
	now     uint64
	running int            // timers that are not zero
	due     map[uint64]int // how many of them reach zero in a unit; at most len(zeroAt) entries
}

// newTimers returns count timers that are zero.
func newTimers(count, window int) timers {
	return timers{zeroAt: make([]uint64, count), window: uint64(window), due: make(map[uint64]int)}
}

// advance makes unit the present, unless it is past. The last unit is 2^64-1 less the
// window; later ones are taken as that.
func (t *timers) advance(unit uint64) {
	unit = min(unit, math.MaxUint64-t.window)
	if unit <= t.now {
		return
	}
	if unit-t.now <= uint64(len(t.due)) {
		for t.now < unit {
			t.now++
			t.expire(t.now)
		}
		return
	}
	t.now = unit
	for zeroAt := range t.due {
		if zeroAt <= unit {
			t.expire(zeroAt)
		}
	}
}

func (t *timers) expire(unit uint64) {
	t.running -= t.due[unit]
	delete(t.due, unit)
}

// isZero reports whether timer i has reached zero.
func (t *timers) isZero(i uint64) bool { return t.zeroAt[i] <= t.now }

// set sets timer i as an event of the given unit does: to the window less the units
// that have passed since, unless it would reach zero later anyway.
func (t *timers) set(i, unit uint64) {
	zeroAt := min(unit, t.now) + t.window
	if zeroAt <= t.now || zeroAt <= t.zeroAt[i] {
		return
	}
	if t.isZero(i) {
		t.running++
	} else if t.due[t.zeroAt[i]]--; t.due[t.zeroAt[i]] == 0 {
		delete(t.due, t.zeroAt[i])
	}
	t.zeroAt[i] = zeroAt
	t.due[zeroAt]++
}
