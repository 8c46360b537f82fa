// SPDX-License-Identifier: Apache-2.0

package window

import (
	"fmt"
	"io"

	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/mem"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// coarseState is the saved state of a filter except its lines. The kind of the snapshot
// says which cells it has.
type coarseState struct {
	window             Window
	lines              uint64
	refresh            bool
	limit              uint64
	all                uint64 // lines, with older ones
	position, blockEnd uint64
	counts             line.CoarseCounts
	workingSet         workingSet
	growth             growthState
}

func (s *coarseState) fields() snapshot.Fields {
	fields := snapshot.Fields{
		&s.window.Duration, &s.window.Packets, &s.lines, &s.refresh, &s.limit, &s.all, &s.position, &s.blockEnd,
		&s.counts.Inserted, &s.counts.Asked, &s.counts.Spilled, &s.counts.EvictedLive,
	}
	fields = append(fields, s.workingSet.fields()...)
	fields = append(fields, s.workingSet.late.fields()...)
	return append(fields, s.growth.fields()...)
}

// kindOfCoarse returns the kind of snapshots.
func kindOfCoarse(fine bool) snapshot.Kind {
	if fine {
		return snapshot.Fine
	}
	return snapshot.Coarse
}

// Snapshot writes the filter's contents, for RestoreCoarse, or RestoreFine if it has fine
// cells. Arguments and errors are as in Timed.Snapshot.
func (c *Coarse) Snapshot(w io.Writer, secret engine.Secret, label string) error {
	mem.CheckOpen("window: Coarse.Snapshot", c.rows.arena)
	g := &c.growth
	state := coarseState{
		window: c.kind, lines: uint64(c.lines), refresh: c.params.Refresh, limit: uint64(g.limit), all: uint64(c.memory / layout.LineSize),
		position: c.position, blockEnd: c.blockEnd, counts: c.counts, workingSet: c.workingSet,
		growth: g.state(),
	}
	out := snapshot.NewWriter(w, kindOfCoarse(c.params.Fine), secret, label, state.fields())
	c.copying = out.Lines(c.rows.arena, 0, c.lines)
	g.write(out)
	return out.End()
}

// RestoreCoarse reads the filter of coarse cells that Coarse.Snapshot wrote, and nothing
// behind it. It returns the errors of RestoreTimed.
func RestoreCoarse(r io.Reader, c snapshot.RestoreConfig) (*Coarse, error) {
	return restoreCoarse(r, c, false)
}

// RestoreFine is RestoreCoarse for a filter of fine cells.
func RestoreFine(r io.Reader, c snapshot.RestoreConfig) (*Coarse, error) {
	return restoreCoarse(r, c, true)
}

func restoreCoarse(r io.Reader, c snapshot.RestoreConfig, fine bool) (*Coarse, error) {
	var s coarseState
	makeFilter := func(c snapshot.RestoreConfig) (*Coarse, error) { return s.filter(c, fine) }
	return snapshot.Restore(r, kindOfCoarse(fine), c, s.fields(), makeFilter, (*Coarse).load)
}

func (c *Coarse) load(in *snapshot.Reader) error {
	if err := in.Lines(c.rows.arena.Lines()); err != nil {
		return err
	}
	return c.growth.read(in)
}

// filter makes the filter that was saved, with empty lines.
func (s *coarseState) filter(c snapshot.RestoreConfig, fine bool) (*Coarse, error) {
	if err := c.Allow(s.all); err != nil {
		return nil, err
	}
	if s.lines == 0 || s.lines > s.all {
		return nil, fmt.Errorf("%w: %d of %d lines", snapshot.ErrInvalid, s.lines, s.all)
	}
	if err := s.window.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", snapshot.ErrInvalid, err)
	}
	config := CoarseConfig{Window: s.window, Fine: fine, Memory: int(s.lines) * layout.LineSize, Refresh: s.refresh}
	if s.limit > 0 { // this machine's limit may differ
		config.Limit = int(min(s.limit, uint64(max(layout.MemoryBudget(), int(s.all)*layout.LineSize))))
	}
	f, err := NewCoarse(config)
	if err != nil {
		return nil, err
	}
	if err := f.resume(s); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// resume takes over the saved state of the stream, makes the older rows, and prepares the
// next ones.
func (c *Coarse) resume(s *coarseState) error {
	if !c.workingSet.resume(&s.workingSet) {
		return snapshot.ErrInconsistent
	}
	if length := s.blockEnd - s.position; s.blockEnd < s.position || length > blockLength(c.lines) {
		return fmt.Errorf("%w: %d elements to the end of a block", snapshot.ErrInvalid, length)
	}
	c.position, c.blockEnd, c.counts = s.position, s.blockEnd, s.counts
	if err := c.growth.resume(&s.growth, s.all-uint64(c.lines), s.limit > 0); err != nil {
		return err
	}
	c.rowsChanged()
	c.growth.resumePlan(&s.growth, c.memory)
	return nil
}
