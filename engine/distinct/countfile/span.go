// SPDX-License-Identifier: Apache-2.0

package countfile

import "cmp"

// Span is a window and the part of it that was counted, in nanoseconds since 1970 UTC.
type Span struct {
	Start, End       int64 // the end excluded
	SeenFrom, SeenTo int64 // Start and End of a window that was counted whole
}

// Whole returns the span of a window that was counted whole.
func Whole(start, end int64) Span { return Span{start, end, start, end} }

// Cut says which part of the window was not counted: its "start", its "end", "both", or "" for
// none.
func (s *Span) Cut() string {
	start, end := s.SeenFrom > s.Start, s.SeenTo < s.End
	switch {
	case start && end:
		return "both"
	case start:
		return "start"
	case end:
		return "end"
	}
	return ""
}

// record returns the content of the window's record, which names an end of the counted part
// only where the window is cut.
func (s *Span) record() *windowRecord {
	r := &windowRecord{Start: s.Start, End: s.End}
	if s.SeenFrom > s.Start {
		r.SeenFrom = &s.SeenFrom
	}
	if s.SeenTo < s.End {
		r.SeenTo = &s.SeenTo
	}
	return r
}

// span is the inverse of record.
func (r *windowRecord) span() Span {
	return Span{r.Start, r.End, *cmp.Or(r.SeenFrom, &r.Start), *cmp.Or(r.SeenTo, &r.End)}
}
