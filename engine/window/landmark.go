// SPDX-License-Identifier: Apache-2.0

package window

import (
	"fmt"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/layout"
)

// Landmarks makes any filter of this package find copies in landmark windows (Metwally,
// Agrawal, El Abbadi, WWW 2005): an element is a copy if an equal element came in the same
// window. Windows of time are those of a calendar.Calendar, so full hours, days and weeks
// of a time zone. Windows of packets begin at the first element, and each has as many.
//
// Part makes the digests of equal elements differ if their windows do, and a filter with
// the window of Span does the rest. Each element of a window lies within that span of all
// others, so the filter finds every copy, and by the boundaries to the nanosecond, whatever
// the precision of its own window. Its memory, its false positive rate and its counts of
// evicted and late elements keep their meaning. It holds the elements of one span, as for a
// window that slides, and forgets elements before a boundary in their order. So an element that
// comes late for its window is judged against that window, as long as the filter remembers
// it.
//
// No time closes a window, so a wrong time harms no other element. There is no need for a
// calendar.Clock: the window of a wrong time is its quarantine.
//
// Landmarks is not safe for concurrent use.
type Landmarks struct {
	calendar calendar.Calendar
	packets  int64 // of a window; 0 for windows of time
	position int64 // of the next element that counts

	number int64 // of the current window: its begin, or how many were before it
	mask   digest.Digest
}

// NewLandmarks makes the Landmarks of a landmark window. zone is the time zone of windows of
// time; nil means UTC. Errors wrap engine.ErrWindow.
func NewLandmarks(w Window, zone *time.Location) (*Landmarks, error) {
	length := w
	length.Landmark = false
	if err := length.check(); err != nil {
		return nil, err
	}
	if !w.Landmark || w.None {
		return nil, fmt.Errorf("%w: %s is no landmark window", engine.ErrWindow, w)
	}
	l := &Landmarks{calendar: calendar.Calendar{Every: w.Duration, Location: zone}, packets: w.Packets}
	l.enter(0)
	return l, nil
}

// Span returns the window of the filter: the longest window there is. A day has 25 hours
// where clocks go back.
func (l *Landmarks) Span() Window {
	if l.packets > 0 {
		return Window{Packets: l.packets}
	}
	return Window{Duration: l.calendar.Longest()}
}

// Part changes the digests of the next elements. times has their times; windows of packets do not
// read it. counted has a set bit for each element that counts in windows of packets; nil counts
// all. The elements that do not count must not reach the filter. Part allocates nothing. It panics if times or counted is too short.
func (l *Landmarks) Part(d []digest.Digest, times []int64, counted []uint64) {
	if l.packets > 0 {
		l.partPositions(d, counted)
		return
	}
	for i, t := range times[:len(d)] {
		if t == calendar.NoTime {
			continue // no filter with a window of time remembers it
		}
		if start, _ := l.calendar.Window(t); start != l.number {
			l.enter(start)
		}
		d[i][0] ^= l.mask[0]
		d[i][1] ^= l.mask[1]
	}
}

func (l *Landmarks) partPositions(d []digest.Digest, counted []uint64) {
	begin := l.number * l.packets
	for i := range d {
		if l.position-begin >= l.packets {
			l.enter(l.position / l.packets)
			begin = l.number * l.packets
		}
		d[i][0] ^= l.mask[0]
		d[i][1] ^= l.mask[1]
		if counted == nil || counted[i/64]>>(i%64)&1 != 0 {
			l.position++
		}
	}
}

// enter makes a window current. Its mask is a bijection of its number in each half,
// so the digests of equal elements of two windows are as far apart as those of different
// elements.
func (l *Landmarks) enter(number int64) {
	l.number, l.mask = number, digest.Digest{layout.Mix(uint64(number)), layout.Mix(^uint64(number))}
}

// Position returns the number of elements that counted so far; 0 in windows of time.
func (l *Landmarks) Position() uint64 { return uint64(l.position) }

// Resume goes on from an earlier Position.
func (l *Landmarks) Resume(position uint64) error {
	if l.position = int64(position); l.position < 0 {
		l.position = 0
		return fmt.Errorf("%w: %d elements came before", engine.ErrWindow, position)
	}
	if l.packets > 0 {
		l.enter(l.position / l.packets)
	}
	return nil
}
