package plan

import (
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/window"
)

// windowSlices is how many slices of a window peak counts in.
const windowSlices = 8

// peak finds the largest number of elements in a window of time that is aligned to the
// clock or, for others, to an eighth of the window. Elements that are late by less than a
// window count in the running slice; later ones begin the count of a window again.
// Outliers count once the clock believes them. In all other windows it counts all.
type peak struct {
	clock   calendar.Clock
	length  int64 // of a slice, 0 without time
	ring    []uint64
	now     int64 // number of the running slice
	started bool
	sum     uint64
	highest uint64
}

func newPeak(window window.Window, landmark bool) peak {
	reach := max(window.Duration, calendar.Tolerance)
	p := peak{
		clock:  calendar.Clock{Ahead: reach, Behind: reach},
		length: int64(window.Duration), ring: make([]uint64, 1),
	}
	if !landmark && p.length >= windowSlices {
		p.length /= windowSlices
		p.ring = make([]uint64, windowSlices)
	}
	return p
}

// add takes an element.
func (p *peak) add(at int64) {
	if p.length == 0 {
		p.sum++
		p.highest = p.sum
		return
	}
	switch verdict, _ := p.clock.Observe(at); verdict {
	case calendar.Believed:
		p.count(at)
	case calendar.Adopted:
		p.countAll(p.clock.Adopted())
	}
}

// finish counts the elements that the stream ends with before the clock believes them.
func (p *peak) finish() { p.countAll(p.clock.Held()) }

func (p *peak) countAll(times []int64) {
	for _, at := range times {
		p.count(at)
	}
}

func (p *peak) count(at int64) {
	p.advance(calendar.Index(at, p.length))
	p.ring[p.slot(p.now)]++
	p.sum++
	p.highest = max(p.highest, p.sum)
}

// advance makes a slice the running one, and ends those that it pushes out of the window.
func (p *peak) advance(slice int64) {
	if !p.started || calendar.Distance(p.now, slice) >= uint64(len(p.ring)) {
		clear(p.ring)
		p.now, p.sum, p.started = slice, 0, true
		return
	}
	for p.now < slice {
		p.now++
		at := p.slot(p.now)
		p.sum -= p.ring[at]
		p.ring[at] = 0
	}
}

// slot is where a slice is counted.
func (p *peak) slot(slice int64) int64 { return calendar.Phase(slice, int64(len(p.ring))) }
