package plan

import "github.com/flowdedup/flowdedup/engine"

// slices is how many slices of a window peak counts in.
const slices = 8

// peak finds the largest number of elements in a window of time that is aligned to the
// clock or, for others, to an eighth of the window. Elements that come late by less than
// a window count in the running slice; a clock that jumps starts the count again. In all
// other windows it counts all.
type peak struct {
	length  int64 // of a slice, 0 without time
	ring    []uint64
	now     int64 // number of the running slice
	started bool
	sum     uint64
	most    uint64
}

func newPeak(window engine.Window, landmark bool) peak {
	p := peak{length: int64(window.Duration), ring: make([]uint64, 1)}
	if !landmark && p.length >= slices {
		p.length /= slices
		p.ring = make([]uint64, slices)
	}
	return p
}

func (p *peak) add(at int64) {
	if p.length > 0 {
		p.turn(floorDiv(at, p.length))
		p.ring[p.place(p.now)]++
	}
	p.sum++
	p.most = max(p.most, p.sum)
}

// turn makes a slice the running one, and ends those that it pushes out of the window.
func (p *peak) turn(slice int64) {
	if !p.started || distance(p.now, slice) >= uint64(len(p.ring)) {
		clear(p.ring)
		p.now, p.sum, p.started = slice, 0, true
		return
	}
	for p.now < slice {
		p.now++
		at := p.place(p.now)
		p.sum -= p.ring[at]
		p.ring[at] = 0
	}
}

// place is where a slice is counted.
func (p *peak) place(slice int64) int64 {
	n := int64(len(p.ring))
	return slice - floorDiv(slice, n)*n
}
