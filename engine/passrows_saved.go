package engine

import (
	"fmt"
)

// savedRows are the fields of passRows in a snapshot. Rows are saved as they are, also in the
// middle of a pass: so who goes on with them goes on at the same places.
type savedRows struct {
	lines, wider          uint64 // 0 for no wider table
	thinning              bool
	passed                uint64
	spilled, spilledWider uint64 // words
}

func (s *savedRows) fields() snapshotFields {
	return snapshotFields{&s.lines, &s.wider, &s.thinning, &s.passed, &s.spilled, &s.spilledWider}
}

// state returns the fields of the rows, and the words that spilled from either table.
func (p *passRows[W]) state() (s savedRows, spilled [2][]W) {
	spilled = [2][]W{p.table.spilled.words(), p.wider.spilled.words()}
	s = savedRows{
		lines: uint64(p.lines()), thinning: p.thinning, passed: uint64(p.passed),
		spilled: uint64(len(spilled[0])), spilledWider: uint64(len(spilled[1])),
	}
	if p.growing() {
		s.wider = uint64(p.final())
	}
	return s, spilled
}

// moved returns how many lines of the wider table hold something.
func (p *passRows[W]) moved() int { return p.passed * (p.final() / p.lines()) }

// save writes the lines of both tables that hold something, and spilled words.
func (p *passRows[W]) save(out *snapshotWriter, spilled [2][]W) {
	if p.growing() {
		p.table.copying = out.shared(p.table.arena, p.passed, p.lines())
		p.wider.copying = out.shared(p.wider.arena, 0, p.moved())
	} else {
		p.table.copying = out.shared(p.table.arena, 0, p.lines())
	}
	for _, words := range spilled {
		out.words(len(words), func(i int) uint64 { return uint64(words[i]) })
	}
}

// loadLines reads them.
func (p *passRows[W]) loadLines(in *snapshotReader) error {
	if !p.growing() {
		return in.lines(p.table.arena.Lines())
	}
	if err := in.lines(p.table.arena.Lines()[p.passed:]); err != nil {
		return err
	}
	return in.lines(p.wider.arena.Lines()[:p.moved()])
}

// check returns an error unless there are from least to most lines, which may grow to
// another number than twice as many, next, if that is not 0, and all fits together.
func (s *savedRows) check(least, most, next uint64) error {
	if n := s.lines; n < least || n > most || n&(n-1) != 0 {
		return fmt.Errorf("%w: rows of %d lines, must be a power of two from %d to %d", ErrSnapshot, n, least, most)
	}
	words := 64 * (s.lines + s.wider)
	switch {
	case s.wider != 0 && (s.thinning || s.wider != 2*s.lines && s.wider != next || s.wider <= s.lines),
		s.passed >= s.lines, s.spilled > words*64, s.spilledWider > words*64:
		return errInconsistent
	}
	return nil
}

// allowed returns an error if the rows take more than is allowed. Tables of what has spilled are at
// most a quarter as large as that many lines.
func (s *savedRows) allowed(c RestoreConfig) error {
	return c.allow(s.lines + s.wider + (s.spilled+s.spilledWider)/2)
}

// load reads the rows.
func (p *passRows[W]) load(in *snapshotReader, s *savedRows) error {
	if s.passed%uint64(p.group(int(s.lines))) != 0 {
		return errInconsistent
	}
	if int(s.lines) != p.lines() {
		table, err := p.newTable(int(s.lines))
		if err != nil {
			return err
		}
		p.table.arena.Close()
		p.table = table
	}
	if s.wider > 0 {
		if err := p.grow(int(s.wider)); err != nil {
			return err
		}
	}
	p.thinning, p.passed = s.thinning, int(s.passed)
	if err := p.loadLines(in); err != nil {
		return err
	}
	if err := p.table.load(in, int(s.spilled)); err != nil {
		return err
	}
	return p.wider.load(in, int(s.spilledWider))
}

// load reads so many spilled words and dates.
func (t *rowTable[W]) load(in *snapshotReader, words int) error {
	var last W
	return in.words(words, "spilled words", func(i int, word uint64) {
		switch {
		case !t.spilled.dated:
			t.spilled.testAndSet(W(word))
		case i%2 == 0:
			last = W(word)
		default:
			date, _ := t.spilled.dateOf(last)
			*date = uint16(word)
		}
	})
}
