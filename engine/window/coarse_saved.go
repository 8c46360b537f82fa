// SPDX-License-Identifier: Apache-2.0

package window

import (
	"io"

	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/snapshot"
)

// coarseState is the saved state of a filter except its lines. The kind of the snapshot
// says which cells it has.
type coarseState struct {
	rowState
	counts line.CoarseCounts
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
	c.rows.arena.CheckOpen("window: Coarse.Snapshot")
	state := coarseState{c.state(c.params.Refresh), c.counts}
	out := snapshot.NewWriter(w, kindOfCoarse(c.params.Fine), secret, label, state.fields())
	c.copying = out.Lines(c.rows.arena, 0, c.lines)
	c.growth.write(out)
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
	if err := s.check(c); err != nil {
		return nil, err
	}
	config := CoarseConfig{Window: s.window, Fine: fine, Refresh: s.refresh}
	config.Memory, config.Limit = s.bytes()
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
// next rows.
func (c *Coarse) resume(s *coarseState) error {
	if err := c.rowFilter.resume(&s.rowState); err != nil {
		return err
	}
	c.counts = s.counts
	c.rowsChanged()
	c.growth.resumePlan(&s.growth, c.memory)
	return nil
}
