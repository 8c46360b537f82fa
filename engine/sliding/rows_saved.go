// SPDX-License-Identifier: Apache-2.0

package sliding

import (
	"io"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/internal/rowtable"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// savedRows are the fields of Rows in a snapshot.
type savedRows struct {
	rows rowtable.Saved
	rowsState
	latest      int64 // time of the clock
	votes       int   // of the clock
	position    int   // of the pending elements
	ring        int   // the number of dates
	quarantined int   // elements
}

func (s *savedRows) fields() snapshot.Fields {
	return append(s.rows.Fields(),
		&s.window, &s.step, &s.maxLines, &s.started, &s.current, &s.latest, &s.sweepDebt, &s.taken,
		&s.level, &s.levelStep, &s.votes, &s.ignored, &s.position, &s.ring, &s.quarantined,
	)
}

// Snapshot writes all elements that the counter remembers. The counter that Restore
// returns continues with the same counts. secret is the secret of the digests; it seals
// the snapshot. label names the elements, such as "flow", in at most snapshot.MaxLabel
// bytes. A counter can only be restored with the same label. Errors come from w, or wrap
// snapshot.ErrInvalid for a bad label. It panics after Close.
func (s *Rows) Snapshot(w io.Writer, secret engine.Secret, label string) error {
	s.rows.Table.Arena.CheckOpen("sliding: Rows.Snapshot")
	rows, overflow := s.rows.State()
	saved := savedRows{
		rows: rows, rowsState: s.rowsState, latest: s.clock.Latest(), votes: s.clock.Votes(),
		position: s.pending.position, ring: len(s.levels), quarantined: len(s.quarantine),
	}
	out := snapshot.NewWriter(w, snapshot.SlidingRows, secret, label, saved.fields())
	s.rows.Save(out, overflow)
	out.Words(len(s.levels), func(i int) uint64 { return uint64(s.levels[i]) })
	out.Words(len(s.counts), func(i int) uint64 { return uint64(s.counts[i]) })
	out.Words(len(s.thinned), func(i int) uint64 { return uint64(s.thinned[i]) })
	out.Words(len(s.recent), func(i int) uint64 { return s.recent[i] })
	out.Words(3*len(s.quarantine), func(i int) uint64 {
		h := &s.quarantine[i/3]
		return [...]uint64{h.digest[0], h.digest[1], uint64(h.time)}[i%3]
	})
	return out.End()
}

// Restore reads the counter that Rows.Snapshot wrote, and nothing behind it. Errors wrap
// snapshot.ErrInvalid if the snapshot is damaged, cut short, of another version, kind or
// label, or made under another key. They wrap engine.ErrMemory if it takes more memory
// than c allows. Other errors come from r and layout.NewArena. c bounds the counter's
// present size, not its growth. Rows.Advance forgets elements that have left the window
// meanwhile.
func Restore(r io.Reader, c snapshot.RestoreConfig) (*Rows, error) {
	var saved savedRows
	load := func(s *Rows, in *snapshot.Reader) error { return s.load(in, &saved) }
	return snapshot.Restore(r, snapshot.SlidingRows, c, saved.fields(), saved.counter, load)
}

// counter makes the counter that was saved, without elements.
func (s *savedRows) counter(c snapshot.RestoreConfig) (*Rows, error) {
	if err := s.rows.Check(layout.SlidingLines, rowtable.MaxLines, 0); err != nil {
		return nil, err
	}
	if err := s.rows.Allow(c); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	counter, err := newRows(s.window, s.step)
	if err != nil {
		return nil, err
	}
	if s.ring != len(counter.levels) {
		counter.Close()
		return nil, snapshot.ErrInconsistent
	}
	counter.rowsState, counter.pending.position = s.rowsState, s.position
	counter.currentStart = s.current * s.step
	return counter, nil
}

// check returns an error unless all fields are consistent.
func (s *savedRows) check() error {
	if _, err := chooseStep(time.Duration(s.window), time.Duration(s.step)); err != nil || s.step == 0 {
		return snapshot.ErrInconsistent
	}
	farthest := calendar.Index(calendar.Farthest, s.step) + 1
	switch {
	case s.maxLines < layout.SlidingLines || uint64(s.maxLines) > rowtable.MaxLines || s.maxLines&(s.maxLines-1) != 0,
		s.current < -farthest || s.current > farthest || s.sweepDebt < 0 || s.taken < 0,
		s.level > 64 || s.position < 0 || s.position >= rowtable.Step,
		s.quarantined < 0 || s.quarantined >= calendar.Quorum, !s.started && s.quarantined > 0:
		return snapshot.ErrInconsistent
	}
	return nil
}

// load reads the elements.
func (s *Rows) load(in *snapshot.Reader, saved *savedRows) error {
	if err := s.rows.Load(in, &saved.rows); err != nil {
		return err
	}
	if s.rows.Passing() {
		s.sides = new(rowtable.Sides[uint64])
	}
	if s.rows.Thinning {
		s.thinned = make([]uint32, len(s.counts))
	}
	words := make([]uint64, 3*saved.quarantined)
	for _, part := range []struct {
		name string
		n    int
		put  func(i int, word uint64)
	}{
		{"levels", len(s.levels), func(i int, word uint64) { s.levels[i] = uint8(word) }},
		{"counts", len(s.counts), func(i int, word uint64) { s.counts[i] = uint32(word) }},
		{"counts of the sample", len(s.thinned), func(i int, word uint64) { s.thinned[i] = uint32(word) }},
		{"elements of the step", len(s.recent), func(i int, word uint64) { s.recent[i] = word }},
		{"held elements", len(words), func(i int, word uint64) { words[i] = word }},
	} {
		if err := in.Words(part.n, part.name, part.put); err != nil {
			return err
		}
	}
	var times []int64
	for h := range slices.Chunk(words, 3) {
		one := datedElement{digest.Digest{h[0], h[1]}, int64(h[2])}
		s.quarantine, times = append(s.quarantine, one), append(times, one.time)
	}
	if s.started && !s.clock.Resume(max(saved.latest, s.currentStart), times, saved.votes) {
		return snapshot.ErrInconsistent
	}
	return nil
}
