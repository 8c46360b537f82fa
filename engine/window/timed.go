package window

import (
	"context"
	"errors"
	"fmt"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/mem"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// TimedConfig configures NewTimed.
type TimedConfig struct {
	Window Window
	// Memory is what the filter uses, in bytes, rounded down to whole lines of 64. 0
	// takes DefaultMemory for the window, and layout.MemoryBudget as Limit.
	Memory int
	// Limit is up to how many bytes the filter may grow where the traffic wants more than
	// Memory. What is not more than that keeps it as it is, as does a filter without a window.
	Limit int
	// FPR bounds the probability that an element without a twin is taken for a
	// copy; 0 stands for 1e-9. It buys bits of the fingerprint with bits of the
	// time where the usual 40 (36 with Across) are not enough.
	FPR float64
	// Refresh makes a copy renew the memory of the element that it copies, so
	// the window slides: a repeat that comes often enough is never let through
	// again.
	Refresh bool
	// Across makes only elements seen at another point copies.
	Across bool
}

const (
	fpBits       = 40 // of a cell, at least
	fpBitsAcross = 36 // the same where a cell holds a point too
	pointBits    = 7  // 127 points before two of them may look like one
	// minTickBits keeps eras 9 minutes long, at the usual window.
	minTickBits = 40
	// chunkElements is how many elements are turned to ticks at a time: whole words of verdicts,
	// and a buffer that stays in the first-level cache.
	chunkElements = 1024
)

// Timed is the packet filter of bounded memory: rows of fingerprints with the
// times at which they were kept, all that an element touches in one 64-byte
// line (asm.TestAndSetTimed has the layout). It answers what Exact
// answers, with these differences:
//
//   - A line holds 6 elements. A seventh pushes the oldest out: PacketStats
//     says how often that was too early. Such an element's copies are let
//     through, never the other way round. A filter that may grow does so before
//     that.
//   - What lies longer back than the window is forgotten sooner or later. Where
//     time goes back to before that, copies are let through: PacketStats says
//     how many elements came so late.
//   - Two elements with the same line and fingerprint are taken for equal: an
//     element without a twin is taken for a copy with a probability of at
//     most 6 * 2^-40 = 5.5e-12, or 6 * 2^-36 = 8.7e-11 with Across, if the
//     window covers all that its line holds.
//   - Time runs in ticks of a millionth of the window, but 1 to 256 ns, or up
//     to twice that if only that divides the window. Windows to 1 ms are
//     exact. With others an element at the window's edge may be a copy up to
//     one tick too late where the window is a whole number of ticks, as those
//     that people write are, and up to two ticks in others. Never is one
//     within the window missed for that. Times that are multiples of a longer
//     unit, as the microseconds of most files, are compared exactly. Count
//     windows are exact.
//
// Elements may come in any order, and wild times cost nothing: each is judged
// by its own distance to its twin. Elements without a time are neither copies
// nor remembered in a time window, and elements like all others in the other
// two. Without a window (None) all that fits is remembered, and what was seen
// least recently is what makes room.
type Timed struct {
	arena      *layout.Arena
	lines      int
	memory     int // of all lines, in bytes, older ones among them
	params     line.TimedParams
	counts     line.TimedCounts
	kind       Window
	tick       divisor
	position   uint64 // of the next element
	started    bool   // params.Origin is set
	workingSet workingSet
	growth     growth
	ticks      []int64            // of a chunk; stays all zero without a window
	word       [1]uint64          // verdicts that begin within a word
	copying    *snapshot.LineCopy // of the arena
}

// NewTimed makes the filter. Errors wrap ErrWindow, ErrFPR, ErrMemory or what
// layout.NewArena says.
func NewTimed(cfg TimedConfig) (*Timed, error) {
	if err := cfg.Window.check(); err != nil {
		return nil, err
	}
	params, err := cellShape(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Memory == 0 {
		cfg.Limit = layout.MemoryBudget()
		cfg.Memory = DefaultMemory(cfg.Window, 0)
	}
	if cfg.Memory < layout.LineSize {
		return nil, fmt.Errorf("%w: %d bytes, less than a line", engine.ErrMemory, cfg.Memory)
	}
	tick, window := int64(1), int64(1)
	if !cfg.Window.None {
		tick, window = ticksOf(cfg.Window, params.TickBits)
	}
	params.Window = window
	lines := cfg.Memory / layout.LineSize
	arena, err := layout.NewArena(lines)
	if err != nil {
		return nil, err
	}
	t := &Timed{
		arena:      arena,
		lines:      lines,
		memory:     arena.Bytes(),
		params:     params,
		kind:       cfg.Window,
		tick:       newDivisor(uint64(tick)),
		workingSet: newWorkingSet(window, lines),
		ticks:      make([]int64, chunkElements),
	}
	if !cfg.Window.None && cfg.Limit > t.memory {
		t.growth.limit = cfg.Limit
		t.workingSet.setLimit(uint64(lines / growLoad))
	}
	return t, nil
}

// Populate has the system hand over all memory now, which it otherwise does a page
// at a time when they are first used. It returns the error of ctx, if that ends before.
func (t *Timed) Populate(ctx context.Context) error { return mem.Populate(ctx, t.arena) }

// ticksOf returns the length of a tick, in the window's unit, and the window in
// ticks.
func ticksOf(w Window, tickBits uint) (tick, window int64) {
	if w.Packets > 0 {
		return tickLength(w.Packets, tickBits, 1)
	}
	size := int64(w.Duration)
	return tickLength(size, tickBits, leastTick(size))
}

// cellShape divides the bits of a cell so that the false positive rate is
// kept. Without a window a copy always moves to the front, which changes no
// verdict and lets what is seen again stay.
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
	if least := timedFPR(most); !(bound >= least && bound < 1) {
		return p, fmt.Errorf("%w: %v is not between %.2g and 1", engine.ErrFPR, bound, least)
	}
	for timedFPR(p.FPBits) > bound {
		p.FPBits++
	}
	p.TickBits = layout.TimedCellBits - p.PointBits - p.FPBits
	return p, nil
}

// timedFPR bounds the probability that one of the cells of a line holds the
// fingerprint of an element that was never seen.
func timedFPR(bits uint) float64 {
	return layout.TimedCells / float64(uint64(1)<<bits)
}

// TestAndSet implements PacketFilter. It does not allocate.
func (t *Timed) TestAndSet(seen []uint64, d []digest.Digest, times []int64, points []uint32) {
	mem.CheckOpen("Timed.TestAndSet", t.arena)
	checkPacketArguments("Timed.TestAndSet", seen, d, times, points, t.params.Across)
	t.copying.Keep(d)
	for from, n := 0, 0; from < len(d); from += n {
		n = t.nextChunk(min(len(t.ticks), len(d)-from))
		if from%64 != 0 {
			n = min(n, 64-from%64) // from where a word begins they go there directly
		}
		ticks, at := t.toTicks(times[from:from+n]), []uint32(nil)
		if t.params.Across {
			at = points[from : from+n]
		}
		if from%64 == 0 {
			t.testAndSetChunk(seen[from/64:(from+n+63)/64], d[from:from+n], ticks, at)
			continue
		}
		t.testAndSetChunk(t.word[:], d[from:from+n], ticks, at)
		seen[from/64] |= t.word[0] << (from % 64)
	}
}

// test handles a piece of the stream.
func (t *Timed) testAndSetChunk(seen []uint64, d []digest.Digest, ticks []int64, points []uint32) {
	if !t.started {
		t.start(ticks)
	}
	unusual := !t.kind.None && t.unusual(ticks)
	if len(t.growth.older) > 0 || unusual && t.nearBorder(ticks) {
		line.TestAndSetTimedAround(t.arena.Lines(), t.growth.lines, seen, d, ticks, points, &t.params, &t.counts)
	} else {
		line.TestAndSetTimed(t.arena.Lines(), seen, d, ticks, points, &t.params, &t.counts)
	}
	t.workingSet.observe(seen, ticks, unusual)
	t.position += uint64(len(d))
	if t.growth.limit > 0 {
		t.planGrowth()
	}
}

// start puts the first element that has a time into the middle of its era.
func (t *Timed) start(ticks []int64) {
	for _, tick := range ticks {
		if tick != layout.NoTick {
			t.params.Origin = tick - 1<<(t.params.TickBits-2)
			t.started = true
			return
		}
	}
}

// toTicks returns the times of the next elements as the kernel wants them.
func (t *Timed) toTicks(times []int64) []int64 {
	ticks := t.ticks[:len(times)]
	switch {
	case t.kind.None:
	case t.kind.Packets > 0:
		tick := t.tick // a copy, which stays in registers
		for i := range ticks {
			ticks[i] = int64(tick.divide(t.position + uint64(i)))
		}
	case t.tick.by == 1:
		return times // calendar.NoTime is layout.NoTick
	default:
		t.tick.divideTimes(ticks, times)
	}
	return ticks
}

// Stats implements PacketFilter.
func (t *Timed) Stats() engine.PacketStats {
	s := engine.PacketStats{
		Method:       "timed",
		MemoryBytes:  t.memory,
		Fill:         min(1, float64(t.workingSet.live+t.workingSet.fresh)/float64(layout.TimedCells*t.lines)),
		PredictedFPR: timedFPR(t.params.FPBits),
		EvictedLive:  t.counts.EvictedLive,
		Late:         t.workingSet.late.stats(t.tick.by, lateElement),
	}
	if s.EvictedLive > 0 {
		s.SuggestedMemory = max(t.workingSet.memory(t.counts.Inserted), 2*t.memory)
	}
	return s
}

// Close implements PacketFilter.
func (t *Timed) Close() error {
	return errors.Join(t.arena.Close(), t.growth.close())
}
