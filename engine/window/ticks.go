// SPDX-License-Identifier: Apache-2.0

package window

import (
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/frames"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/layout"
)

// leastTick returns the shortest tick for a window of time, in nanoseconds: a millionth
// of it, from 1 to 256. Shorter ticks would make eras short (see Timed). Longer ones
// would make the microseconds of most files inexact.
func leastTick(window int64) int64 {
	return min(max(1, window/1_000_000), 256)
}

// tickLength divides a window of the given size, in nanoseconds or positions, into ticks
// of at least least. The window fits into a quarter of the range of tickBits. A tick that
// divides the window keeps its edge exact, so tickLength takes such a tick if there is any
// shorter than twice the shortest length. Else it rounds the window up to whole ticks.
func tickLength(size int64, tickBits uint, least int64) (tick, window int64) {
	most := int64(1) << (tickBits - 2)
	least = max(least, (size-1)/most+1)
	for tick := least; tick < 2*least; tick++ {
		if size%tick == 0 {
			return tick, size / tick
		}
	}
	return least, (size-1)/least + 1
}

// chunkElements is the number of elements that are turned into ticks at a time: whole
// words of verdicts, and a buffer that stays in the first-level cache.
const chunkElements = 1024

// tickSource turns the times of elements, or their positions, into ticks.
type tickSource struct {
	kind     Window
	tick     divisor
	position uint64  // of the next element
	ticks    []int64 // of a chunk; stays all zero without a window
}

func newTickSource(w Window, tick int64) tickSource {
	return tickSource{kind: w, tick: newDivisor(uint64(tick)), ticks: make([]int64, chunkElements)}
}

// toTicks returns the times of the next elements in the form that the kernel takes.
func (s *tickSource) toTicks(times []int64) []int64 {
	ticks := s.ticks[:len(times)]
	switch {
	case s.kind.None:
	case s.kind.Packets > 0:
		tick := s.tick // a copy, which stays in registers
		for i := range ticks {
			ticks[i] = int64(tick.divide(s.position + uint64(i)))
		}
	case s.tick.by == 1:
		return times // calendar.NoTime is layout.NoTick
	default:
		s.tick.divideTimes(ticks, times)
	}
	return ticks
}

// divisor divides by a number that is only known at run time. It multiplies, as a
// division takes up to 80 cycles on processors still in use. A quotient u/by is (u*factor
// + addend) / 2^64 / 2^shift (Robison, N-Bit Unsigned Division Via N-Bit Multiply-Add,
// ARITH 2005). One of the two factors nearest to 2^(64+shift)/by is exact for all u; the
// lower factor needs the addend.
type divisor struct {
	by             uint64
	factor, addend uint64
	shift          int
}

func newDivisor(by uint64) divisor {
	d := divisor{by: by, factor: math.MaxUint64, addend: math.MaxUint64, shift: bits.Len64(by) - 1}
	if by == 1<<d.shift {
		return d
	}
	factor, rest := bits.Div64(1<<d.shift, 0, by)
	if rest <= 1<<d.shift {
		d.factor, d.addend = factor, factor
	} else {
		d.factor, d.addend = factor+1, 0
	}
	return d
}

// divideTimes sets ticks to the quotients of times by 2 or more, counted from the least
// int64.
func (d divisor) divideTimes(ticks, times []int64) {
	times = times[:len(ticks)]
	if d.by == 1<<(d.shift&63) { // the usual case: the tick of a second is 256 ns
		for i, ns := range times {
			ticks[i] = tickOf(ns, (uint64(ns)^1<<63)>>(d.shift&63))
		}
		return
	}
	for i, ns := range times {
		ticks[i] = tickOf(ns, d.divide(uint64(ns)^1<<63))
	}
}

// tickOf returns the quotient as the tick of time ns, or layout.NoTick for
// calendar.NoTime.
func tickOf(ns int64, quotient uint64) int64 {
	tick := int64(quotient)
	if ns == calendar.NoTime {
		tick = layout.NoTick
	}
	return tick
}

// divide returns floor(u / by).
func (d divisor) divide(u uint64) uint64 {
	high, low := bits.Mul64(u, d.factor)
	_, carry := bits.Add64(low, d.addend, 0)
	return (high + carry) >> (d.shift & 63)
}

// unusual reports whether a tick is NoTick, lies within a window of the border of an era,
// is of another era than the first, or may be late. It may report true for other ticks
// too. Lateness changes with the block.
func (t *Timed) unusual(ticks []int64) bool {
	era := int64(1) << (t.params.TickBits - 1)
	start := ticks[0] - (ticks[0]-t.params.Origin)&(era-1)
	low, high := t.params.Window, era-1-t.params.Window
	if late := t.workingSet.late.bound; late > start {
		low = max(low, int64(min(uint64(late)-uint64(start), uint64(era))))
	}
	if low > high {
		return true
	}
	return !frames.Within(ticks, start+low, high-low)
}

// nearBorder reports whether a tick lies within a window of the border of an era.
func (t *Timed) nearBorder(ticks []int64) bool {
	width := t.params.TickBits - 1
	last := uint64(1)<<width - uint64(t.params.Window)
	for _, tick := range ticks {
		within := (uint64(tick) - uint64(t.params.Origin)) & (1<<width - 1)
		if (within < uint64(t.params.Window) || within >= last) && tick != layout.NoTick {
			return true
		}
	}
	return false
}
