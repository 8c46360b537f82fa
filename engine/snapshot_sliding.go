package engine

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/asm"
)

const slidingFieldCount = 17

// slidingSpill is a spilled cell.
type slidingSpill struct{ line, cell uint64 }

// Snapshot writes all elements that the counter remembers. A counter that RestoreSliding
// makes of it goes on with the same counts. The secret is what the digests were made
// under; the snapshot is sealed with it. The label says what the elements are ("flow"), in
// MaxLabel bytes at most; only who gives the same can restore the counter. Errors are
// those of w, or wrap ErrSnapshot for a label that does not fit. It panics after Close.
func (s *Sliding) Snapshot(w io.Writer, secret Secret, label string) error {
	checkOpen("Sliding.Snapshot", s.arena)
	lines := s.arena.Lines()
	spills := s.spills()
	out := newSnapshotWriter(w, snapshotSliding, secret, label, []uint64{
		uint64(s.window), uint64(s.step), uint64(s.most), uint64(len(lines)),
		flagWord(s.started), uint64(s.front), uint64(s.latest), uint64(s.debt), uint64(s.swept),
		uint64(s.level), uint64(s.leveled), uint64(s.votes), s.ignored, uint64(s.pending.position),
		uint64(len(s.levels)), uint64(len(s.held)), uint64(len(spills)),
	})
	out.lines(lines)
	out.words(len(s.levels), func(i int) uint64 { return uint64(s.levels[i]) })
	out.words(3*len(s.held), func(i int) uint64 {
		h := &s.held[i/3]
		return [...]uint64{h.digest[0], h.digest[1], uint64(h.time)}[i%3]
	})
	out.words(2*len(spills), func(i int) uint64 {
		return [...]uint64{spills[i/2].line, spills[i/2].cell}[i%2]
	})
	return out.end()
}

// spills returns the spilled cells, those of a line in their order.
func (s *Sliding) spills() (all []slidingSpill) {
	for _, line := range slices.Sorted(maps.Keys(s.spilled)) {
		for _, cell := range s.spilled[line] {
			all = append(all, slidingSpill{uint64(line), cell})
		}
	}
	return all
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
	s, held, spills, err := slidingOf(&snapshotFields{words}, c)
	if err != nil {
		return nil, err
	}
	if err := s.load(in, held, spills); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// slidingOf makes the counter of a snapshot's fields, without its elements, and returns how
// many of them are held and spilled.
func slidingOf(f *snapshotFields, c RestoreConfig) (s *Sliding, held, spills int, err error) {
	damaged := fmt.Errorf("%w: parameters that do not belong together", ErrSnapshot)
	window, step, most, lines := int64(f.next()), int64(f.next()), f.next(), f.next()
	if _, err := slidingStep(time.Duration(window), time.Duration(step)); err != nil || step == 0 {
		return nil, 0, 0, damaged
	}
	for _, n := range []uint64{most, lines} {
		if n < asm.SlidingLines || n > maxDigestLines || n&(n-1) != 0 || lines > most {
			return nil, 0, 0, damaged
		}
	}
	if err := c.allow(lines); err != nil {
		return nil, 0, 0, err
	}
	s, err = newSliding(window, step, int(lines), int(most))
	if err != nil {
		return nil, 0, 0, err
	}
	s.started, s.front, s.latest = f.flag(), int64(f.next()), int64(f.next())
	s.debt, s.swept = int64(f.next()), int(f.next())
	s.level, s.leveled, s.votes = uint(f.next()), int64(f.next()), int(f.next())
	s.ignored, s.pending.position = f.next(), int(f.next())
	ring := f.next()
	held, spills = int(f.next()), int(f.next())
	most64 := floorDiv(slidingTimes, step) + 1
	switch {
	case s.front < -most64 || s.front > most64 || s.debt < 0 || s.debt >= s.steps || s.swept < 0 || s.swept >= int(lines),
		s.level > 64 || s.votes < 0 || s.votes > held || s.pending.position < 0 || s.pending.position >= counterStep,
		ring != uint64(len(s.levels)) || held < 0 || held >= slidingHeld,
		spills < 0 || uint64(spills) > 64*lines:
		s.Close()
		return nil, 0, 0, damaged
	}
	s.opened = s.front * s.step
	return s, held, spills, nil
}

// load reads the elements.
func (s *Sliding) load(in *snapshotReader, held, spills int) error {
	if err := in.lines(s.arena.Lines()); err != nil {
		return err
	}
	level := func(i int, word uint64) { s.levels[i] = uint8(word) }
	if err := in.words(len(s.levels), "levels", level); err != nil {
		return err
	}
	words := make([]uint64, 3*held)
	if err := in.words(len(words), "held elements", func(i int, word uint64) { words[i] = word }); err != nil {
		return err
	}
	for h := range slices.Chunk(words, 3) {
		s.held = append(s.held, slidingElement{asm.Digest{h[0], h[1]}, int64(h[2])})
	}
	line := 0
	put := func(i int, word uint64) {
		if i%2 == 0 {
			line = int(word % uint64(len(s.arena.Lines())))
			return
		}
		s.spilled[line] = append(s.spilled[line], word)
	}
	if err := in.words(2*spills, "spilled elements", put); err != nil {
		return err
	}
	s.recount()
	return in.checkSeal("lines")
}
