package calendar

import (
	"slices"
	"sort"
)

// maxTimeSpans bounds what timeSpans remembers.
const maxTimeSpans = 1024

// timeSpans is a set of instants, kept as ascending spans that neither overlap nor
// touch. It grows when it would take too many spans to be exact.
type timeSpans struct {
	spans []timeSpan
}

type timeSpan struct{ start, end int64 } // the end excluded

// holds reports whether t is in the set.
func (s *timeSpans) holds(t int64) bool {
	i := s.after(t)
	return i > 0 && t < s.spans[i-1].end
}

// after returns the index of the first span that starts after t.
func (s *timeSpans) after(t int64) int {
	return sort.Search(len(s.spans), func(i int) bool { return s.spans[i].start > t })
}

// add adds the instants from start to before end.
func (s *timeSpans) add(start, end int64) {
	to := s.after(end)
	from := to
	for from > 0 && s.spans[from-1].end >= start {
		from--
		start = min(start, s.spans[from].start)
		end = max(end, s.spans[from].end)
	}
	s.spans = slices.Replace(s.spans, from, to, timeSpan{start, end})
	if len(s.spans) > maxTimeSpans {
		s.bridge()
	}
}

// bridge adds the shortest gap.
func (s *timeSpans) bridge() {
	best, shortest := 1, ^uint64(0)
	for i := 1; i < len(s.spans); i++ {
		if gap := uint64(s.spans[i].start) - uint64(s.spans[i-1].end); gap < shortest {
			best, shortest = i, gap
		}
	}
	s.spans[best-1].end = s.spans[best].end
	s.spans = slices.Delete(s.spans, best, best+1)
}
