// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"cmp"
	"iter"
	"slices"
	"sort"
)

// Limits of the open windows.
const (
	// maxOpenWindows bounds memory. Capture points differ by less than 64 hours, and that
	// leaves room for stamps that are plainly wrong.
	maxOpenWindows = 64
	// idlePackets is the number of packets of other windows after which a window closes.
	// At a million packets a second that leaves a second for stragglers; merged captures
	// are out of order by milliseconds.
	idlePackets = 1 << 20
	// sweepPackets is the number of packets between two searches for idle windows.
	sweepPackets = 1 << 12
)

// StreamConfig configures NewStream.
type StreamConfig[T any] struct {
	Calendar Calendar
	// Open returns the content of a new window, never nil. Both bounds are math.MinInt64
	// for the window of packets without a timestamp.
	Open func(start, end int64) *T
	// Close takes the content of a window that no packet belongs to any more.
	Close func(start, end int64, content *T)
}

// Stream sorts the packets of a stream into the windows of a calendar, and decides when a
// window is complete.
//
// Packets may be out of order, and stamps may be wrong. So a stamp only says which window
// its packet belongs to. Gaps have no empty windows. A window closes
//
//   - when 2^20 packets came, none of them of this window and at least one of a
//     newer window, and no earlier window within 64 windows is open. So windows close in
//     their order where packets of a capture point come later than packets of other points. The
//     window of a wrong stamp from the future stays to the end, where it does no harm, and
//     the window of a wrong stamp from the past closes in its turn;
//   - when 64 are open and a packet needs a new window: the first that is not in use. Where stamps
//     jump, the eight with the most packets stay; otherwise the windows of wrong stamps from the
//     future do. Later windows far away, with fewer packets than it, may all be of wrong
//     stamps: then it is as where stamps jump;
//   - when the caller calls EvictOldest, for want of memory;
//   - at the end, oldest first.
//
// Every window opens once at most, unless Expire lets it open again. Packets of a closed
// window are late: Stream counts them and leaves them to the caller. It remembers closed
// windows as up to 1024 spans of time. If there are more, the two with the smallest gap
// become one, and packets in the gap are late as well. That takes a thousand holes in the
// stream's time.
//
// A Stream needs no Clock, as the window of a wrong stamp is its quarantine.
//
// All decisions are taken at positions in the stream. They depend neither on how the stream
// is cut into calls nor, except for Expire, on the wall clock. A Stream is not safe for
// concurrent use.
type Stream[T any] struct {
	config  StreamConfig[T]
	open    []openWindow[T] // ascending
	current int             // index of the window of the last timed packet, or -1
	untimed openWindow[T]   // of packets without a timestamp; content is nil before the first
	closed  timeSpans
	expired int64 // end of the time that Expire has closed; beginOfTime before the first call
	packets int64 // of the stream so far
	late    uint64

	evicted     timeSpans // the part of closed that EvictOldest closed
	lateEvicted uint64    // the part of late that belonged to it
}

type openWindow[T any] struct {
	start, end int64
	packets    int64 // packets of the window
	touched    int64 // position in the stream after its last packet
	content    *T
}

// NewStream returns a Stream without open windows.
func NewStream[T any](c StreamConfig[T]) *Stream[T] {
	return &Stream[T]{config: c, current: -1, expired: beginOfTime}
}

// Run takes the packets with the given times up to the first packet of another window. times
// are in stream order, in nanoseconds since 1970 UTC (math.MinInt64: none). Run returns
// how many packets it took, at least one unless times is empty, and the content of their
// window, or nil if they are late. The caller may use the content until a window closes,
// which only Run, EvictOldest, Expire and Close do.
//
// A run also ends where Run searches for idle windows, so the next run may be of the same
// window.
func (s *Stream[T]) Run(times []int64) (n int, content *T) {
	if len(times) == 0 {
		return 0, nil
	}
	untilSweep := sweepPackets - s.packets%sweepPackets
	if untilSweep == sweepPackets {
		s.sweep()
	}
	times = times[:min(int64(len(times)), untilSweep)]
	if times[0] == NoTime {
		return s.runUntimed(times)
	}
	if !s.find(times[0]) {
		start, end := s.config.Calendar.Window(times[0])
		if len(s.open) == maxOpenWindows && !s.closed.holds(start) {
			s.close(s.leastNeeded())
		}
		if s.closed.holds(start) { // maybe since Close called Skip
			n = leading(times, start, end)
			s.packets += int64(n)
			s.late += uint64(n)
			if s.evicted.holds(start) {
				s.lateEvicted += uint64(n)
			}
			return n, nil
		}
		s.add(start, end)
	}
	o := &s.open[s.current]
	return s.record(o, leading(times, o.start, o.end)), o.content
}

// record counts n packets of a window, and returns n.
func (s *Stream[T]) record(o *openWindow[T], n int) int {
	s.packets += int64(n)
	o.packets += int64(n)
	o.touched = s.packets
	return n
}

func (s *Stream[T]) runUntimed(times []int64) (n int, content *T) {
	if s.untimed.content == nil {
		s.untimed.content = s.config.Open(NoTime, NoTime)
	}
	for n < len(times) && times[n] == NoTime {
		n++
	}
	return s.record(&s.untimed, n), s.untimed.content
}

// leading counts the packets up to the first that is not in a window.
func leading(times []int64, start, end int64) int {
	last := end
	if end != endOfTime {
		last--
	}
	span := uint64(last) - uint64(start)
	for i, t := range times {
		if uint64(t)-uint64(start) > span {
			return i
		}
	}
	return len(times)
}

// within reports whether a window holds t. The last window of all holds its end.
func within(t, start, end int64) bool {
	return t >= start && (t < end || end == endOfTime)
}

// find makes the open window that holds t current. It reports whether there is such a
// window.
func (s *Stream[T]) find(t int64) bool {
	if s.current >= 0 && within(t, s.open[s.current].start, s.open[s.current].end) {
		return true
	}
	i, found := s.indexOf(t)
	if found {
		s.current = i
	}
	return found
}

// indexOf returns the index of the open window that holds t, if any.
func (s *Stream[T]) indexOf(t int64) (i int, ok bool) {
	i, found := slices.BinarySearchFunc(s.open, t, func(o openWindow[T], t int64) int {
		return cmp.Compare(o.start, t)
	})
	if !found {
		i-- // the last window that starts before t
	}
	return i, i >= 0 && within(t, s.open[i].start, s.open[i].end)
}

// IsOpen reports whether an open window holds t.
func (s *Stream[T]) IsOpen(t int64) bool {
	_, ok := s.indexOf(t)
	return ok
}

// add opens a window and makes it current.
func (s *Stream[T]) add(start, end int64) {
	i, _ := slices.BinarySearchFunc(s.open, start, func(o openWindow[T], start int64) int {
		return cmp.Compare(o.start, start)
	})
	s.open = slices.Insert(s.open, i, openWindow[T]{start: start, end: end, content: s.config.Open(start, end)})
	s.current = i
}

// sweep closes idle windows, oldest first. Windows wait for earlier windows.
func (s *Stream[T]) sweep() {
	newest := len(s.open) - 1
	for newest >= 0 && s.packets-s.open[newest].touched > idlePackets {
		newest--
	}
	// Windows after the newest window in use stay.
	for i := 0; i < newest; {
		if s.packets-s.open[i].touched > idlePackets && !s.waits(i) {
			s.close(i)
			newest--
		} else {
			i++
		}
	}
}

// close closes open window i.
func (s *Stream[T]) close(i int) {
	o := s.open[i]
	s.open = slices.Delete(s.open, i, i+1)
	s.closed.add(o.start, o.end)
	switch {
	case s.current == i:
		s.current = -1
	case s.current > i:
		s.current--
	}
	s.config.Close(o.start, o.end, o.content)
}

// Close closes all windows, oldest first, and the window of packets without a timestamp
// last. From then on packets with a timestamp in a window that was open are late.
func (s *Stream[T]) Close() {
	for len(s.open) > 0 {
		s.close(0)
	}
	if content := s.untimed.content; content != nil {
		s.untimed.content = nil
		s.config.Close(NoTime, NoTime, content)
	}
}

// All yields the contents of the open windows, oldest first, and the content of packets
// without a timestamp last. No window may close meanwhile.
func (s *Stream[T]) All() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range s.open {
			if !yield(s.open[i].content) {
				return
			}
		}
		if s.untimed.content != nil {
			yield(s.untimed.content)
		}
	}
}

// Late returns how many packets belonged to a window that had closed.
func (s *Stream[T]) Late() uint64 { return s.late }

// LateEvicted returns how many of them belonged to a window that EvictOldest had closed.
func (s *Stream[T]) LateEvicted() uint64 { return s.lateEvicted }

// Expire closes the windows that end at or before t, oldest first. Packets of windows
// that have ended by then are late. Unlike everything else here it goes by the caller's
// clock and not by the stream. Counters of live traffic call it as time passes, with the
// present time less the longest delay of packets. So the count of a window comes soon
// after its end, however few packets come.
//
// If t has gone back past the window before, that clock was set back. Then the windows from t on
// may open again: their packets would be late until the clock has caught up.
func (s *Stream[T]) Expire(t int64) {
	start, end := s.config.Calendar.Window(t)
	if start == s.expired || start == beginOfTime {
		return
	}
	if end < s.expired {
		s.closed.cut(start)
	} else if start < s.expired {
		return // it will soon have caught up
	}
	s.expired = start
	for len(s.open) > 0 && s.open[0].end <= start {
		s.close(0)
	}
	s.closed.add(beginOfTime, start)
}

// Skip closes all windows from start to end that have not opened yet. Packets of them are
// late. Callers that have said that these windows are empty call it, also from
// StreamConfig.Close.
func (s *Stream[T]) Skip(start, end int64) { s.closed.add(start, end) }

// Resume opens a window with the content and the packet count that it had in an earlier
// Stream of the same calendar. It does nothing for a window that is open or closed
// already.
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

// Each calls do for the open windows in the order of All, with their bounds, their number
// of packets and their content. Both bounds are math.MinInt64 for packets without a
// timestamp.
func (s *Stream[T]) Each(do func(start, end, packets int64, content *T)) {
	for i := range s.open {
		o := &s.open[i]
		do(o.start, o.end, o.packets, o.content)
	}
	if o := &s.untimed; o.content != nil {
		do(NoTime, NoTime, o.packets, o.content)
	}
}

// maxTimeSpans bounds the spans of a timeSpans.
const maxTimeSpans = 1024

// timeSpans is a set of instants, as ascending spans that neither overlap nor touch.
// Where exact spans would be too many, it has more instants.
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

// cut removes the instants from t on.
func (s *timeSpans) cut(t int64) {
	s.spans = s.spans[:s.after(t-1)] // spans that start before t
	if last := len(s.spans) - 1; last >= 0 {
		s.spans[last].end = min(s.spans[last].end, t)
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
