// SPDX-License-Identifier: Apache-2.0

package window

import (
	"fmt"

	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// growthState is the saved state of growth.
type growthState struct {
	at, lines uint64
	older     uint64
	rows      [maxOlder]olderState
}

// olderState is the saved state of older rows.
type olderState struct {
	lines       uint64
	since       int64
	taken, kept uint64
}

func (s *growthState) fields() snapshot.Fields {
	fields := snapshot.Fields{&s.at, &s.lines, &s.older}
	for i := range s.rows {
		older := &s.rows[i]
		fields = append(fields, &older.lines, &older.since, &older.taken, &older.kept)
	}
	return fields
}

// state returns the state to save.
func (g *growth[R]) state() growthState {
	s := growthState{at: g.at, lines: uint64(g.lines), older: uint64(len(g.older))}
	for i := range g.older {
		older := &g.older[i]
		s.rows[i] = olderState{uint64(len(older.arena.Lines())), older.since, older.taken, older.kept}
	}
	return s
}

// write writes the older rows, which do not change.
func (g *growth[R]) write(out *snapshot.Writer) {
	for i := range g.older {
		arena := g.older[i].arena
		out.Lines(arena, 0, len(arena.Lines()))
	}
}

// read reads the older rows.
func (g *growth[R]) read(in *snapshot.Reader) error {
	for i := range g.older {
		if err := in.Lines(g.older[i].arena.Lines()); err != nil {
			return err
		}
	}
	return nil
}

// resume makes the older rows, which have rest lines together. Only a filter that grows has older
// rows.
func (g *growth[R]) resume(s *growthState, rest uint64, grows bool) error {
	for _, older := range s.rows[:min(s.older, maxOlder)] {
		if older.lines == 0 || older.lines > rest {
			return fmt.Errorf("%w: %d older lines of %d", snapshot.ErrInvalid, older.lines, rest)
		}
		rest -= older.lines
		rows, err := newTimedRows(int(older.lines), true)
		if err != nil {
			return err
		}
		g.older = append(g.older, olderRows{rows, older.since, older.taken, older.kept})
	}
	if rest != 0 || s.older > maxOlder || !grows && (s.at != 0 || s.older != 0) || (s.at != 0) != (s.lines != 0) {
		return fmt.Errorf("%w: older lines that do not belong there", snapshot.ErrInvalid)
	}
	return nil
}

// resumePlan prepares the next rows, with fewer lines on a smaller machine.
func (g *growth[R]) resumePlan(s *growthState, memory int) {
	if room := uint64(max(0, g.limit-memory)) / layout.LineSize; s.at != 0 && room > 0 {
		g.prepare(s.at, int(min(s.lines, room)))
	}
}
