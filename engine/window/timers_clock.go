// SPDX-License-Identifier: Apache-2.0

package window

import (
	"math"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// timersClock is the filter's position in its stream.
type timersClock struct {
	position uint64 // elements of the calls before
	started  bool
	began    uint64 // the tick at which the filter was empty last
	now      uint64 // the latest tick
	swept    uint64 // the tick of the last sweep
	peak     uint64 // timers that ran, the most at a sweep

	forgotten int64 // elements up to this time may be copies of forgotten elements
	late      lateElements
	held      [calendar.Quorum]heldElement
	waiting   int // elements in held
}

// heldElement is an element in quarantine.
type heldElement struct {
	digest digest.Digest
	time   int64
	isCopy bool // a copy of an element in quarantine
	late   bool // it was counted as late
}

// lateTimer is an element of a batch that is late if it is no copy.
type lateTimer struct {
	index int    // in the batch
	by    uint64 // nanoseconds
}

// startClock sets the clock up. A time is near within a window and a tick, before and
// after. An element further ahead finds no running timer. An element less far behind
// finds all its possible originals, or is late by a tick at least.
func (f *Timers) startClock(tick uint64) {
	near := time.Duration(min(f.window*tick, math.MaxInt64))
	f.clock = calendar.Clock{Ahead: near, Behind: near}
	f.forgotten = calendar.NoTime
}

// tickOf returns the tick of a time.
func (f *Timers) tickOf(t int64) uint64 { return f.tick.divide(uint64(t) ^ 1<<63) }

// leading moves the clock with the elements up to the first that needs observe, and
// counts them. It gives the batch their ticks, as far as there is room. The verdict of the
// first belongs to place at of seen.
func (f *Timers) leading(times []int64, at int) int {
	ticks := f.batch.ticks[f.batch.n:]
	ticks = ticks[:min(len(ticks), len(times))]
	switch {
	case !f.started || f.waiting > 0:
		return 0
	case f.config.Window.Packets > 0:
		return f.leadingPositions(ticks, f.position+uint64(at))
	}
	return f.leadingTimes(ticks, times)
}

// leadingPositions is leading for the positions of the latest tick.
func (f *Timers) leadingPositions(ticks []uint64, position uint64) int {
	past := position - f.now*f.tick.by
	n := int(min(f.tick.by-min(past, f.tick.by), uint64(len(ticks))))
	for i := range ticks[:n] {
		ticks[i] = f.now
	}
	return n
}

// leadingTimes is leading for times that are in order or in the latest tick, up to a
// sweep.
func (f *Timers) leadingTimes(ticks []uint64, times []int64) (n int) {
	latest, now, start := f.clock.Latest(), f.now, f.now*f.tick.by
	for ; n < len(ticks); n++ {
		t := times[n]
		u := uint64(t) ^ 1<<63
		if t <= f.forgotten {
			break
		}
		if u-start >= f.tick.by {
			if t < latest || uint64(t)-uint64(latest) > uint64(f.clock.Ahead) {
				break
			}
			tick := f.tick.divide(u)
			if tick-f.swept > f.sweepInterval {
				break
			}
			now, start = tick, tick*f.tick.by
		}
		latest = max(latest, t)
		ticks[n] = now
	}
	f.clock.Pass(latest)
	f.now = now
	return n
}

// observe takes an element of time t, whose verdict belongs to place at of seen.
func (f *Timers) observe(seen []uint64, d *digest.Digest, t int64, at int) {
	if f.config.Window.Packets > 0 {
		f.goTo(seen, f.tick.divide(f.position+uint64(at)))
		f.add(seen, d, at)
		return
	}
	if t == calendar.NoTime {
		return
	}
	isCopy := f.copiesHeld(d, t)
	if isCopy {
		seen[at/64] |= 1 << (at % 64)
	}
	latest := f.clock.Latest()
	verdict, dropped := f.clock.Observe(t)
	if dropped > 0 {
		f.dropHeld(t, at)
	}
	if verdict == calendar.Believed {
		f.goTo(seen, f.tickOf(t))
		if !isCopy {
			f.expectLate(t)
			f.add(seen, d, at)
		}
		return
	}
	f.hold(&heldElement{digest: *d, time: t, isCopy: isCopy}, latest, at)
	if verdict == calendar.Adopted {
		f.adopt(seen, latest, at)
	}
}

// add enqueues an element in the latest tick.
func (f *Timers) add(seen []uint64, d *digest.Digest, at int) {
	f.batch.ticks[f.batch.n] = f.now
	f.enqueue(seen, []digest.Digest{*d}, at)
}

// copiesHeld reports whether an element is a copy of an element in quarantine.
func (f *Timers) copiesHeld(d *digest.Digest, t int64) bool {
	for i := range f.held[:f.waiting] {
		h := &f.held[i]
		if h.digest == *d && calendar.Distance(h.time, t) <= uint64(f.config.Window.Duration) && (f.config.Refresh || !h.isCopy) {
			return true
		}
	}
	return false
}

// expectLate records that the batch's next element, which has been believed, is late if
// it is no copy. In the latest tick, all its possible originals have running timers.
// Nothing has run down before the first window after the filter was empty.
func (f *Timers) expectLate(t int64) {
	ranDown := f.tickOf(t) < f.now && f.now-f.began >= f.window
	if t <= f.forgotten || ranDown {
		b := &f.batch
		b.late = append(b.late, lateTimer{b.n, f.behind(t, f.clock.Latest())})
	}
}

// behind returns the distance of t behind the latest time, or behind the forgotten time.
func (f *Timers) behind(t, latest int64) uint64 { return uint64(max(latest, f.forgotten)) - uint64(t) }

// countLate counts the late elements of the batch. The kernel has set their verdicts.
func (f *Timers) countLate() {
	b := &f.batch
	for _, l := range b.late {
		if b.seen[l.index/64]>>(l.index%64)&1 == 0 {
			f.late.add(f.position+uint64(b.at[l.index])+1, l.by)
		}
	}
	b.late = b.late[:0]
}

// hold takes an element into quarantine. An element of the past counts as late unless it is a
// copy: it is not looked up.
func (f *Timers) hold(h *heldElement, latest int64, at int) {
	if !h.isCopy && (h.time < latest || h.time <= f.forgotten) {
		h.late = true
		f.late.add(f.position+uint64(at)+1, f.behind(h.time, latest))
	}
	f.held[f.waiting] = *h
	f.waiting++
}

// dropHeld forgets the quarantine, for an element of time t at place at.
func (f *Timers) dropHeld(t int64, at int) {
	for i := range f.held[:f.waiting] {
		f.drop(&f.held[i], t, at)
	}
	f.waiting = 0
}

// drop forgets an element that was in quarantine, because of an element of time t at
// place at. It counts as late in place of its first copy that is kept. If it has been
// counted, that copy will count.
func (f *Timers) drop(h *heldElement, t int64, at int) {
	switch {
	case h.isCopy:
	case h.late:
		f.forget(h.time)
	default:
		f.late.add(f.position+uint64(at)+1, calendar.Distance(h.time, t))
	}
}

// forget records that elements up to time t are forgotten.
func (f *Timers) forget(t int64) {
	f.forgotten = max(f.forgotten, min(t, math.MaxInt64-int64(f.config.Window.Duration))+int64(f.config.Window.Duration))
}

// adopt follows the clock, which was set from latest by the element at place at. The
// lines get the elements that were in quarantine and are near the new time.
func (f *Timers) adopt(seen []uint64, latest int64, at int) {
	f.flush(seen)
	held, set := f.held[:f.waiting], f.clock.Latest()
	f.waiting = 0
	first := set
	for i := range held {
		if f.clock.Near(held[i].time) {
			first = min(first, held[i].time)
		}
	}
	if set < latest {
		f.empty()
		f.forget(latest)
		f.startAt(f.tickOf(first))
	}
	f.goTo(seen, f.tickOf(first))
	var known [1]uint64 // verdicts, which were returned before
	for i := range held {
		f.enter(known[:], &held[i], at)
	}
	f.flush(known[:])
}

// enter gives the lines an element that was in quarantine, unless it is far from the new
// time. Timers of an element far behind it have run down.
func (f *Timers) enter(known []uint64, h *heldElement, at int) {
	latest := f.clock.Latest()
	switch {
	case f.clock.Near(h.time):
		f.clock.Pass(h.time)
		f.goTo(known, f.tickOf(h.time))
		if !h.isCopy || f.config.Refresh {
			f.add(known, &h.digest, 0)
		}
	case h.time > latest:
		f.drop(h, latest, at)
	}
}

// resumeClock sets the clock to its saved state. It reports false if no clock can have
// this state.
func (f *Timers) resumeClock(latest int64, votes int) bool {
	if f.waiting < 0 || f.waiting >= len(f.held) {
		return false
	}
	var times []int64
	for i := range f.held[:f.waiting] {
		times = append(times, f.held[i].time)
	}
	return f.clock.Resume(latest, times, votes)
}
