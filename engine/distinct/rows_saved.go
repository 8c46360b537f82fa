package distinct

import (
	"github.com/flowdedup/flowdedup/engine/internal/rowtable"
	"github.com/flowdedup/flowdedup/engine/snapshot"
)

// savedExact are the fields of exactRows in a snapshot.
type savedExact struct {
	rows rowtable.Saved
	exactTally
}

func (s *savedExact) fields() snapshot.Fields {
	return append(s.rows.Fields(), &s.first, &s.most, &s.held, &s.limit, &s.position, &s.level, s.firsts[:])
}

// state returns the fields of the counter, and its spilled words.
func (x *exactRows[E, W]) state() (s savedExact, spilled [2][]W) {
	rows, spilled := x.rows.State()
	return savedExact{rows, x.exactTally}, spilled
}

// check returns an error unless the counter has from least to most lines, with next after
// the last of them, and all fits together.
func (s *savedExact) check(least, most, next uint64) error {
	if err := s.rows.Check(least, most, next); err != nil {
		return err
	}
	if n := uint64(s.first); n < least || n > most || n&(n-1) != 0 || n > s.rows.Lines ||
		s.position < 0 || s.position > rowtable.Step || s.level > maxSampleLevel ||
		s.rows.Thinning && s.level == maxSampleLevel || s.most < 0 || uint64(s.most) > rowtable.MaxLines ||
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
	x.exactTally = s.exactTally
	if x.rows.Passing() || x.level > 0 {
		x.apart = new(rowtable.Sides[E])
	}
	return in.CheckSeal("lines")
}
