package engine

import (
	"io"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/layout"
)

// savedSliding are the fields of a Sliding in a snapshot.
type savedSliding struct {
	rows savedRows
	slidingBooks
	latest   int64 // time of the clock
	votes    int   // of the clock
	position int   // of what is pending
	ring     int   // the number of dates
	held     int   // elements
}

func (s *savedSliding) fields() snapshotFields {
	return append(s.rows.fields(),
		&s.window, &s.step, &s.most, &s.started, &s.front, &s.latest, &s.debt, &s.taken,
		&s.level, &s.leveled, &s.votes, &s.ignored, &s.position, &s.ring, &s.held,
	)
}

// Snapshot writes all elements that the counter remembers. A counter that RestoreSliding
// makes of it goes on with the same counts. The secret is what the digests were
// made under; the snapshot is sealed with it. The label says what the elements are ("flow"), in
// MaxLabel bytes at most; a counter can only be restored with the same label. Errors are
// those of w, or wrap ErrSnapshot for a label that does not fit. It panics after Close.
func (s *Sliding) Snapshot(w io.Writer, secret Secret, label string) error {
	checkOpen("Sliding.Snapshot", s.rows.table.arena)
	rows, spilled := s.rows.state()
	saved := savedSliding{
		rows: rows, slidingBooks: s.slidingBooks, latest: s.clock.Latest(), votes: s.clock.Votes(),
		position: s.pending.position, ring: len(s.levels), held: len(s.held),
	}
	out := newSnapshotWriter(w, snapshotSliding, secret, label, saved.fields())
	s.rows.save(out, spilled)
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
	var saved savedSliding
	in, err := newSnapshotReader(r, snapshotSliding, c, saved.fields())
	if err != nil {
		return nil, err
	}
	if err := saved.rows.check(layout.SlidingLines, maxRowLines, 0); err != nil {
		return nil, err
	}
	if err := saved.rows.allowed(c); err != nil {
		return nil, err
	}
	s, err := saved.counter()
	if err != nil {
		return nil, err
	}
	if err := s.load(in, &saved); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// counter makes the counter that was saved, without its elements.
func (s *savedSliding) counter() (*Sliding, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	c, err := newSliding(s.window, s.step)
	if err != nil {
		return nil, err
	}
	if s.ring != len(c.levels) {
		c.Close()
		return nil, errInconsistent
	}
	c.slidingBooks, c.pending.position = s.slidingBooks, s.position
	c.opened = s.front * s.step
	return c, nil
}

// check returns an error unless all fits together.
func (s *savedSliding) check() error {
	if _, err := slidingStep(time.Duration(s.window), time.Duration(s.step)); err != nil || s.step == 0 {
		return errInconsistent
	}
	farthest := calendar.Index(calendar.Farthest, s.step) + 1
	switch {
	case s.most < layout.SlidingLines || uint64(s.most) > maxRowLines || s.most&(s.most-1) != 0,
		s.front < -farthest || s.front > farthest || s.debt < 0 || s.taken < 0,
		s.level > 64 || s.position < 0 || s.position >= counterStep,
		s.held < 0 || s.held >= calendar.Quorum, !s.started && s.held > 0:
		return errInconsistent
	}
	return nil
}

// load reads the elements.
func (s *Sliding) load(in *snapshotReader, saved *savedSliding) error {
	if err := s.rows.load(in, &saved.rows); err != nil {
		return err
	}
	if s.rows.passing() {
		s.apart = new(apart[uint64])
	}
	if s.rows.thinning {
		s.thinned = make([]uint32, len(s.counts))
	}
	words := make([]uint64, 3*saved.held)
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
		one := slidingElement{digest.Digest{h[0], h[1]}, int64(h[2])}
		s.held, times = append(s.held, one), append(times, one.time)
	}
	if s.started && !s.clock.Resume(max(saved.latest, s.opened), times, saved.votes) {
		return errInconsistent
	}
	return in.checkSeal("lines")
}
