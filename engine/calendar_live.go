package engine

import (
	"cmp"
	"slices"
)

// Expire closes the windows that end at or before t, oldest first, and lets no packet
// into a window that has ended by then. Unlike all else here it goes by the caller's
// clock and not by the stream: whoever counts live traffic calls it as time goes by,
// with the present less what packets may take to arrive, and gets a window's count soon
// after its end however few packets come.
func (w *Windows[T]) Expire(t int64) {
	start, _ := w.config.Calendar.Window(t)
	if start == w.expired || start == beginOfTime {
		return
	}
	w.expired = start
	for len(w.open) > 0 && w.open[0].end <= start {
		w.close(0)
	}
	w.closed.add(beginOfTime, start)
}

// Resume opens a window with content that an earlier Windows of the same calendar had,
// and so many packets. It does nothing for a window that is open or closed already.
func (w *Windows[T]) Resume(start, end, packets int64, content *T) {
	if w.closed.holds(start) || len(w.open) == maxOpenWindows {
		return
	}
	i, found := slices.BinarySearchFunc(w.open, start, func(o openWindow[T], start int64) int {
		return cmp.Compare(o.start, start)
	})
	if found {
		return
	}
	w.open = slices.Insert(w.open, i, openWindow[T]{
		start: start, end: end, packets: packets, touched: w.packets, content: content,
	})
	w.current = i
}

// Each hands on the open windows in the order of All: their bounds, both math.MinInt64
// for packets without a timestamp, how many packets fell in them, and their contents.
func (w *Windows[T]) Each(do func(start, end, packets int64, content *T)) {
	for i := range w.open {
		o := &w.open[i]
		do(o.start, o.end, o.packets, o.content)
	}
	if o := &w.untimed; o.content != nil {
		do(noTime, noTime, o.packets, o.content)
	}
}
