package asm

import "math/bits"

// timedRule is TimedParams as the kernels want them. Those in assembly know its layout.
//
// To compare times, a mark is rotated to the left so that its time is in the top bits, what
// is left of its point in the lowest ones. Where a mark is shifted there, the rest is 0.
type timedRule struct {
	low           uint64 // the bits of a cell's word that belong to its mark
	lowBits       uint64
	tickMask      uint64 // the bits of a mark that are its time
	tickBits      uint64
	pointMask     uint64 // the lowest pointBits bits
	pointBits     uint64
	points        uint64 // the bits of a mark that are its point
	origin        uint64
	eraBits       uint64 // an era has 2^eraBits ticks
	window        uint64
	rotation      uint64 // how far marks are rotated: 64 - tickBits
	shift         uint64 // how far marks are shifted to have their upper bits at the top
	windowRotated uint64
	aboveWindow   uint64 // above the window in the top bits, whatever is in the rest
	aboveWindows  uint64 // above twice the window
	refresh       bool
	across        bool
	lanes         timedLanes
}

func newTimedRule(p *TimedParams) timedRule {
	rotation := 64 - p.TickBits
	r := timedRule{
		low:           1<<(64-p.FPBits) - 1,
		lowBits:       uint64(64 - p.FPBits),
		tickMask:      1<<p.TickBits - 1,
		tickBits:      uint64(p.TickBits),
		pointMask:     1<<p.PointBits - 1,
		pointBits:     uint64(p.PointBits),
		points:        (1<<p.PointBits - 1) << p.TickBits,
		origin:        uint64(p.Origin),
		eraBits:       uint64(p.TickBits - 1),
		window:        uint64(p.Window),
		rotation:      uint64(rotation),
		shift:         uint64(p.FPBits - TimedHighBits),
		windowRotated: uint64(p.Window) << rotation,
		aboveWindow:   (uint64(p.Window) + 1) << rotation,
		aboveWindows:  (2*uint64(p.Window) + 1) << rotation,
		refresh:       p.Refresh,
		across:        p.Across,
	}
	r.lanes.set(&r)
	return r
}

// timedLanes are numbers for each word of a line, as vectors.
type timedLanes struct {
	// highRotations are how far the words that have cells' upper bits are rotated to the
	// right, so that these are where rotated marks have them. For the last word, that is
	// word 6, whose third field moves to it.
	highRotations [8]uint64
	// lowRotations are how far words are rotated to the left: cells so that the lower bits of
	// marks are where rotated marks have them, the other two by a field.
	lowRotations [8]uint64
	// lows are the bits that come from words rotated so, the others come from those above.
	lows [8]uint64
	// backRotations are how far words are rotated to the right when they have moved: the new mark
	// for words 0 and 6, word 6 for word 7. backs are the bits that come from them.
	backRotations, backs [8]uint64
}

func (l *timedLanes) set(r *timedRule) {
	for i := range uint64(TimedCells) {
		l.highRotations[i] = (i%3*TimedHighBits - r.lowBits - r.rotation) & 63
		l.lowRotations[i] = r.rotation
		l.lows[i] = bits.RotateLeft64(r.low, int(r.rotation))
		l.backs[i] = ^uint64(0)
	}
	l.highRotations[7] = 2 * TimedHighBits
	l.lowRotations[6], l.lowRotations[7] = TimedHighBits, TimedHighBits
	l.lows[6], l.lows[7] = ^uint64(0), ^uint64(highMask)
	l.backRotations[0], l.backRotations[6], l.backRotations[7] = r.rotation, (r.rotation+r.lowBits)&63, 2*TimedHighBits
	l.backs[0], l.backs[6], l.backs[7] = r.low, highMask, highMask
}
