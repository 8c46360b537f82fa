package engine

// savedExact are the fields of exactRows in a snapshot.
type savedExact struct {
	rows savedRows
	exactBooks
}

func (s *savedExact) fields() snapshotFields {
	return append(s.rows.fields(), &s.first, &s.most, &s.held, &s.limit, &s.position, &s.level, s.firsts[:])
}

// state returns the fields of the counter, and its spilled words.
func (x *exactRows[E, W]) state() (s savedExact, spilled [2][]W) {
	rows, spilled := x.rows.state()
	return savedExact{rows, x.exactBooks}, spilled
}

// check returns an error unless the counter has from least to most lines, with next after
// the last of them, and all fits together.
func (s *savedExact) check(least, most, next uint64) error {
	if err := s.rows.check(least, most, next); err != nil {
		return err
	}
	if n := uint64(s.first); n < least || n > most || n&(n-1) != 0 || n > s.rows.lines ||
		s.position < 0 || s.position > counterStep || s.level > maxSampleLevel ||
		s.rows.thinning && s.level == maxSampleLevel || s.most < 0 || uint64(s.most) > maxRowLines ||
		s.rows.spilled+s.rows.spilledWider > s.held || s.rows.passed != 0 && s.rows.wider == 0 && !s.rows.thinning {
		return errInconsistent
	}
	return nil
}

// load reads the rest of a counter.
func (x *exactRows[E, W]) load(in *snapshotReader, s *savedExact) error {
	if err := x.rows.load(in, &s.rows); err != nil {
		return err
	}
	x.exactBooks = s.exactBooks
	if x.rows.passing() || x.level > 0 {
		x.apart = new(apart[E])
	}
	return in.checkSeal("lines")
}
