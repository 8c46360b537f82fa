package window

import (
	"context"
	"fmt"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/mem"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// CoarseConfig configures NewCoarse.
type CoarseConfig struct {
	// Window is a time or a number of elements.
	Window Window
	// Memory is what the filter uses, in bytes, rounded down to whole lines of 64. 0
	// stands for DefaultMemory of the window.
	Memory int
	// Refresh makes a copy renew the memory of the element that it copies.
	Refresh bool
}

// CoarseFPR bounds the probability that a Coarse takes an element without a twin for a
// copy: that it has the fingerprint of one of the fifteen in its line. It is 8.9e-7.
const CoarseFPR = layout.CoarseCells / float64(1<<layout.CoarseFingerprintBits)

// Coarse is the packet filter for little memory, where a false positive rate of CoarseFPR
// is low enough. A line holds 15 elements, where one of Timed holds 6 (see
// line.TestAndSetCoarse). At one miss in 10,000 copies, of ages that are spread evenly over
// the window, it takes 88 bits for each element in the window, and Timed 507. It answers
// what Timed answers, with these differences:
//
//   - Two elements with the same line and the same 24 bits of fingerprint are taken for
//     equal: see CoarseFPR.
//   - Time runs in ticks of a 64th to a 127th of the window. So a window is never too
//     short, and too long by at most EdgeError of it: 0.8 % for windows that are whole
//     milliseconds, or whole thousands of elements, and 3.1 % for any other. Windows of up
//     to 127 ns or elements are exact.
//   - An element that is late by more than a window, compared with the latest one of its
//     line, finds no twin, and the line forgets what it held. PacketStats counts elements
//     that are so late. An element with a wrong time does the same to one line.
//   - Ticks count modulo 2^32. If nothing comes to a line for 2^32 ticks, to within a
//     window, the line takes what it holds for that much younger. For a window of a
//     millisecond these are 9.5 hours. After a pause of any length, that happens with a
//     probability of 6e-8.
//   - It does not grow, takes no note of points, and needs a window.
type Coarse struct {
	arena      *layout.Arena
	lines      int
	memory     int // in bytes
	params     line.CoarseParams
	counts     line.CoarseCounts
	workingSet workingSet
	tickSource
	copying *snapshot.LineCopy // of the arena
}

// NewCoarse makes the filter. Errors wrap ErrWindow, ErrMemory or what layout.NewArena
// says.
func NewCoarse(cfg CoarseConfig) (*Coarse, error) {
	if err := cfg.Window.check(); err != nil {
		return nil, err
	}
	if cfg.Window.None {
		return nil, fmt.Errorf("%w: coarse rows need a window of time or of packets", engine.ErrWindow)
	}
	if cfg.Memory == 0 {
		cfg.Memory = DefaultMemory(cfg.Window, 0)
	}
	if cfg.Memory < layout.LineSize {
		return nil, fmt.Errorf("%w: %d bytes, less than a line", engine.ErrMemory, cfg.Memory)
	}
	lines := cfg.Memory / layout.LineSize
	arena, err := layout.NewArena(lines)
	if err != nil {
		return nil, err
	}
	tick, window := coarseTicks(cfg.Window)
	c := &Coarse{
		arena: arena, lines: lines, memory: arena.Bytes(),
		params:     line.CoarseParams{Window: int(window), Refresh: cfg.Refresh},
		workingSet: newWorkingSet(window, 0),
		tickSource: newTickSource(cfg.Window, tick),
	}
	return c, nil
}

// coarseTicks returns the length of a tick, in the window's unit, and the window in ticks.
// Where it can, a tick divides the window.
func coarseTicks(w Window) (tick, window int64) {
	size := int64(w.Duration) + w.Packets // one of them is 0
	for window := min(size, layout.CoarseWindow); window > layout.CoarseWindow/2; window-- {
		if size%window == 0 {
			return size / window, window
		}
	}
	tick = (size-1)/layout.CoarseWindow + 1
	return tick, (size-1)/tick + 1
}

// CoarseEdgeError bounds by how much a window of a Coarse may be too long, as a share of it.
func CoarseEdgeError(w Window) float64 {
	tick, window := coarseTicks(w)
	size := float64(w.Duration) + float64(w.Packets)
	return max(0, (float64(window+1)*float64(tick)-1-size)/size)
}

// Populate is as Timed.Populate.
func (c *Coarse) Populate(ctx context.Context) error { return mem.Populate(ctx, c.arena) }

// TestAndSet implements engine.PacketFilter. It does not allocate.
func (c *Coarse) TestAndSet(seen []uint64, d []digest.Digest, times []int64, points []uint32) {
	mem.CheckOpen("window: Coarse.TestAndSet", c.arena)
	checkPacketArguments("Coarse.TestAndSet", seen, d, times, points, false)
	c.copying.Keep(d)
	for from := 0; from < len(d); from += chunkElements {
		to := min(from+chunkElements, len(d))
		ticks, verdicts := c.toTicks(times[from:to]), seen[from/64:(to+63)/64]
		line.TestAndSetCoarse(line.CoarseRows{Lines: c.arena.Lines()}, verdicts, d[from:to], ticks, c.params, &c.counts)
		c.workingSet.observe(verdicts, ticks, c.kind.Packets == 0 && c.workingSet.late.mayBeLate(ticks))
		c.position += uint64(to - from)
	}
}

// Stats implements engine.PacketFilter.
func (c *Coarse) Stats() engine.PacketStats {
	s := engine.PacketStats{
		Method:       "coarse",
		MemoryBytes:  c.memory,
		Fill:         min(1, float64(c.workingSet.live+c.workingSet.fresh)/float64(layout.CoarseCells*c.lines)),
		PredictedFPR: CoarseFPR,
		EdgeError:    CoarseEdgeError(c.kind),
		EvictedLive:  c.counts.EvictedLive,
		Late:         c.workingSet.late.lateElements.stats(c.tick.by),
	}
	if s.EvictedLive > 0 {
		s.SuggestedMemory = max(c.workingSet.memory(c.counts.Inserted, layout.CoarseCells), 2*c.memory)
	}
	return s
}

// Close implements engine.PacketFilter.
func (c *Coarse) Close() error { return c.arena.Close() }
