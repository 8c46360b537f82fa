// SPDX-License-Identifier: Apache-2.0

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

// partitionedState is what is saved of a filter beside its lines.
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

// Snapshot writes all that the filter remembers, for RestorePartitioned. Arguments and
// errors are those of Timed.Snapshot.
func (f *Partitioned) Snapshot(w io.Writer, secret secret.Secret, label string) error {
	mem.CheckOpen("window: Partitioned.Snapshot", f.arena)
	state := partitionedState{f.kind, uint64(f.lines), f.params.K, f.params.Refresh, f.position, f.counts, f.workingSet}
	out := snapshot.NewWriter(w, snapshot.Partitioned, secret, label, state.fields())
	f.copying = out.Lines(f.arena, 0, f.lines)
	return out.End()
}

// RestorePartitioned reads the filter that Partitioned.Snapshot wrote, and nothing behind
// it. Errors are those of RestoreTimed.
func RestorePartitioned(r io.Reader, c snapshot.RestoreConfig) (*Partitioned, error) {
	var s partitionedState
	in, err := snapshot.NewReader(r, snapshot.Partitioned, c, s.fields())
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
