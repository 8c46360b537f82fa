// SPDX-License-Identifier: Apache-2.0

package rowtable

import (
	"fmt"

	"github.com/flowdedup/flowdedup/engine/snapshot"
)

// Saved is the fields of Rows in a snapshot. Rows are saved as they are, even in the
// middle of a pass, so that it continues at the same lines.
type Saved struct {
	Lines, Wider            uint64 // 0 for no wider table
	Thinning                bool
	Passed                  uint64
	Overflow, OverflowWider uint64 // words
}

func (s *Saved) Fields() snapshot.Fields {
	return snapshot.Fields{&s.Lines, &s.Wider, &s.Thinning, &s.Passed, &s.Overflow, &s.OverflowWider}
}

// State returns the fields of the rows, and the overflow words of both tables.
func (p *Rows[W]) State() (s Saved, overflow [2][]W) {
	overflow = [2][]W{p.Table.Overflow.words(), p.Wider.Overflow.words()}
	s = Saved{
		Lines: uint64(p.Lines()), Thinning: p.Thinning, Passed: uint64(p.passed),
		Overflow: uint64(len(overflow[0])), OverflowWider: uint64(len(overflow[1])),
	}
	if p.Growing() {
		s.Wider = uint64(p.Final())
	}
	return s, overflow
}

// moved returns how many lines of the wider table are in use.
func (p *Rows[W]) moved() int { return p.passed * (p.Final() / p.Lines()) }

// Save writes the used lines of both tables, and the overflow words.
func (p *Rows[W]) Save(out *snapshot.Writer, overflow [2][]W) {
	if p.Growing() {
		p.Table.Copying = out.Lines(p.Table.Arena, p.passed, p.Lines())
		p.Wider.Copying = out.Lines(p.Wider.Arena, 0, p.moved())
	} else {
		p.Table.Copying = out.Lines(p.Table.Arena, 0, p.Lines())
	}
	for _, words := range overflow {
		out.Words(len(words), func(i int) uint64 { return uint64(words[i]) })
	}
}

// loadLines reads the lines that Save wrote.
func (p *Rows[W]) loadLines(in *snapshot.Reader) error {
	if !p.Growing() {
		return in.Lines(p.Table.Arena.Lines())
	}
	if err := in.Lines(p.Table.Arena.Lines()[p.passed:]); err != nil {
		return err
	}
	return in.Lines(p.Wider.Arena.Lines()[:p.moved()])
}

// Check returns an error unless there are from least to most lines, and all fields are
// consistent. Lines grow to twice as many, or to next.
func (s *Saved) Check(least, most, next uint64) error {
	if n := s.Lines; n < least || n > most || n&(n-1) != 0 {
		return fmt.Errorf("%w: rows of %d lines, must be a power of two from %d to %d", snapshot.ErrInvalid, n, least, most)
	}
	words := 64 * (s.Lines + s.Wider)
	switch {
	case s.Wider != 0 && (s.Thinning || s.Wider != 2*s.Lines && s.Wider != next || s.Wider <= s.Lines),
		s.Passed >= s.Lines, s.Overflow > words*64, s.OverflowWider > words*64:
		return snapshot.ErrInconsistent
	}
	return nil
}

// Allow returns an error if the rows take more than c allows. Overflow words count as
// half a line each.
func (s *Saved) Allow(c snapshot.RestoreConfig) error {
	return c.Allow(s.Lines + s.Wider + (s.Overflow+s.OverflowWider)/2)
}

// Load reads the rows that Save wrote.
func (p *Rows[W]) Load(in *snapshot.Reader, s *Saved) error {
	if s.Passed%uint64(p.Group(int(s.Lines))) != 0 {
		return snapshot.ErrInconsistent
	}
	if int(s.Lines) != p.Lines() {
		table, err := p.newTable(int(s.Lines))
		if err != nil {
			return err
		}
		p.Table.Arena.Close()
		p.Table = table
	}
	if s.Wider > 0 {
		if err := p.Grow(int(s.Wider)); err != nil {
			return err
		}
	}
	p.Thinning, p.passed = s.Thinning, int(s.Passed)
	if err := p.loadLines(in); err != nil {
		return err
	}
	if err := p.Table.loadOverflow(in, int(s.Overflow)); err != nil {
		return err
	}
	return p.Wider.loadOverflow(in, int(s.OverflowWider))
}

// loadOverflow reads the given number of overflow words and dates.
func (t *Table[W]) loadOverflow(in *snapshot.Reader, words int) error {
	var last W
	return in.Words(words, "overflow words", func(i int, word uint64) {
		switch {
		case !t.Overflow.dated:
			t.Overflow.TestAndSet(W(word))
		case i%2 == 0:
			last = W(word)
		default:
			date, _ := t.Overflow.DateOf(last)
			*date = uint16(word)
		}
	})
}
