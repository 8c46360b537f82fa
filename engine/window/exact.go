// SPDX-License-Identifier: Apache-2.0

package window

import (
	"math"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/layout"
)

// ExactConfig configures NewExact. The fields are as in TimedConfig.
type ExactConfig struct {
	Window  Window
	Refresh bool
	Across  bool
	// memory is the size of all elements, in bytes, at which it forgets old elements. 0
	// stands for layout.MemoryBudget.
	memory int
}

const (
	// pruneSpan is the number of stream positions for which an element is remembered at
	// least, whatever its time. Pruning samples twice as many.
	pruneSpan   = 1 << 16
	sampleEvery = 1 << 8
	samples     = 2 * pruneSpan / sampleEvery
)

// Exact is the packet filter that remembers whole digests: method exact, and the
// reference for Timed. Its memory follows the traffic.
//
// It holds the time and the point of the last element kept for each digest. An element is
// a copy if the kept element is at most the window away, before or after (windows of time),
// at most the window's number of positions back (windows of packets), or present at all
// (no window). With Across it must also have been seen at another point. A copy changes
// nothing; with Refresh the later of both times is kept. In a window of time, elements
// without a time are neither copies nor remembered.
//
// In windows of time nothing is forgotten while all fits into layout.MemoryBudget, so the
// filter is exact whatever the order of times. Beyond that, whenever the number of
// elements has doubled, it forgets elements that are unlikely to be copied any more. It
// samples the times of every 256th of the last 131,072 elements, and leaves out the
// earliest and the latest sixteenth. Elements more than two windows outside of these
// times, and more than 65,536 elements back, are forgotten. PacketStats counts elements
// whose times go back to before those. In windows of packets it forgets only elements
// that can no longer be copied. Without a window it forgets nothing.
type Exact struct {
	cfg      ExactConfig
	kept     exactTable
	position int64 // of the next element

	budget  int // the number of elements that fit into memory
	pruneAt int // number of elements that triggers pruning
	peak    int // the most memory of kept, in bytes
	late    lateness
	recent  [samples]int64
	sampled int // samples in total
}

// touchAhead is the number of elements whose homes are loaded ahead.
const touchAhead = 64

// NewExact makes an empty filter. Errors wrap engine.ErrConfig.
func NewExact(cfg ExactConfig) (*Exact, error) {
	if err := cfg.Window.check(); err != nil {
		return nil, err
	}
	if cfg.memory == 0 {
		cfg.memory = layout.MemoryBudget()
	}
	e := &Exact{cfg: cfg, budget: 4 * pruneSpan}
	for cfg.Window.Packets == 0 && exactBytes(2*e.budget, exactSlots(2*e.budget)) <= cfg.memory {
		e.budget *= 2
	}
	e.pruneAt = e.budget
	e.late = newLateness(e.windowSize())
	e.kept.makeIndex(leastIndex)
	return e, nil
}

// TestAndSet implements engine.PacketFilter.
func (e *Exact) TestAndSet(seen []uint64, d []digest.Digest, times []int64, points []uint32) {
	checkPacketArguments("Exact.TestAndSet", seen, d, times, points, e.cfg.Across)
	clear(seen[:(len(d)+63)/64])
	for i := range d {
		if i%touchAhead == 0 {
			e.kept.touch(d[i:min(i+touchAhead, len(d))])
		}
		time, position, point := times[i], e.position, uint32(0)
		if e.cfg.Across {
			point = points[i]
		}
		e.position++
		switch {
		case e.cfg.Window.Packets > 0:
			time = position
		case time == calendar.NoTime && !e.cfg.Window.None:
			continue
		}
		if e.testAndSetOne(&d[i], time, position, point) {
			seen[i/64] |= 1 << (i % 64)
		} else if e.late.bound != calendar.NoTime {
			e.late.count(1, times[i:i+1], uint64(position))
		}
	}
}

func (e *Exact) testAndSetOne(d *digest.Digest, time, position int64, point uint32) (isCopy bool) {
	if position%sampleEvery == 0 {
		e.recent[e.sampled%samples] = time
		if e.sampled++; e.sampled%samples == 0 {
			e.late.reached = max(e.late.reached, e.usualEnd())
		}
	}
	if e.kept.near(time) {
		e.takeBack()
	}
	if e.kept.full() {
		e.makeRoom()
	}
	k, added := e.kept.element(d)
	isCopy = !added && e.within(k.time, time) && !(e.cfg.Across && k.point == point)
	switch {
	case isCopy && !e.cfg.Refresh:
		return true
	case isCopy:
		time, point = max(k.time, time), k.point
	}
	k.time, k.position, k.point = time, uint32(position), point
	if added && e.kept.len >= e.pruneAt {
		e.prune()
	}
	return isCopy
}

// makeRoom makes room in the index for a further element.
func (e *Exact) makeRoom() {
	if e.cfg.Window.None || !e.kept.setAside(e.windowSize()) {
		e.kept.grow()
	}
	e.peak = max(e.peak, e.kept.bytes())
}

// takeBack enters the elements set aside in the index again.
func (e *Exact) takeBack() {
	e.kept.takeBack()
	e.peak = max(e.peak, e.kept.bytes())
}

// within reports whether two times are at most the window apart.
func (e *Exact) within(a, b int64) bool {
	if e.cfg.Window.None {
		return true
	}
	return uint64(max(a, b))-uint64(min(a, b)) <= uint64(e.windowSize())
}

// windowSize is the window's size, in nanoseconds or positions.
func (e *Exact) windowSize() int64 {
	return max(int64(e.cfg.Window.Duration), e.cfg.Window.Packets)
}

// prune forgets elements that are not likely to be copied any more.
func (e *Exact) prune() {
	e.peak = max(e.peak, e.kept.bytes())
	if e.kept.first > 0 {
		if e.takeBack(); e.kept.len < e.pruneAt {
			return
		}
	}
	switch {
	case e.cfg.Window.None:
	case e.cfg.Window.Packets > 0:
		e.kept.remove(func(k *exactElement) bool {
			return !e.within(k.time, e.position)
		})
	default:
		e.pruneTimes()
	}
	e.pruneAt = max(2*e.kept.len, e.budget)
}

// pruneTimes forgets elements by their times, and records up to which time: the time of
// the earliest usual element, or the latest time before time went back.
func (e *Exact) pruneTimes() {
	first, last := e.timesWorthKeeping()
	earlier, later := false, false
	e.kept.remove(func(k *exactElement) bool {
		if uint32(e.position)-k.position <= pruneSpan || k.time >= first && k.time <= last {
			return false
		}
		earlier, later = earlier || k.time < first, later || k.time > last
		return true
	})
	if earlier {
		low, _ := e.usualTimes()
		e.late.forget(e.late.before(low))
	}
	if later {
		e.late.forget(e.late.before(e.late.reached))
	}
}

// timesWorthKeeping returns the range of times that are kept: the usual times, and two
// windows more on both sides, without overflow.
func (e *Exact) timesWorthKeeping() (first, last int64) {
	first, last = e.usualTimes()
	for range 2 {
		first = max(first, math.MinInt64+e.windowSize()) - e.windowSize()
		last = min(last, math.MaxInt64-e.windowSize()) + e.windowSize()
	}
	return first, last
}

// usualTimes returns the range of the last elements' times, without the earliest and the
// latest sixteenth.
func (e *Exact) usualTimes() (first, last int64) {
	times := slices.Sorted(slices.Values(e.recent[:min(e.sampled, samples)]))
	if len(times) == 0 {
		return math.MinInt64, math.MaxInt64
	}
	outer := len(times) / 16
	return times[outer], times[len(times)-1-outer]
}

// usualEnd returns a time after the last elements whose clocks are right. If they are
// evenly spread, the sixteenth that usualTimes leaves out takes half as long as the added
// time.
func (e *Exact) usualEnd() int64 {
	first, last := e.usualTimes()
	return last + min(math.MaxInt64-max(last, 0), int64((uint64(last)-uint64(first))/8))
}

// Stats implements engine.PacketFilter. MemoryBytes is the most memory so far. Stats suggests
// no memory, as none can be configured.
func (e *Exact) Stats() engine.PacketStats {
	return engine.PacketStats{Method: "exact", MemoryBytes: max(e.peak, e.kept.bytes()), Late: e.late.stats(1, 1)}
}

// Close implements engine.PacketFilter.
func (e *Exact) Close() error {
	e.peak = max(e.peak, e.kept.bytes())
	e.kept = exactTable{}
	return nil
}
