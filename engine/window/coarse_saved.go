package window

import (
	"fmt"
	"io"

	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine/internal/mem"
	"github.com/flowdedup/flowdedup/engine/secret"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// coarseState is what is saved of a filter beside its lines.
type coarseState struct {
	window     Window
	lines      uint64
	refresh    bool
	position   uint64
	counts     line.CoarseCounts
	workingSet workingSet
}

func (s *coarseState) fields() snapshot.Fields {
	fields := snapshot.Fields{
		&s.window.Duration, &s.window.Packets, &s.lines, &s.refresh,
		&s.position, &s.counts.Inserted, &s.counts.EvictedLive,
	}
	fields = append(fields, s.workingSet.fields()...)
	return append(fields, s.workingSet.late.fields()...)
}

// Snapshot writes all that the filter remembers, for RestoreCoarse. Arguments and errors
// are those of Timed.Snapshot.
func (c *Coarse) Snapshot(w io.Writer, secret secret.Secret, label string) error {
	mem.CheckOpen("window: Coarse.Snapshot", c.arena)
	state := coarseState{c.kind, uint64(c.lines), c.params.Refresh, c.position, c.counts, c.workingSet}
	out := snapshot.NewWriter(w, snapshot.Coarse, secret, label, state.fields())
	c.copying = out.Lines(c.arena, 0, c.lines)
	return out.End()
}

// RestoreCoarse reads the filter that Coarse.Snapshot wrote, and nothing behind it. Errors
// are those of RestoreTimed.
func RestoreCoarse(r io.Reader, c snapshot.RestoreConfig) (*Coarse, error) {
	var s coarseState
	in, err := snapshot.NewReader(r, snapshot.Coarse, c, s.fields())
	if err != nil {
		return nil, err
	}
	f, err := s.filter(c)
	if err != nil {
		return nil, err
	}
	return snapshot.Load(in, f, func() error { return in.Lines(f.arena.Lines()) })
}

// filter makes the filter that was saved, with empty lines.
func (s *coarseState) filter(c snapshot.RestoreConfig) (*Coarse, error) {
	if err := c.Allow(s.lines); err != nil {
		return nil, err
	}
	if s.lines == 0 {
		return nil, fmt.Errorf("%w: no lines", snapshot.ErrInvalid)
	}
	if err := s.window.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", snapshot.ErrInvalid, err)
	}
	f, err := NewCoarse(CoarseConfig{Window: s.window, Memory: int(s.lines) * layout.LineSize, Refresh: s.refresh})
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
