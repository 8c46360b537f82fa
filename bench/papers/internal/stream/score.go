package stream

// Score compares a filter's verdicts with the truth.
type Score struct {
	Distinct       int // first occurrences
	FalsePositives int // of these, reported as seen before
	Duplicates     int // later occurrences
	FalseNegatives int // of these, reported as new
}

// Add counts one verdict. known is the truth: the element came before.
func (s *Score) Add(known, seen bool) {
	switch {
	case !known:
		s.Distinct++
		if seen {
			s.FalsePositives++
		}
	default:
		s.Duplicates++
		if !seen {
			s.FalseNegatives++
		}
	}
}

// Sum adds the counts of another run.
func (s *Score) Sum(run Score) {
	s.Distinct += run.Distinct
	s.FalsePositives += run.FalsePositives
	s.Duplicates += run.Duplicates
	s.FalseNegatives += run.FalseNegatives
}

// FPR returns FalsePositives / Distinct, 0 if there are none.
func (s Score) FPR() float64 { return share(s.FalsePositives, s.Distinct) }

// FNR returns FalseNegatives / Duplicates, 0 if there are none.
func (s Score) FNR() float64 { return share(s.FalseNegatives, s.Duplicates) }

func share(part, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(part) / float64(of)
}

// Known remembers exactly which elements came, one bit each.
type Known []uint64

// NewKnown returns an empty set of elements below n.
func NewKnown(n int) Known { return make(Known, (n+63)/64) }

// Add reports whether the element came before, and adds it.
func (k Known) Add(element uint64) (known bool) {
	word, bit := &k[element/64], uint64(1)<<(element%64)
	known = *word&bit != 0
	*word |= bit
	return known
}
