// SPDX-License-Identifier: Apache-2.0

package window

import (
	"fmt"
	"io"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// timedState is the saved state of a filter except its lines.
type timedState struct {
	rowState
	fpBits             uint64
	across             bool
	origin, now, slack int64
	started            bool
	counts             line.TimedCounts
}

func (s *timedState) fields() snapshot.Fields {
	fields := snapshot.Fields{
		&s.window.Duration, &s.window.Packets, &s.window.None,
		&s.lines, &s.fpBits, &s.refresh, &s.across, &s.limit, &s.all,
		&s.origin, &s.now, &s.slack, &s.started, &s.position, &s.blockEnd,
		&s.counts.Inserted, &s.counts.EvictedLive, &s.counts.Spilled, &s.counts.Asked,
	}
	fields = append(fields, s.workingSet.fields()...)
	fields = append(fields, s.workingSet.late.fields()...)
	fields = append(fields, s.workingSet.horizon.fields()...)
	return append(fields, s.growth.fields()...)
}

func (m *workingSet) fields() snapshot.Fields {
	return snapshot.Fields{
		m.clock.samples[:], &m.clock.next, &m.clock.count, &m.clock.rising, &m.clock.taken,
		&m.start, m.kept[:], &m.slice, &m.live, &m.peak, &m.began, &m.since,
		&m.size, &m.fresh, &m.counted, &m.length,
	}
}

func (l *lateness) fields() snapshot.Fields {
	return snapshot.Fields{&l.low, &l.kept, &l.total, &l.reached, &l.latest, &l.bound, &l.late, &l.first, &l.by}
}

func (h *horizon) fields() snapshot.Fields {
	fields := snapshot.Fields{&h.kept, &h.count}
	for i := range h.marks {
		fields = append(fields, &h.marks[i].kept, &h.marks[i].time)
	}
	return fields
}

// Snapshot writes the filter's contents. The filter that RestoreTimed returns continues
// with the same verdicts. secret is the secret of the digests; it seals the snapshot.
// label names the elements, such as "flow, aes", in at most snapshot.MaxLabel bytes. A
// filter can only be restored with the same label. Errors come from w, or wrap
// snapshot.ErrInvalid for a bad label. It panics after Close.
func (t *Timed) Snapshot(w io.Writer, secret engine.Secret, label string) error {
	t.rows.arena.CheckOpen("window: Timed.Snapshot")
	state := timedState{
		rowState: t.state(t.params.Refresh), fpBits: uint64(t.params.FPBits), across: t.params.Across,
		origin: t.params.Origin, now: t.params.Now, slack: t.params.Slack, started: t.started, counts: t.counts,
	}
	out := snapshot.NewWriter(w, snapshot.Timed, secret, label, state.fields())
	t.copying = timedCopy{
		lines: out.Lines(t.rows.arena, 0, t.rows.lines), spare: out.Lines(t.rows.arena, t.rows.lines, t.lines), rows: t.rows.rows(),
	}
	t.growth.write(out)
	return out.End()
}

// timedCopy is the rows of a filter in a snapshot.Copy.
type timedCopy struct {
	lines, spare *snapshot.LineCopy
	rows         line.TimedRows
}

// keep copies the lines that elements are about to change, and the spare lines.
func (c *timedCopy) keep(d []digest.Digest) {
	c.lines.Keep(d)
	if !c.spare.Copying() || len(c.rows.Spare) == 0 {
		return
	}
	lines := uint64(len(c.rows.Lines))
	share, _ := bits.Div64(uint64(len(c.rows.Spare)), 0, lines)
	for i := range d {
		number, _ := bits.Mul64(d[i][1], lines)
		at, _ := bits.Mul64(number, share) // as line.TestAndSetTimed says
		c.spare.KeepLine(lines + at)
	}
}

// RestoreTimed reads the filter that Timed.Snapshot wrote, and nothing behind it. Errors
// wrap snapshot.ErrInvalid if the snapshot is damaged, cut short, of another version,
// kind or label, or made under another key. They wrap engine.ErrMemory if it takes more
// memory than c allows. Other errors come from r and layout.NewArena.
func RestoreTimed(r io.Reader, c snapshot.RestoreConfig) (*Timed, error) {
	var s timedState
	return snapshot.Restore(r, snapshot.Timed, c, s.fields(), s.filter, (*Timed).load)
}

func (t *Timed) load(in *snapshot.Reader) error {
	rows := t.rows.rows()
	err := in.Lines(rows.Lines)
	if err == nil {
		err = in.Lines(rows.Spare)
	}
	if err == nil {
		err = t.growth.read(in)
	}
	return err
}

// filter makes the filter that was saved, with empty lines.
func (s *timedState) filter(c snapshot.RestoreConfig) (*Timed, error) {
	if err := s.check(c); err != nil {
		return nil, err
	}
	if s.fpBits >= layout.TimedCellBits {
		return nil, fmt.Errorf("%w: fingerprints of %d bits", snapshot.ErrInvalid, s.fpBits)
	}
	config := TimedConfig{Window: s.window, FPR: timedFPR(uint(s.fpBits), s.window), Refresh: s.refresh, Across: s.across}
	config.Memory, config.Limit = s.bytes()
	if _, err := cellShape(config); err != nil {
		return nil, fmt.Errorf("%w: %w", snapshot.ErrInvalid, err)
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

// resume takes over the saved state of the stream, and makes the older rows.
func (t *Timed) resume(s *timedState) error {
	if uint64(t.params.FPBits) != s.fpBits || s.slack < 0 || s.slack > t.mostSlack() {
		return snapshot.ErrInconsistent
	}
	if err := t.rowFilter.resume(&s.rowState); err != nil {
		return err
	}
	t.params.Origin, t.params.Now, t.params.Slack = s.origin, s.now, s.slack
	t.started, t.counts = s.started, s.counts
	t.rowsChanged()
	t.growth.resumePlan(&s.growth, t.memory)
	return nil
}
