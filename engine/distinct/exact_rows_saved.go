package distinct

import (
	"github.com/flowdedup/flowdedup/engine/internal/rowtable"
	"github.com/flowdedup/flowdedup/engine/snapshot"
)

// savedExact are the fields of exactRows in a snapshot.
type savedExact struct {
	rows rowtable.Saved
	exactState
}

func (s *savedExact) fields() snapshot.Fields {
	return append(s.rows.Fields(), &s.first, &s.maxAllowed, &s.held, &s.growAt, &s.position, &s.level, s.firsts[:])
}

// save returns the fields of the counter, and its spilled words.
func (x *exactRows[E, W]) save() (s savedExact, spilled [2][]W) {
	rows, spilled := x.rows.State()
	return savedExact{rows, x.exactState}, spilled
}

// check returns an error unless the counter has from least to most lines, with next after
// the last of them, and all fits together.
func (s *savedExact) check(least, most, next uint64) error {
	if err := s.rows.Check(least, most, next); err != nil {
		return err
	}
	if n := uint64(s.first); n < least || n > most || n&(n-1) != 0 || n > s.rows.Lines ||
		s.position < 0 || s.position > rowtable.Step || s.level > maxSampleLevel ||
		s.rows.Thinning && s.level == maxSampleLevel || s.maxAllowed < 0 || uint64(s.maxAllowed) > rowtable.MaxLines ||
		s.rows.Overflow+s.rows.OverflowWider > s.held || s.rows.Passed != 0 && s.rows.Wider == 0 && !s.rows.Thinning {
		return snapshot.ErrInconsistent
	}
	return nil
}

// load reads the rest of a counter.
func (x *exactRows[E, W]) load(in *snapshot.Reader, s *savedExact) error {
	if err := x.rows.Load(in, &s.rows); err != nil {
		return err
	}
	x.exactState = s.exactState
	if x.rows.Passing() || x.level > 0 {
		x.sides = new(rowtable.Sides[E])
	}
	return in.CheckSeal("lines")
}
