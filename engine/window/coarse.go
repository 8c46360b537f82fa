// SPDX-License-Identifier: Apache-2.0

package window

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// CoarseConfig configures NewCoarse.
type CoarseConfig struct {
	// Window is a time or a number of elements.
	Window Window
	// Fine chooses cells of 40 bits in place of 32.
	Fine bool
	// Memory is the filter's memory, in bytes, rounded down to whole lines of 64. 0
	// stands for DefaultCoarseMemory, with math.MaxInt as Limit.
	Memory int
	// Limit is the size, in bytes, that the filter may grow to where the traffic needs
	// more than Memory. A filter whose Limit is not above its Memory does not grow.
	// math.MaxInt stands for layout.MemoryBudget when the filter first would grow.
	Limit int
	// Refresh makes a copy renew the memory of its original.
	Refresh bool
}

// CoarseFPR bounds the probability that a Coarse takes an element without a twin for a
// copy, because it has one of the fifteen fingerprints of its line. It is 8.9e-7.
// FineFPR is the bound for fine cells, twelve in a line: 7.0e-10. An element that also
// looks in a spare line has twice that probability; PacketStats has the average.
const (
	CoarseFPR = layout.CoarseCells / float64(1<<layout.CoarseFingerprintBits)
	FineFPR   = layout.FineCells / float64(1<<layout.FineFingerprintBits)
)

// Coarse is the packet filter for little memory, where a false positive rate of CoarseFPR
// or FineFPR is low enough. A line holds 15 elements, or 12 with fine cells, where a line
// of Timed holds 6 (see line.TestAndSetCoarse). Elements that a full line has no room for
// go to a spare line. A filter that grows takes 8 to 9 bytes for each element in the
// window, 10 to 12 with fine cells, where Timed takes up to 32, and misses fewer than one
// copy in 100,000. It gives the answers of Timed, with these differences:
//
//   - Two elements with the same line and the same 24 bits of fingerprint, or 34 bits, are
//     taken for equal: see CoarseFPR.
//   - Time runs in ticks of a 64th to a 127th of the window, with fine cells of a 16th to a
//     31st. So a window is never too short, and too long by at most EdgeError of it. For
//     most windows, such as 1 ms, that is 0.8 %, and 3.3 % with fine cells. For any it is at
//     most 1.6 % and 6.5 %. Windows of up to 127 ns or elements are exact, or up to 31.
//   - An element that is late by more than a window, compared with the latest element of
//     its line, finds no twin, and the line forgets its elements. PacketStats counts elements
//     that are so late. An element with a wrong time does the same to one line.
//   - Elements in spare lines are remembered for an eighth of a window beyond the window.
//     A copy that is late by more than that may be missed without being counted.
//   - Ticks count modulo 2^32. If nothing comes to a line for 2^32 ticks, to within a
//     window, the line takes its elements for that much younger. For a window of a
//     millisecond 2^32 ticks are 9.5 hours, and 38 with fine cells. After a pause of any
//     length, this happens with a probability of 6e-8.
//   - It ignores points, and needs a window.
type Coarse struct {
	rowFilter[line.CoarseRows]
	params  line.CoarseParams
	counts  line.CoarseCounts
	copying *snapshot.LineCopy // copy of the rows
}

// NewCoarse makes an empty filter. Errors wrap engine.ErrConfig, or come from
// layout.NewArena.
func NewCoarse(cfg CoarseConfig) (*Coarse, error) {
	if err := cfg.Window.check(); err != nil {
		return nil, err
	}
	if cfg.Window.None {
		return nil, fmt.Errorf("%w: coarse rows need a window of time or of packets", engine.ErrWindow)
	}
	if cfg.Memory == 0 {
		cfg.Limit = math.MaxInt
		cfg.Memory = DefaultCoarseMemory(cfg.Window, cfg.Fine, 0)
	}
	tick, window := coarseTicks(cfg.Window, cfg.Fine)
	c := &Coarse{params: line.CoarseParams{Fine: cfg.Fine, Window: int(window), Slack: int(window) / slackPart, Refresh: cfg.Refresh}}
	if err := c.make(cfg.Window, tick, cfg.Memory, cfg.Limit); err != nil {
		return nil, err
	}
	c.workingSet = newWorkingSet(sizeOf(cfg.Window), 0) // ticks are too long to measure how fast elements come
	return c, nil
}

// coarseTicks returns the length of a tick, in the window's unit, and the window in
// ticks. It chooses the sharpest edge of the window, or within a tenth of the best, a
// tick that divides the window.
func coarseTicks(w Window, fine bool) (tick, window int64) {
	size, most := sizeOf(w), int64(layout.CoarseWindow)
	if fine {
		most = layout.FineWindow
	}
	tick = (size-1)/most + 1
	window = (size-1)/tick + 1
	for n := min(size, most); n > most/2; n-- {
		if size%n == 0 && edgeOf(size/n, n, size) <= 1.1*edgeOf(tick, window, size) {
			return size / n, n
		}
	}
	return tick, window
}

// edgeOf returns by how much a window of the given number of ticks may be too long.
func edgeOf(tick, window, size int64) float64 {
	return max(0, (float64(window+1)*float64(tick)-1-float64(size))/float64(size))
}

// CoarseEdgeError bounds by how much a window of a Coarse may be too long, as a share of it.
func CoarseEdgeError(w Window, fine bool) float64 {
	tick, window := coarseTicks(w, fine)
	return edgeOf(tick, window, sizeOf(w))
}

// sizeOf returns the nanoseconds or packets of a window that has an end.
func sizeOf(w Window) int64 { return int64(w.Duration) + w.Packets } // either is 0

// TestAndSet implements engine.PacketFilter. It allocates only to grow.
func (c *Coarse) TestAndSet(seen []uint64, d []digest.Digest, times []int64, points []uint32) {
	c.rows.arena.CheckOpen("window: Coarse.TestAndSet")
	checkPacketArguments("Coarse.TestAndSet", seen, d, times, points, false)
	c.keep(d)
	for from, n := 0, 0; from < len(d); from += n {
		if c.position == c.blockEnd {
			c.beginBlock()
		}
		n = c.part(from, len(d))
		c.testAndSetPart(c.verdicts(seen, from, n), d[from:from+n], times[from:from+n])
		c.put(seen, from)
	}
}

// testAndSetPart handles a part of a block.
func (c *Coarse) testAndSetPart(seen []uint64, d []digest.Digest, times []int64) {
	ticks := c.toTicks(times)
	if len(c.growth.older) > 0 {
		line.TestAndSetCoarseAround(c.rows.coarse(), c.growth.rows, seen, d, ticks, c.params, &c.counts)
	} else {
		line.TestAndSetCoarse(c.rows.coarse(), seen, d, ticks, c.params, &c.counts)
	}
	if c.kind.Packets > 0 {
		for i := range ticks {
			ticks[i] = int64(c.position) + int64(i)
		}
		times = ticks
	}
	c.workingSet.observe(seen, times, c.kind.Packets == 0 && c.workingSet.late.mayBeLate(times))
	c.position += uint64(len(d))
}

// keep copies the lines that elements are about to change, and their spare lines.
func (c *Coarse) keep(d []digest.Digest) {
	if !c.copying.Copying() {
		return
	}
	rows := c.rows.coarse()
	for i := range d {
		number, _ := bits.Mul64(d[i][1], uint64(len(rows.Lines)))
		c.copying.KeepLine(number)
		if len(rows.Spare) > 0 {
			c.copying.KeepLine(uint64(len(rows.Lines)) + rows.SpareOf(number))
		}
	}
}

// Stats implements engine.PacketFilter.
func (c *Coarse) Stats() engine.PacketStats {
	m, shape := &c.workingSet, coarseShapeOf(c.params.Fine)
	s := engine.PacketStats{
		Method:       shape.method,
		MemoryBytes:  c.memory,
		Fill:         min(1, float64(m.current())/float64(shape.cells*c.lines)),
		PredictedFPR: shape.fpr,
		EdgeError:    CoarseEdgeError(c.kind, c.params.Fine),
		EvictedLive:  c.counts.EvictedLive,
		Late:         m.late.lateElements.stats(1),
	}
	if c.position > 0 {
		s.PredictedFPR *= 1 + float64(c.counts.Asked)/float64(c.position)
	}
	if s.EvictedLive > c.counts.Inserted/fewEvicted {
		enough := max(leastTimedLines, shape.lines(float64(m.highest()))) * layout.LineSize
		s.SuggestedMemory = max(enough, 2*c.memory)
	}
	return s
}
