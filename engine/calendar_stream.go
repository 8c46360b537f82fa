package engine

import (
	"cmp"
	"iter"
	"math"
	"slices"
)

// noTime is the time of a packet without a timestamp.
const noTime = math.MinInt64

// Limits of the open windows.
const (
	// maxOpenWindows bounds memory. 64 hours is more than capture points
	// differ, and leaves room for stamps that are plainly wrong.
	maxOpenWindows = 64
	// idlePackets without one of its own let a window close: at a million
	// packets a second, one second for stragglers; merged captures are out of
	// order by milliseconds.
	idlePackets = 1 << 20
	// sweepPackets is the number of packets between two looks for idle windows.
	sweepPackets = 1 << 12
	// shelteredWindows, those with the most packets, do not make room for others:
	// a burst of wrong stamps, each in another window, must not close the one
	// that all good packets belong to.
	shelteredWindows = 8
)

// WindowsConfig describes what a Windows manages.
type WindowsConfig[T any] struct {
	Calendar Calendar
	// Open returns the content of a new window, never nil. Both bounds are
	// math.MinInt64 for the window of packets without a timestamp.
	Open func(start, end int64) *T
	// Close takes the content of a window that no packet will fall in any more.
	Close func(start, end int64, content *T)
}

// Windows sorts the packets of a stream into the windows of a calendar, and
// decides when one is complete.
//
// Packets may be out of order, and stamps may be wrong; so nothing is concluded
// from a stamp but the window that its packet belongs to. No empty windows
// are opened to fill a gap. A window closes
//
//   - when 2^20 packets went by without one of its own while one of them fell
//     in a newer window. A wrong stamp from the future therefore keeps its
//     window to the end, where it does no harm, and one from the past closes
//     when its turn comes;
//   - when 64 are open and another is needed: the one that has been without a
//     packet for longest, among all but the eight with the most packets;
//   - when the user calls Shed for want of memory;
//   - at the end, oldest first.
//
// Every window is opened once at most. Packets of a window that has closed are
// late: they are counted and left to the caller. To know them later, closed
// windows are remembered as up to 1024 spans of time; if there are more, the
// two with the smallest gap between them become one, and what falls in the gap is
// late as well. That takes a thousand holes in the stream's time to happen.
//
// All these decisions are taken at positions in the stream. They depend neither on the
// wall clock nor on how the stream is cut into calls; only Expire does. A Windows is not safe for
// concurrent use.
type Windows[T any] struct {
	config  WindowsConfig[T]
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

// NewWindows returns a Windows without an open window.
func NewWindows[T any](c WindowsConfig[T]) *Windows[T] {
	return &Windows[T]{config: c, current: -1}
}

// Run takes the packets with the given times, in stream order and in nanoseconds
// since 1970 UTC (math.MinInt64: none), up to the first one of another window.
// It returns how many these are, at least one unless times is empty, and the
// content of their window, or nil if they are late. The content belongs to the
// caller until a window closes, which only Run, Shed and Close bring about.
//
// A run also ends where idle windows are looked for, so the next may be of the
// same window.
func (w *Windows[T]) Run(times []int64) (n int, content *T) {
	if len(times) == 0 {
		return 0, nil
	}
	untilSweep := sweepPackets - w.packets%sweepPackets
	if untilSweep == sweepPackets {
		w.sweep()
	}
	times = times[:min(int64(len(times)), untilSweep)]
	if times[0] == noTime {
		return w.runUntimed(times)
	}
	if !w.find(times[0]) {
		start, end := w.config.Calendar.Window(times[0])
		if w.closed.holds(start) {
			n = leading(times, start, end)
			w.packets += int64(n)
			w.late += uint64(n)
			return n, nil
		}
		w.add(start, end)
	}
	o := &w.open[w.current]
	return w.take(o, leading(times, o.start, o.end)), o.content
}

// take books n packets to a window and returns n.
func (w *Windows[T]) take(o *openWindow[T], n int) int {
	w.packets += int64(n)
	o.packets += int64(n)
	o.touched = w.packets
	return n
}

func (w *Windows[T]) runUntimed(times []int64) (n int, content *T) {
	if w.untimed.content == nil {
		w.untimed.content = w.config.Open(noTime, noTime)
	}
	for n < len(times) && times[n] == noTime {
		n++
	}
	return w.take(&w.untimed, n), w.untimed.content
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

// find makes the open window that holds t the current one, and reports whether
// there is one.
func (w *Windows[T]) find(t int64) bool {
	if w.current >= 0 && within(t, w.open[w.current].start, w.open[w.current].end) {
		return true
	}
	i, found := slices.BinarySearchFunc(w.open, t, func(o openWindow[T], t int64) int {
		return cmp.Compare(o.start, t)
	})
	if !found {
		i-- // the last one that starts before t
	}
	if i < 0 || !within(t, w.open[i].start, w.open[i].end) {
		return false
	}
	w.current = i
	return true
}

// add opens a window and makes it the current one.
func (w *Windows[T]) add(start, end int64) {
	if len(w.open) == maxOpenWindows {
		w.close(w.leastNeeded())
	}
	i, _ := slices.BinarySearchFunc(w.open, start, func(o openWindow[T], start int64) int {
		return cmp.Compare(o.start, start)
	})
	w.open = slices.Insert(w.open, i, openWindow[T]{start: start, end: end, content: w.config.Open(start, end)})
	w.current = i
}

// leastNeeded returns the index of the window that makes room for another.
func (w *Windows[T]) leastNeeded() int {
	byPackets := make([]int, len(w.open))
	for i := range byPackets {
		byPackets[i] = i
	}
	slices.SortFunc(byPackets, func(a, b int) int {
		return cmp.Or(cmp.Compare(w.open[b].packets, w.open[a].packets), cmp.Compare(w.open[b].touched, w.open[a].touched))
	})
	return slices.MinFunc(byPackets[shelteredWindows:], func(a, b int) int {
		return cmp.Compare(w.open[a].touched, w.open[b].touched)
	})
}

// sweep closes idle windows, oldest first.
func (w *Windows[T]) sweep() {
	newest := len(w.open) - 1
	for newest >= 0 && w.packets-w.open[newest].touched > idlePackets {
		newest--
	}
	// Windows after the newest one in use stay.
	for i := 0; i < newest; {
		if w.packets-w.open[i].touched > idlePackets {
			w.close(i)
			newest--
		} else {
			i++
		}
	}
}

// close closes open window i.
func (w *Windows[T]) close(i int) {
	o := w.open[i]
	w.open = slices.Delete(w.open, i, i+1)
	w.closed.add(o.start, o.end)
	switch {
	case w.current == i:
		w.current = -1
	case w.current > i:
		w.current--
	}
	w.config.Close(o.start, o.end, o.content)
}

// Shed closes the window that has been without a packet for longest, apart from
// the one of the last packet, and reports whether there was one. Callers
// that watch their memory call it between runs, at positions in the stream of
// their choice.
func (w *Windows[T]) Shed() bool {
	oldest := -1
	for i := range w.open {
		if i != w.current && (oldest < 0 || w.open[i].touched < w.open[oldest].touched) {
			oldest = i
		}
	}
	if oldest < 0 {
		return false
	}
	w.close(oldest)
	return true
}

// Close closes all windows, oldest first, and the one of packets without a
// timestamp last. All but those packets are late from now on where they
// fall in a window that was open.
func (w *Windows[T]) Close() {
	for len(w.open) > 0 {
		w.close(0)
	}
	if content := w.untimed.content; content != nil {
		w.untimed.content = nil
		w.config.Close(noTime, noTime, content)
	}
}

// All yields the contents of the open windows, oldest first, that of packets
// without a timestamp last. No window may close meanwhile.
func (w *Windows[T]) All() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range w.open {
			if !yield(w.open[i].content) {
				return
			}
		}
		if w.untimed.content != nil {
			yield(w.untimed.content)
		}
	}
}

// Late returns how many packets fell in a window that had closed.
func (w *Windows[T]) Late() uint64 { return w.late }
