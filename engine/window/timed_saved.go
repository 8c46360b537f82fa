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

// timedState is what is saved of a filter beside its lines. Its numbers are wider than
// those of the filter where a file could hold anything.
type timedState struct {
	window          Window
	lines, fpBits   uint64
	refresh, across bool
	limit           uint64
	all             uint64 // lines, with older ones
	origin          int64
	started         bool
	position        uint64
	counts          line.TimedCounts
	workingSet      workingSet
	growAt, endAt   uint64
	older           uint64
	arenas          [maxOlder]olderState
}

// olderState is what is saved of an older arena.
type olderState struct {
	lines uint64
	since int64
	kept  uint64
}

func (s *timedState) fields() snapshot.Fields {
	fields := snapshot.Fields{
		&s.window.Duration, &s.window.Packets, &s.window.None,
		&s.lines, &s.fpBits, &s.refresh, &s.across, &s.limit, &s.all,
		&s.origin, &s.started, &s.position, &s.counts.Inserted, &s.counts.EvictedLive,
	}
	fields = append(fields, s.workingSet.fields()...)
	fields = append(fields, s.workingSet.late.fields()...)
	fields = append(fields, &s.growAt, &s.endAt, &s.older)
	for i := range s.arenas {
		older := &s.arenas[i]
		fields = append(fields, &older.lines, &older.since, &older.kept)
	}
	return fields
}

func (m *workingSet) fields() snapshot.Fields {
	return snapshot.Fields{
		&m.start, m.kept[:], &m.slice, &m.live, &m.peak, &m.size, &m.fresh, &m.first, &m.length,
		&m.eights, &m.unsampled, &m.overAt, &m.pastAt,
	}
}

func (l *lateness) fields() snapshot.Fields {
	return snapshot.Fields{
		l.least[:], &l.length, &l.closed, &l.low, &l.kept, &l.total,
		&l.reached, &l.forgotten, &l.late, &l.first, &l.by,
	}
}

// state returns what is saved.
func (t *Timed) state() *timedState {
	g := &t.growth
	s := &timedState{
		window: t.kind, lines: uint64(t.lines), fpBits: uint64(t.params.FPBits),
		refresh: t.params.Refresh, across: t.params.Across,
		limit: uint64(g.limit), all: uint64(t.memory / layout.LineSize),
		origin: t.params.Origin, started: t.started, position: t.position, counts: t.counts,
		workingSet: t.workingSet, growAt: g.at, endAt: g.endAt, older: uint64(len(g.older)),
	}
	for i := range g.older {
		s.arenas[i] = olderState{uint64(len(g.lines[i].Lines)), g.older[i].since, g.older[i].kept}
	}
	return s
}

// Snapshot writes all that the filter remembers. The filter that RestoreTimed returns
// continues with the same verdicts. secret is what the digests were made under; it seals
// the snapshot. label says what the elements are, such as "flow, aes", in at most
// snapshot.MaxLabel bytes. A filter can only be restored with the same label. Errors are
// those of w, or wrap snapshot.ErrInvalid for a bad label. It panics after Close.
func (t *Timed) Snapshot(w io.Writer, secret secret.Secret, label string) error {
	mem.CheckOpen("window: Timed.Snapshot", t.arena)
	out := snapshot.NewWriter(w, snapshot.Timed, secret, label, t.state().fields())
	t.copying = out.Lines(t.arena, 0, t.lines)
	for i := range t.growth.older { // which do not change
		arena := t.growth.older[i].arena
		out.Lines(arena, 0, len(arena.Lines()))
	}
	return out.End()
}

// RestoreTimed reads the filter that Timed.Snapshot wrote, and nothing behind it. Errors
// wrap snapshot.ErrInvalid if the snapshot is damaged, cut short, of another version,
// kind or label, or made under another key. They wrap engine.ErrMemory if it takes more
// memory than c allows. Others are those of r and of layout.NewArena.
func RestoreTimed(r io.Reader, c snapshot.RestoreConfig) (*Timed, error) {
	var s timedState
	in, err := snapshot.NewReader(r, snapshot.Timed, c, s.fields())
	if err != nil {
		return nil, err
	}
	t, err := s.filter(c)
	if err != nil {
		return nil, err
	}
	return snapshot.Load(in, t, func() error {
		err := in.Lines(t.arena.Lines())
		for i := 0; err == nil && i < len(t.growth.lines); i++ {
			err = in.Lines(t.growth.lines[i].Lines)
		}
		return err
	})
}

// filter makes the filter that was saved, with empty lines.
func (s *timedState) filter(c snapshot.RestoreConfig) (*Timed, error) {
	if err := c.Allow(s.all); err != nil {
		return nil, err
	}
	if s.lines == 0 || s.lines > s.all || s.fpBits >= layout.TimedCellBits {
		return nil, fmt.Errorf("%w: %d of %d lines, fingerprints of %d bits", snapshot.ErrInvalid, s.lines, s.all, s.fpBits)
	}
	config := TimedConfig{
		Window: s.window, Memory: int(s.lines) * layout.LineSize,
		FPR: timedFPR(uint(min(s.fpBits, 63))), Refresh: s.refresh, Across: s.across,
	}
	_, err := cellShape(config)
	if err == nil {
		err = s.window.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", snapshot.ErrInvalid, err)
	}
	if s.limit > 0 { // that of this machine may be another one
		config.Limit = int(min(s.limit, uint64(max(layout.MemoryBudget(), int(s.all)*layout.LineSize))))
	}
	t, err := NewTimed(config)
	if err != nil {
		return nil, err
	}
	if err := t.resume(s); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// resume takes over what was known of the stream, and makes the older arenas.
func (t *Timed) resume(s *timedState) error {
	if uint64(t.params.FPBits) != s.fpBits || !t.workingSet.resume(&s.workingSet) {
		return snapshot.ErrInconsistent
	}
	t.params.Origin, t.started, t.position = s.origin, s.started, s.position
	t.counts = s.counts
	return t.resumeGrowth(s)
}

// resume takes over what was saved. It reports false if no working set is like that.
func (m *workingSet) resume(saved *workingSet) bool {
	l := &saved.late
	if saved.length != m.length || saved.slice < 0 || saved.slice > windowSlices || saved.size < 0 || saved.size >= groupElements ||
		l.closed < 0 || l.closed > lateSegments || l.length == 0 {
		return false
	}
	saved.limit, saved.since, saved.until, l.window, l.atOnce = m.limit, m.since, m.until, m.late.window, m.late.atOnce
	*m = *saved
	return true
}

// resumeGrowth makes the older arenas.
func (t *Timed) resumeGrowth(s *timedState) error {
	g := &t.growth
	rest := s.all - uint64(t.lines)
	for _, older := range s.arenas[:min(s.older, maxOlder)] {
		if older.lines == 0 || older.lines > rest {
			return fmt.Errorf("%w: %d older lines of %d", snapshot.ErrInvalid, older.lines, rest)
		}
		rest -= older.lines
		arena, err := layout.NewArena(int(older.lines))
		if err != nil {
			return err
		}
		g.older = append(g.older, olderArena{arena, older.since, older.kept})
		g.lines = append(g.lines, line.TimedRows{Lines: arena.Lines()})
	}
	if rest != 0 || s.older > maxOlder || g.limit == 0 && (s.growAt != 0 || s.older != 0) ||
		s.growAt != 0 && s.growAt < t.position || s.endAt != 0 && (s.endAt < t.position || s.older == 0) {
		return fmt.Errorf("%w: older lines that do not belong there", snapshot.ErrInvalid)
	}
	t.memory = int(s.all) * layout.LineSize
	g.endAt = s.endAt
	t.workingSet.since, t.workingSet.until = t.oldest()
	if s.growAt != 0 && t.factor() > 1 {
		g.at, g.next = s.growAt, prepareArena(t.factor()*t.lines)
	}
	return nil
}
