// SPDX-License-Identifier: Apache-2.0

package window

import (
	"cmp"
	"context"
	"fmt"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/internal/bitset"
	"github.com/flowdedup/flowdedup/engine/internal/mem"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/engine/theory"
	"github.com/flowdedup/flowdedup/layout"
)

// TimersConfig configures NewTimers. Fields that are zero stand for the defaults in their
// comments.
type TimersConfig struct {
	// Window is a time or a number of elements.
	Window Window
	// Memory is the size of the lines, in bytes, rounded down to whole lines of 64; 0
	// stands for DefaultMemory.
	Memory int
	// K is the number of an element's timers, from 1 to 8; 0 stands for 8, the best for
	// up to some eight elements a line.
	K int
	// TimerBits is the width of a timer: 8, which divides a window into 126 ticks, or 16,
	// which divides it into 32,766; 0 stands for 8.
	TimerBits int
	// Equal is the number of an element's timers that must be equal for it to be a copy,
	// from 1, which requires nothing, to K; 0 stands for 1. Larger values lower the false
	// positive rate, but miss copies of elements whose timers others have set.
	Equal int
	// Refresh makes a copy set the timers again.
	Refresh bool
}

// errTimers begins errors about K, Equal and TimerBits.
var errTimers = engine.Impossible("parameter of timers out of range")

const (
	defaultTimers    = 8 // of an element
	defaultTimerBits = 8
	// timerBatch is the number of elements that go to the kernel at a time: they stay in
	// the first-level cache.
	timerBatch = 1024
)

// Timers is the sliding Bloom filter of Koloniari, Ntarmos, Pitoura and Souravlias ("One
// is Enough: Distributed Filtering for Duplicate Elimination", CIKM 2011, section 4),
// with the K timers of an element in one line (line.TestAndSetTimers). An element is a
// copy if all its timers run. The filter forgets nothing within its window, but its false
// positive rate grows with the number of elements in the window. Timed is better in every
// way; Timers is for comparison.
//
// Time is cut into ticks, 126 to a window with timers of 8 bits. A copy is found up to a
// window after its original, and at most a tick later. In a window of time, an element
// without a time is never a copy.
//
// An element that is late by up to a window and a tick counts as if it came now. Elements
// that lie further from the latest time, before or after it, are quarantined until a
// calendar.Clock believes them. They are compared with each other only. So a pause loses
// no copies, and a false time empties nothing. A clock that was set forward keeps the
// filter, in which all timers have run down. A clock that was set back empties it. In
// both cases the filter then remembers the elements that were quarantined.
//
// Timers that ran down cannot be looked up for late elements. PacketStats counts elements
// that may be copies of forgotten ones.
//
// Timers implements engine.PacketFilter.
type Timers struct {
	config        TimersConfig
	arena         *layout.Arena
	bytes         int
	rule          *line.TimerRule
	counts        line.TimerCounts
	log           timersLog
	tick          divisor
	window        uint64 // in ticks, with the present tick
	sweepInterval uint64 // ticks between two sweeps

	clock calendar.Clock // of windows of time
	timersClock

	batch   timedBatch
	copying *snapshot.LineCopy // of the arena
}

// timedBatch is elements for the kernel, and where their verdicts belong.
type timedBatch struct {
	n       int
	digests [timerBatch]digest.Digest
	ticks   [timerBatch]uint64
	at      [timerBatch]int
	seen    [timerBatch / 64]uint64
	late    []lateTimer
}

// NewTimers makes an empty filter. Errors wrap engine.ErrConfig, or come from
// layout.NewArena.
func NewTimers(c TimersConfig) (*Timers, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	lines, err := mem.CellLines(c.Memory)
	if err != nil {
		return nil, err
	}
	most := uint64(1)<<(c.TimerBits-1) - 1
	size := uint64(c.Window.Duration) + uint64(c.Window.Packets) // either is 0
	tick := (size-1)/(most-1) + 1
	f := &Timers{config: c, tick: newDivisor(tick), window: (size-1)/tick + 2}
	f.startClock(tick)
	params := line.TimerParams{Bits: c.TimerBits, K: c.K, Window: int(f.window), Equal: c.Equal, Refresh: c.Refresh}
	if f.rule, err = line.NewTimerRule(params); err != nil {
		return nil, fmt.Errorf("%w: %w", errTimers, err)
	}
	f.sweepInterval = uint64(params.SweepInterval())
	if f.arena, err = layout.NewArena(lines); err != nil {
		return nil, err
	}
	f.bytes, f.log = f.arena.Bytes(), newTimersLog(lines)
	return f, nil
}

// complete fills in the defaults, and checks the rest.
func (c *TimersConfig) complete() error {
	if err := c.Window.check(); err != nil {
		return err
	}
	if c.Window.None {
		return fmt.Errorf("%w: timers need a window of time or of packets", engine.ErrWindow)
	}
	for _, v := range []struct {
		name               string
		value              *int
		usual, least, most int
	}{
		{"K", &c.K, defaultTimers, 1, layout.MaxCellK},
		{"timer bits", &c.TimerBits, defaultTimerBits, 8, 16},
		{"equal timers", &c.Equal, 1, 1, cmp.Or(c.K, defaultTimers)},
	} {
		if *v.value == 0 {
			*v.value = v.usual
		}
		if *v.value < v.least || *v.value > v.most {
			return fmt.Errorf("%w: %s is %d, must be from %d to %d", errTimers, v.name, *v.value, v.least, v.most)
		}
	}
	if c.TimerBits != 8 && c.TimerBits != 16 {
		return fmt.Errorf("%w: timer bits is %d, must be 8 or 16", errTimers, c.TimerBits)
	}
	if c.Memory == 0 {
		c.Memory = DefaultMemory(c.Window, 0)
	}
	return nil
}

// Check returns the error of NewTimers about the configuration, without making a filter.
func (c TimersConfig) Check() error { return c.complete() }

// TestAndSet implements engine.PacketFilter.
func (f *Timers) TestAndSet(seen []uint64, d []digest.Digest, times []int64, points []uint32) {
	f.arena.CheckOpen("window: Timers.TestAndSet")
	checkPacketArguments("Timers.TestAndSet", seen, d, times, points, false)
	bitset.Clear(seen, len(d))
	f.copying.Keep(d)
	for i := 0; i < len(d); {
		n := f.leading(times[i:len(d)], i)
		f.enqueue(seen, d[i:i+n], i)
		if i += n; n == 0 {
			f.observe(seen, &d[i], times[i], i)
			i++
		}
	}
	f.flush(seen)
	f.position += uint64(len(d))
}

// goTo makes tick the latest tick, if it is later.
func (f *Timers) goTo(seen []uint64, tick uint64) {
	switch {
	case !f.started:
		f.startAt(tick)
	case tick > f.now:
		f.advance(seen, tick)
	}
}

// startAt makes tick the latest tick. The filter must be empty.
func (f *Timers) startAt(tick uint64) {
	f.started, f.began, f.now, f.swept = true, tick, tick, tick
}

// advance moves on to a later tick, and sweeps as often as the kernel demands.
func (f *Timers) advance(seen []uint64, tick uint64) {
	if tick-f.swept > f.sweepInterval {
		f.flush(seen)
	}
	for tick-f.swept > f.sweepInterval {
		f.swept += f.sweepInterval
		f.sweep(f.swept)
		if f.counts.NonZero == 0 || f.swept > f.now && f.swept-f.now >= f.window {
			f.swept = tick // no timer runs any more
		}
	}
	f.now = tick
}

// empty clears all timers.
func (f *Timers) empty() {
	f.sweep(f.now) // it counts the timers that ran
	if f.counts.NonZero > 0 {
		clear(f.arena.Lines())
		f.counts.NonZero = 0
	}
	f.log = timersLog{entries: f.log.entries[:0], whole: true}
}

// enqueue appends elements to the batch, which already has their ticks. Their verdicts
// belong to places from at on of seen.
func (f *Timers) enqueue(seen []uint64, d []digest.Digest, at int) {
	b := &f.batch
	n := copy(b.digests[b.n:], d)
	for i := range b.at[b.n:][:n] {
		b.at[b.n+i] = at + i
	}
	if b.n += n; b.n == timerBatch {
		f.flush(seen)
	}
}

// flush hands the elements of the batch to the kernel.
func (f *Timers) flush(seen []uint64) {
	b, lines := &f.batch, f.arena.Lines()
	f.log.add(b.digests[:b.n], b.ticks[:b.n], len(lines))
	line.TestAndSetTimers(lines, b.seen[:], b.digests[:b.n], b.ticks[:b.n], f.rule, &f.counts)
	for i, at := range b.at[:b.n] {
		seen[at/64] |= b.seen[i/64] >> (i % 64) & 1 << (at % 64)
	}
	f.countLate()
	b.n = 0
}

// Stats implements engine.PacketFilter. The false positive rate is the rate of the
// fullest window that a sweep found, without the reduction by Equal.
func (f *Timers) Stats() engine.PacketStats {
	timers := float64(f.timers())
	peak := f.peak
	if peak == 0 { // there was no sweep yet
		peak = f.counts.NonZero
	}
	lines := theory.EighthsFilter{Cells: 8 * layout.LineSize / f.config.TimerBits, K: f.config.K}
	return engine.PacketStats{
		Method:       "timers",
		MemoryBytes:  f.bytes,
		Fill:         float64(f.counts.NonZero) / timers,
		PredictedFPR: lines.FPROfFill(float64(peak) / timers),
		EdgeError:    f.edgeError(),
		Late:         f.late.stats(1),
	}
}

// edgeError is the share by which a window may be too long: an element at the beginning
// of a tick is found up to the end of the last tick that its timers run in.
func (f *Timers) edgeError() float64 {
	size := float64(f.config.Window.Duration) + float64(f.config.Window.Packets) // either is 0
	return max(0, (float64(f.window*f.tick.by)-1-size)/size)
}

// timers returns how many timers all lines have.
func (f *Timers) timers() uint64 { return uint64(f.bytes) * 8 / uint64(f.config.TimerBits) }

// Populate is as Timed.Populate.
func (f *Timers) Populate(ctx context.Context) error { return mem.Populate(ctx, f.arena) }

// Close implements engine.PacketFilter.
func (f *Timers) Close() error { return f.arena.Close() }
