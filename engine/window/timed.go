// SPDX-License-Identifier: Apache-2.0

package window

import (
	"fmt"
	"math"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/layout"
)

// TimedConfig configures NewTimed.
type TimedConfig struct {
	Window Window
	// Memory is the filter's memory, in bytes, rounded down to whole lines of 64. 0
	// stands for DefaultTimedMemory of the window, with math.MaxInt as Limit.
	Memory int
	// Limit is the size, in bytes, that the filter may grow to where the traffic needs
	// more than Memory. A filter whose Limit is not above its Memory, or without a
	// window, does not grow. math.MaxInt stands for layout.MemoryBudget when the filter
	// first would grow.
	Limit int
	// FPR bounds the probability that an element without a twin is taken for a copy; 0
	// stands for engine.DefaultFPR. Where the usual 40 bits of fingerprint (36 with
	// Across) are not enough, the time gives up bits.
	FPR float64
	// Refresh makes a copy renew the memory of its original. So the window slides: a
	// repeat that comes often enough is never let through again.
	Refresh bool
	// Across restricts copies to elements seen at another point.
	Across bool
}

const (
	fpBits       = 40 // bits of a cell, at least
	fpBitsAcross = 36 // the same where a cell holds a point too
	pointBits    = 7  // two of more than 127 points may look alike
	// minTickBits keeps eras 9 minutes long, at the usual window.
	minTickBits = 40
)

// Timed is the packet filter of bounded memory: rows of fingerprints with the times at
// which they were kept. All that an element touches is in one line of 64 bytes (see
// line.TestAndSetTimed). It gives the answers of Exact, with these differences:
//
//   - A line holds 6 elements. An element that a seventh pushes out while it may have
//     copies goes to a spare line, which twelve lines share. If that is full, too, its
//     oldest element is evicted: PacketStats counts evicted elements that were within
//     their window. Copies of such an element are let through; no other element is
//     removed for it. A filter that may grow does so when a line has 2.4 live elements on
//     average, which evicts one in 50,000. Then it takes 29 to 36 bytes for each element
//     of a window.
//   - Elements older than the window are forgotten sooner or later. Elements that come
//     late find their originals if they are late by an eighth of the window, and by far
//     more where lines are not full. PacketStats counts elements that came later.
//   - Two elements with the same line and fingerprint are taken for equal. So an element
//     without a twin is taken for a copy with a probability of at most 12 * 2^-40 =
//     1.1e-11, or 12 * 2^-36 = 1.7e-10 with Across. Without a window there are no spare
//     lines, and it is half of that.
//   - Time runs in ticks of a millionth of the window, from 1 to 256 ns, or up to twice
//     that if only that divides the window. Windows up to 1 ms and windows of packets are
//     exact. Longer windows may be up to one tick too long if they are a whole number of
//     ticks, as users' windows usually are, and else up to two. They are never too short.
//     Times that are multiples of a longer unit, such as the microseconds of most files,
//     are compared exactly.
//
// Elements may come in any order, and wrong times do other elements no harm. In a window
// of time, elements without a time are neither copies nor remembered. In a window of
// packets and without a window (None) they are elements like all others. Without a window
// the filter remembers all elements that fit, and evicts the least recently seen.
type Timed struct {
	rowFilter[line.TimedRows]
	params  line.TimedParams
	counts  line.TimedCounts
	started bool      // params.Origin is set
	copying timedCopy // copy of the rows
}

// NewTimed makes an empty filter. Errors wrap engine.ErrConfig, or come from
// layout.NewArena.
func NewTimed(cfg TimedConfig) (*Timed, error) {
	if err := cfg.Window.check(); err != nil {
		return nil, err
	}
	params, err := cellShape(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Memory == 0 {
		cfg.Limit = math.MaxInt
		cfg.Memory = DefaultTimedMemory(cfg.Window, 0)
	}
	tick, window := int64(1), int64(1)
	if !cfg.Window.None {
		tick, window = ticksOf(cfg.Window, params.TickBits)
	}
	params.Window = window
	t := &Timed{params: params}
	if err := t.make(cfg.Window, tick, cfg.Memory, cfg.Limit); err != nil {
		return nil, err
	}
	t.workingSet = newWorkingSet(window, t.rows.lines)
	return t, nil
}

// ticksOf returns the length of a tick, in the window's unit, and the window in ticks.
func ticksOf(w Window, tickBits uint) (tick, window int64) {
	if w.Packets > 0 {
		return tickLength(w.Packets, tickBits, 1)
	}
	size := int64(w.Duration)
	return tickLength(size, tickBits, leastTick(size))
}

// cellShape divides the bits of a cell so that the filter keeps its false positive rate.
// Without a window a copy always moves to the front: this changes no verdict, and
// elements that are seen again stay.
func cellShape(cfg TimedConfig) (line.TimedParams, error) {
	p := line.TimedParams{FPBits: fpBits, Refresh: cfg.Refresh || cfg.Window.None, Across: cfg.Across}
	if cfg.Across {
		p.FPBits, p.PointBits = fpBitsAcross, pointBits
	}
	bound := cfg.FPR
	if bound == 0 {
		bound = engine.DefaultFPR
	}
	most := layout.TimedCellBits - p.PointBits - minTickBits
	if least := timedFPR(most, cfg.Window); !(bound >= least && bound < 1) {
		return p, fmt.Errorf("%w: %v is not between %.2g and 1", engine.ErrFPR, bound, least)
	}
	for timedFPR(p.FPBits, cfg.Window) > bound {
		p.FPBits++
	}
	p.TickBits = layout.TimedCellBits - p.PointBits - p.FPBits
	return p, nil
}

// timedFPR bounds the probability that a cell holds the fingerprint of an element that
// was never seen: a cell of the element's line, or of the spare line that is also
// searched.
func timedFPR(bits uint, w Window) float64 {
	cells := 2.0 * layout.TimedCells
	if w.None {
		cells = layout.TimedCells
	}
	return cells / float64(uint64(1)<<bits)
}

// TestAndSet implements engine.PacketFilter. It allocates only to grow.
func (t *Timed) TestAndSet(seen []uint64, d []digest.Digest, times []int64, points []uint32) {
	t.rows.arena.CheckOpen("window: Timed.TestAndSet")
	checkPacketArguments("Timed.TestAndSet", seen, d, times, points, t.params.Across)
	t.copying.keep(d)
	for from, n := 0, 0; from < len(d); from += n {
		if t.position == t.blockEnd {
			t.beginBlock()
		}
		n = t.part(from, len(d))
		ticks, at := t.toTicks(times[from:from+n]), []uint32(nil)
		if t.params.Across {
			at = points[from : from+n]
		}
		t.testAndSetPart(t.verdicts(seen, from, n), d[from:from+n], ticks, at)
		t.put(seen, from)
	}
}

// testAndSetPart handles a part of a block.
func (t *Timed) testAndSetPart(seen []uint64, d []digest.Digest, ticks []int64, points []uint32) {
	if !t.started {
		t.start(ticks)
	}
	unusual := !t.kind.None && t.unusual(ticks)
	if len(t.growth.older) > 0 || unusual && t.nearBorder(ticks) {
		line.TestAndSetTimedAround(t.rows.rows(), t.growth.rows, seen, d, ticks, points, &t.params, &t.counts)
	} else {
		line.TestAndSetTimed(t.rows.rows(), seen, d, ticks, points, &t.params, &t.counts)
	}
	t.workingSet.observe(seen, ticks, unusual)
	t.position += uint64(len(d))
}

// start chooses the origin so that the first element with a time lies in the middle of
// its era.
func (t *Timed) start(ticks []int64) {
	for _, tick := range ticks {
		if tick != layout.NoTick {
			t.params.Origin, t.params.Now = tick-1<<(t.params.TickBits-2), tick
			t.started = true
			return
		}
	}
}

// Stats implements engine.PacketFilter.
func (t *Timed) Stats() engine.PacketStats {
	m := &t.workingSet
	s := engine.PacketStats{
		Method:       "timed",
		MemoryBytes:  t.memory,
		Fill:         min(1, float64(m.current())/float64(layout.TimedCells*t.lines)),
		PredictedFPR: timedFPR(t.params.FPBits, t.kind),
		EvictedLive:  t.counts.EvictedLive,
		Late:         m.late.stats(t.tick.by, lateElement),
	}
	if s.EvictedLive > t.counts.Inserted/fewEvicted {
		s.SuggestedMemory = t.enoughMemory()
	}
	return s
}

// fewEvicted is N where one in N remembered elements may be evicted without advice.
// Filters that grow evict one in 50,000 where they are fullest, and most have no copy.
const fewEvicted = 10_000

// enoughMemory returns the memory, in bytes, that would have been enough at the peak. If
// elements choose few lines, this is only a guess.
func (t *Timed) enoughMemory() int {
	m := &t.workingSet
	if t.kind.None {
		return max(2*t.memory, m.memory(t.counts.Inserted, layout.TimedCells))
	}
	enough := max(leastTimedLines, timedLines(float64(m.highest()))) * layout.LineSize
	if enough <= t.memory {
		return 2 * t.memory
	}
	return enough
}
