package calendar

import (
	"cmp"
	"iter"
	"slices"
	"sort"
)

// Limits of the open windows.
const (
	// maxOpenWindows bounds memory. 64 hours is more than capture points differ, and
	// leaves room for stamps that are plainly wrong.
	maxOpenWindows = 64
	// idlePackets without one of its own let a window close: at a million packets a
	// second, one second for stragglers; merged captures are out of order by
	// milliseconds.
	idlePackets = 1 << 20
	// sweepPackets is the number of packets between two looks for idle windows.
	sweepPackets = 1 << 12
	// shelteredWindows, those with the most packets, do not make room for others: a burst
	// of wrong stamps, each in another window, must not close the one that all good
	// packets belong to.
	shelteredWindows = 8
)

// StreamConfig describes what a Stream manages.
type StreamConfig[T any] struct {
	Calendar Calendar
	// Open returns the content of a new window, never nil. Both bounds are math.MinInt64
	// for the window of packets without a timestamp.
	Open func(start, end int64) *T
	// Close takes the content of a window that no packet will fall in any more.
	Close func(start, end int64, content *T)
}

// Stream sorts the packets of a stream into the windows of a calendar, and decides when
// one is complete.
//
// Packets may be out of order, and stamps may be wrong; so nothing is concluded from a
// stamp but the window that its packet belongs to. No empty windows are opened to fill a
// gap. A window closes
//
//   - when 2^20 packets went by without one of its own while one of them fell in a newer
//     window. A wrong stamp from the future therefore keeps its window to the end, where
//     it does no harm, and one from the past closes when its turn comes;
//   - when 64 are open and another is needed: the one that has been without a packet for
//     longest, among all but the eight with the most packets;
//   - when the user calls EvictOldest for want of memory;
//   - at the end, oldest first.
//
// Every window is opened once at most. Packets of a window that has closed are late: they
// are counted and left to the caller. To know them later, closed windows are remembered
// as up to 1024 spans of time; if there are more, the two with the smallest gap between
// them become one, and what falls in the gap is late as well. That takes a thousand holes
// in the stream's time to happen.
//
// A Stream needs no Clock: the window of a wrong stamp is its quarantine.
//
// All these decisions are taken at positions in the stream. They depend neither on the
// wall clock nor on how the stream is cut into calls; only Expire does. A Stream is not
// safe for concurrent use.
type Stream[T any] struct {
	config  StreamConfig[T]
	open    []openWindow[T] // ascending
	current int             // index of the window of the last timed packet, or -1
	untimed openWindow[T]   // of packets without a timestamp; content is nil before the first
	closed  timeSpans
	expired int64 // the end of what Expire has closed; 0 before the first
	packets int64 // of the stream so far
	late    uint64
}

type openWindow[T any] struct {
	start, end int64
	packets    int64 // that fell in it
	touched    int64 // position in the stream after its last packet
	content    *T
}

// NewStream returns a Stream without an open window.
func NewStream[T any](c StreamConfig[T]) *Stream[T] {
	return &Stream[T]{config: c, current: -1}
}

// Run takes the packets with the given times, in stream order and in nanoseconds since
// 1970 UTC (math.MinInt64: none), up to the first one of another window. It returns how
// many these are, at least one unless times is empty, and the content of their window, or
// nil if they are late. The content belongs to the caller until a window closes, which
// only Run, EvictOldest and Close bring about.
//
// A run also ends where idle windows are looked for, so the next may be of the same
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
		if s.closed.holds(start) {
			n = leading(times, start, end)
			s.packets += int64(n)
			s.late += uint64(n)
			return n, nil
		}
		s.add(start, end)
	}
	o := &s.open[s.current]
	return s.record(o, leading(times, o.start, o.end)), o.content
}

// record books n packets to a window and returns n.
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
	for i, t := range times {
		if !within(t, start, end) {
			return i
		}
	}
	return len(times)
}

// within reports whether a window holds t. The last window of all holds its end.
func within(t, start, end int64) bool {
	return t >= start && (t < end || end == endOfTime)
}

// find makes the open window that holds t the current one, and reports whether there is
// one.
func (s *Stream[T]) find(t int64) bool {
	if s.current >= 0 && within(t, s.open[s.current].start, s.open[s.current].end) {
		return true
	}
	i, found := slices.BinarySearchFunc(s.open, t, func(o openWindow[T], t int64) int {
		return cmp.Compare(o.start, t)
	})
	if !found {
		i-- // the last one that starts before t
	}
	if i < 0 || !within(t, s.open[i].start, s.open[i].end) {
		return false
	}
	s.current = i
	return true
}

// add opens a window and makes it the current one.
func (s *Stream[T]) add(start, end int64) {
	if len(s.open) == maxOpenWindows {
		s.close(s.leastNeeded())
	}
	i, _ := slices.BinarySearchFunc(s.open, start, func(o openWindow[T], start int64) int {
		return cmp.Compare(o.start, start)
	})
	s.open = slices.Insert(s.open, i, openWindow[T]{start: start, end: end, content: s.config.Open(start, end)})
	s.current = i
}

// leastNeeded returns the index of the window that makes room for another.
func (s *Stream[T]) leastNeeded() int {
	byPackets := make([]int, len(s.open))
	for i := range byPackets {
		byPackets[i] = i
	}
	slices.SortFunc(byPackets, func(a, b int) int {
		return cmp.Or(cmp.Compare(s.open[b].packets, s.open[a].packets), cmp.Compare(s.open[b].touched, s.open[a].touched))
	})
	return slices.MinFunc(byPackets[shelteredWindows:], func(a, b int) int {
		return cmp.Compare(s.open[a].touched, s.open[b].touched)
	})
}

// sweep closes idle windows, oldest first.
func (s *Stream[T]) sweep() {
	newest := len(s.open) - 1
	for newest >= 0 && s.packets-s.open[newest].touched > idlePackets {
		newest--
	}
	// Windows after the newest one in use stay.
	for i := 0; i < newest; {
		if s.packets-s.open[i].touched > idlePackets {
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

// EvictOldest closes the window that has been without a packet for longest, apart from
// the one of the last packet, and reports whether there was one. Callers that watch their
// memory call it between runs, at positions in the stream of their choice.
func (s *Stream[T]) EvictOldest() bool {
	oldest := -1
	for i := range s.open {
		if i != s.current && (oldest < 0 || s.open[i].touched < s.open[oldest].touched) {
			oldest = i
		}
	}
	if oldest < 0 {
		return false
	}
	s.close(oldest)
	return true
}

// Close closes all windows, oldest first, and the one of packets without a timestamp
// last. All but those packets are late from now on where they fall in a window that was
// open.
func (s *Stream[T]) Close() {
	for len(s.open) > 0 {
		s.close(0)
	}
	if content := s.untimed.content; content != nil {
		s.untimed.content = nil
		s.config.Close(NoTime, NoTime, content)
	}
}

// All yields the contents of the open windows, oldest first, that of packets without a
// timestamp last. No window may close meanwhile.
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

// Late returns how many packets fell in a window that had closed.
func (s *Stream[T]) Late() uint64 { return s.late }

// Expire closes the windows that end at or before t, oldest first, and lets no packet
// into a window that has ended by then. Unlike all else here it goes by the caller's
// clock and not by the stream: whoever counts live traffic calls it as time goes by, with
// the present less what packets may take to arrive, and gets a window's count soon after
// its end however few packets come.
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

// Resume opens a window with content that an earlier Stream of the same calendar had, and
// so many packets. It does nothing for a window that is open or closed already.
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

// maxTimeSpans bounds what timeSpans remembers.
const maxTimeSpans = 1024

// timeSpans is a set of instants, kept as ascending spans that neither overlap nor touch.
// It grows when it would take too many spans to be exact.
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
