package calendar

import (
	"cmp"
	"slices"
)

// Expire closes the windows that end at or before t, oldest first, and lets no packet
// into a window that has ended by then. Unlike all else here it goes by the caller's
// clock and not by the stream: whoever counts live traffic calls it as time goes by,
// with the present less what packets may take to arrive, and gets a window's count soon
// after its end however few packets come.
func (s *Stream[T]) Expire(t int64) {
	start, _ := s.config.Calendar.Window(t)
	if start == s.expired || start == beginOfTime {
		return
	}
	s.expired = start
	for len(s.open) > 0 && s.open[0].end <= start {
		s.close(0)
	}
	s.closed.add(beginOfTime, start)
}

// Resume opens a window with content that an earlier Stream of the same calendar had,
// and so many packets. It does nothing for a window that is open or closed already.
func (s *Stream[T]) Resume(start, end, packets int64, content *T) {
	if s.closed.holds(start) || len(s.open) == maxOpenWindows {
		return
	}
	i, found := slices.BinarySearchFunc(s.open, start, func(o openWindow[T], start int64) int {
		return cmp.Compare(o.start, start)
	})
	if found {
		return
	}
	s.open = slices.Insert(s.open, i, openWindow[T]{
		start: start, end: end, packets: packets, touched: s.packets, content: content,
	})
	s.current = i
}

// Each hands on the open windows in the order of All: their bounds, both math.MinInt64
// for packets without a timestamp, how many packets fell in them, and their contents.
func (s *Stream[T]) Each(do func(start, end, packets int64, content *T)) {
	for i := range s.open {
		o := &s.open[i]
		do(o.start, o.end, o.packets, o.content)
	}
	if o := &s.untimed; o.content != nil {
		do(NoTime, NoTime, o.packets, o.content)
	}
}
