// SPDX-License-Identifier: Apache-2.0

package window

import (
	"context"
	"fmt"
	"io"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/mem"
	"github.com/flowdedup/flowdedup/engine/secret"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/engine/theory"
	"github.com/flowdedup/flowdedup/layout"
)

// PartitionedConfig configures NewPartitioned. Fields that are zero stand for the
// defaults in their comments.
type PartitionedConfig struct {
	// Window is a time or a number of elements.
	Window Window
	// Memory is the size of the lines, in bytes, rounded down to whole lines of 64; 0
	// stands for DefaultMemory.
	Memory int
	// K is the number of slices that an element is set in, from 1 to
	// layout.MaxPartitionedK; 0 stands for 12, the best for some six elements a line.
	K int
	// Refresh makes a copy set its bits again.
	Refresh bool
}

const defaultPartitionedK = 12

// Partitioned is the age-partitioned Bloom filter of Shtul, Baquero and Almeida
// ("Age-Partitioned Bloom Filters", 2020), with all slices of an element in one line
// (line.TestAndSetPartitioned). For elements in order of time it misses no copy of an
// element that it kept within its window, however many elements come: its false positive
// rate grows with them. In memory for few bits an element it has a lower rate than
// Timers.
//
// A window is cut into 60-K generations. A copy is found up to a window after its
// original, and at most a generation later. Then the K slices of an element leave one by
// one, a generation each. Until the last one has left, a copy is found if others have set
// the bits that are gone: with a chance of some tenths at first, and of PredictedFPR in
// the end. EdgeError covers this.
//
// A late element counts as if it came at the latest time of its line, so it finds
// elements up to a window before that. PacketStats counts elements that are late by a
// generation.
//
// Partitioned implements engine.PacketFilter. In a window of time, elements without a time
// are neither copies nor remembered.
type Partitioned struct {
	arena      *layout.Arena
	lines      int
	memory     int // in bytes
	params     line.PartitionedParams
	counts     line.PartitionedCounts
	workingSet workingSet
	tickSource
	none    [chunkElements / 64]uint64 // verdicts without a copy
	copying *snapshot.LineCopy         // of the arena
}

// NewPartitioned makes an empty filter. Errors wrap ErrTimers for K, engine.ErrWindow or
// engine.ErrMemory, or come from layout.NewArena.
func NewPartitioned(c PartitionedConfig) (*Partitioned, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	lines, err := mem.CellLines(c.Memory)
	if err != nil {
		return nil, err
	}
	arena, err := layout.NewArena(lines)
	if err != nil {
		return nil, err
	}
	params := line.PartitionedParams{K: c.K, Refresh: c.Refresh}
	size, generations := int64(c.Window.Duration)+c.Window.Packets, int64(params.Generations())
	tick := (size-1)/generations + 1
	f := &Partitioned{
		arena: arena, lines: lines, memory: arena.Bytes(), params: params,
		workingSet: newWorkingSet((size-1)/tick+1, 0), tickSource: newTickSource(c.Window, tick),
	}
	f.workingSet.late = newLateness(1)
	return f, nil
}

// complete fills in the defaults, and checks the rest.
func (c *PartitionedConfig) complete() error {
	if err := c.Window.check(); err != nil {
		return err
	}
	if c.Window.None {
		return fmt.Errorf("%w: an age-partitioned filter needs a window of time or of packets", engine.ErrWindow)
	}
	if c.K == 0 {
		c.K = defaultPartitionedK
	}
	if c.K < 1 || c.K > layout.MaxPartitionedK {
		return fmt.Errorf("%w: K is %d, must be from 1 to %d", ErrTimers, c.K, layout.MaxPartitionedK)
	}
	if c.Memory == 0 {
		c.Memory = DefaultMemory(c.Window, 0)
	}
	return nil
}

// Check returns the error of NewPartitioned about the configuration, without making a
// filter.
func (c PartitionedConfig) Check() error { return c.complete() }

// TestAndSet implements engine.PacketFilter. It does not allocate.
func (f *Partitioned) TestAndSet(seen []uint64, d []digest.Digest, times []int64, points []uint32) {
	mem.CheckOpen("window: Partitioned.TestAndSet", f.arena)
	checkPacketArguments("Partitioned.TestAndSet", seen, d, times, points, false)
	f.copying.Keep(d)
	for from := 0; from < len(d); from += chunkElements {
		to := min(from+chunkElements, len(d))
		ticks, verdicts := f.toTicks(times[from:to]), seen[from/64:(to+63)/64]
		line.TestAndSetPartitioned(f.arena.Lines(), verdicts, d[from:to], ticks, f.params, &f.counts)
		if f.params.Refresh { // copies set bits again
			verdicts = f.none[:len(verdicts)]
		}
		f.workingSet.observe(verdicts, ticks, f.kind.Packets == 0 && f.workingSet.late.mayBeLate(ticks))
		f.position += uint64(to - from)
	}
}

// fullPartitioned is a number of elements for each line at which new ones are copies almost
// surely.
const fullPartitioned = 100

// Stats implements engine.PacketFilter. The false positive rate is the rate of the window
// with the most elements so far. With Refresh, it and the number of late elements include
// copies, so the rate is too high.
func (f *Partitioned) Stats() engine.PacketStats {
	m := &f.workingSet
	window := theory.AgePartitioned{K: f.params.K, L: f.params.Generations(), SliceBits: 8}
	fpr, err := window.LineFPR(min(fullPartitioned, float64(m.highest())/float64(f.lines)))
	if err != nil {
		panic("window: " + err.Error()) // its domain has all filters
	}
	return engine.PacketStats{
		Method:       "apbf",
		MemoryBytes:  f.memory,
		PredictedFPR: fpr,
		EdgeError:    partitionedEdge(f.kind, int64(f.tick.by), f.params),
		Late:         m.late.lateElements.stats(f.tick.by),
	}
}

// partitionedEdge is EdgeError for ticks of the given length: an element is forgotten
// when the last of its slices has left.
func partitionedEdge(w Window, tick int64, p line.PartitionedParams) float64 {
	size := float64(w.Duration) + float64(w.Packets)
	return max(0, (float64(p.Generations()+p.K)*float64(tick)-1-size)/size)
}

// Populate is as Timed.Populate.
func (f *Partitioned) Populate(ctx context.Context) error { return mem.Populate(ctx, f.arena) }

// Close implements engine.PacketFilter.
func (f *Partitioned) Close() error { return f.arena.Close() }

// partitionedState is the saved state of a filter except its lines.
type partitionedState struct {
	window     Window
	lines      uint64
	k          int
	refresh    bool
	position   uint64
	counts     line.PartitionedCounts
	workingSet workingSet
}

func (s *partitionedState) fields() snapshot.Fields {
	fields := snapshot.Fields{
		&s.window.Duration, &s.window.Packets, &s.lines, &s.k, &s.refresh,
		&s.position, &s.counts.Missed,
	}
	fields = append(fields, s.workingSet.fields()...)
	return append(fields, s.workingSet.late.fields()...)
}

// Snapshot writes the filter's contents, for RestorePartitioned. Arguments and errors are
// as in Timed.Snapshot.
func (f *Partitioned) Snapshot(w io.Writer, secret secret.Secret, label string) error {
	mem.CheckOpen("window: Partitioned.Snapshot", f.arena)
	state := partitionedState{f.kind, uint64(f.lines), f.params.K, f.params.Refresh, f.position, f.counts, f.workingSet}
	out := snapshot.NewWriter(w, snapshot.Partitioned, secret, label, state.fields())
	f.copying = out.Lines(f.arena, 0, f.lines)
	return out.End()
}

// RestorePartitioned reads the filter that Partitioned.Snapshot wrote, and nothing behind
// it. It returns the errors of RestoreTimed.
func RestorePartitioned(r io.Reader, c snapshot.RestoreConfig) (*Partitioned, error) {
	var s partitionedState
	return snapshot.Restore(r, snapshot.Partitioned, c, s.fields(), s.filter, (*Partitioned).load)
}

func (f *Partitioned) load(in *snapshot.Reader) error { return in.Lines(f.arena.Lines()) }

// filter makes the filter that was saved, with empty lines.
func (s *partitionedState) filter(c snapshot.RestoreConfig) (*Partitioned, error) {
	if err := c.Allow(s.lines); err != nil {
		return nil, err
	}
	config := PartitionedConfig{Window: s.window, Memory: int(s.lines) * layout.LineSize, K: s.k, Refresh: s.refresh}
	if s.lines == 0 || s.k == 0 {
		return nil, fmt.Errorf("%w: %d lines, K of %d", snapshot.ErrInvalid, s.lines, s.k)
	}
	if err := config.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", snapshot.ErrInvalid, err)
	}
	f, err := NewPartitioned(config)
	if err != nil {
		return nil, err
	}
	if !f.workingSet.resume(&s.workingSet) {
		f.Close()
		return nil, snapshot.ErrInconsistent
	}
	f.position, f.counts = s.position, s.counts
	return f, nil
}
