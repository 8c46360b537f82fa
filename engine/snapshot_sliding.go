package engine

import (
	"io"
	"math"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/layout"
)

const slidingFieldCount = rowsFieldCount + 15

// Snapshot writes all elements that the counter remembers. A counter that RestoreSliding
// makes of it goes on with the same counts. The secret is what the digests were
// made under; the snapshot is sealed with it. The label says what the elements are ("flow"), in
// MaxLabel bytes at most; a counter can only be restored with the same label. Errors are
// those of w, or wrap ErrSnapshot for a label that does not fit. It panics after Close.
func (s *Sliding) Snapshot(w io.Writer, secret Secret, label string) error {
	checkOpen("Sliding.Snapshot", s.table.arena)
	fields, spilled := s.fields()
	out := newSnapshotWriter(w, snapshotSliding, secret, label, append(fields,
		uint64(s.window), uint64(s.step), uint64(s.most),
		flagWord(s.started), uint64(s.front), uint64(s.clock.Latest()), uint64(s.debt), uint64(s.taken),
		uint64(s.level), uint64(s.leveled), uint64(s.clock.Votes()), s.ignored, uint64(s.pending.position),
		uint64(len(s.levels)), uint64(len(s.held)),
	))
	s.save(out, spilled)
	out.words(len(s.levels), func(i int) uint64 { return uint64(s.levels[i]) })
	out.words(len(s.counts), func(i int) uint64 { return uint64(s.counts[i]) })
	out.words(len(s.thinned), func(i int) uint64 { return uint64(s.thinned[i]) })
	out.words(len(s.recent), func(i int) uint64 { return s.recent[i] })
	out.words(3*len(s.held), func(i int) uint64 {
		h := &s.held[i/3]
		return [...]uint64{h.digest[0], h.digest[1], uint64(h.time)}[i%3]
	})
	return out.end()
}

// RestoreSliding makes the counter that Sliding.Snapshot wrote. It reads nothing behind the
// snapshot. Errors wrap ErrSnapshot if it is damaged, cut short, of another version, kind
// or label or made under another key, ErrMemory if it takes more memory than c allows, or
// are those of r and of layout.NewArena. c bounds what the counter takes now, not what it
// grows to. Sliding.Advance lets what has left the window meanwhile go.
func RestoreSliding(r io.Reader, c RestoreConfig) (*Sliding, error) {
	in, words, err := newSnapshotReader(r, snapshotSliding, c, slidingFieldCount, slidingFieldCount)
	if err != nil {
		return nil, err
	}
	f := &snapshotFields{words}
	rows := f.rows()
	if err := rows.check(asm.SlidingLines, min(maxDigestLines, math.MaxInt/layout.LineSize/2), 0); err != nil {
		return nil, err
	}
	if err := rows.allowed(c); err != nil {
		return nil, err
	}
	s, clock, err := slidingOf(f)
	if err != nil {
		return nil, err
	}
	if err := s.load(in, &rows, clock); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// savedClock is what the fields of a snapshot tell of the clock.
type savedClock struct {
	latest      int64
	votes, held int
}

// slidingOf makes the counter of a snapshot's fields, without its elements and its clock.
func slidingOf(f *snapshotFields) (s *Sliding, clock savedClock, err error) {
	window, step, most := int64(f.next()), int64(f.next()), f.next()
	if _, err := slidingStep(time.Duration(window), time.Duration(step)); err != nil || step == 0 ||
		most < asm.SlidingLines || most > maxDigestLines || most&(most-1) != 0 {
		return nil, clock, errSavedTogether
	}
	if s, err = newSliding(window, step); err != nil {
		return nil, clock, err
	}
	s.most = int(min(most, math.MaxInt))
	s.started, s.front, clock.latest = f.flag(), int64(f.next()), int64(f.next())
	s.debt, s.taken = int64(f.next()), int(f.next())
	s.level, s.leveled, clock.votes = uint(f.next()), int64(f.next()), int(f.next())
	s.ignored, s.pending.position = f.next(), int(f.next())
	ring := f.next()
	clock.held = int(f.next())
	farthest := calendar.Index(calendar.Farthest, step) + 1
	switch {
	case s.front < -farthest || s.front > farthest || s.debt < 0 || s.taken < 0,
		s.level > 64 || s.pending.position < 0 || s.pending.position >= counterStep,
		ring != uint64(len(s.levels)) || clock.held < 0 || clock.held >= calendar.Quorum,
		!s.started && clock.held > 0:
		s.Close()
		return nil, clock, errSavedTogether
	}
	s.opened = s.front * s.step
	return s, clock, nil
}

// load reads the elements.
func (s *Sliding) load(in *snapshotReader, rows *savedRows, clock savedClock) error {
	if err := s.passRows.load(in, rows); err != nil {
		return err
	}
	if s.passing() {
		s.apart = new(apart[uint64])
	}
	if s.thinning {
		s.thinned = make([]uint32, len(s.counts))
	}
	words := make([]uint64, 3*clock.held)
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
		if err := in.words(part.n, part.name, part.put); err != nil {
			return err
		}
	}
	var times []int64
	for h := range slices.Chunk(words, 3) {
		one := slidingElement{asm.Digest{h[0], h[1]}, int64(h[2])}
		s.held, times = append(s.held, one), append(times, one.time)
	}
	if s.started && !s.clock.Resume(max(clock.latest, s.opened), times, clock.votes) {
		return errSavedTogether
	}
	return in.checkSeal("lines")
}
