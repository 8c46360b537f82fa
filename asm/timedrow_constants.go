package asm

import "math/bits"

// timedRow is TimedParams as the kernels want them. Those in assembly know its layout.
//
// To compare times, a mark is turned to the left so that its time is in the top bits, what
// is left of its point in the lowest ones. Where a mark is shifted there, the rest is 0.
type timedRow struct {
	low          uint64 // the bits of a cell's word that belong to its mark
	lowBits      uint64
	tickMask     uint64 // the bits of a mark that are its time
	tickBits     uint64
	pointMask    uint64 // the lowest pointBits bits
	pointBits    uint64
	points       uint64 // the bits of a mark that are its point
	origin       uint64
	eraBits      uint64 // an era has 2^eraBits ticks
	window       uint64
	turn         uint64 // how far marks are turned: 64 - tickBits
	rise         uint64 // how far marks are shifted to have their upper bits at the top
	windowTurned uint64
	aboveWindow  uint64 // above the window in the top bits, whatever is in the rest
	aboveWindows uint64 // above twice the window
	refresh      bool
	across       bool
	lanes        timedLanes
}

func newTimedRow(p *TimedParams) timedRow {
	turn := 64 - p.TickBits
	r := timedRow{
		low:          1<<(64-p.FPBits) - 1,
		lowBits:      uint64(64 - p.FPBits),
		tickMask:     1<<p.TickBits - 1,
		tickBits:     uint64(p.TickBits),
		pointMask:    1<<p.PointBits - 1,
		pointBits:    uint64(p.PointBits),
		points:       (1<<p.PointBits - 1) << p.TickBits,
		origin:       uint64(p.Origin),
		eraBits:      uint64(p.TickBits - 1),
		window:       uint64(p.Window),
		turn:         uint64(turn),
		rise:         uint64(p.FPBits - timedHighBits),
		windowTurned: uint64(p.Window) << turn,
		aboveWindow:  (uint64(p.Window) + 1) << turn,
		aboveWindows: (2*uint64(p.Window) + 1) << turn,
		refresh:      p.Refresh,
		across:       p.Across,
	}
	r.lanes.set(&r)
	return r
}

// timedLanes are numbers for each word of a line, as vectors.
type timedLanes struct {
	// highTurns are how far the words that have cells' upper bits are turned to the
	// right, so that these are where turned marks have them. For the last word, that is
	// word 6, whose third field moves to it.
	highTurns [8]uint64
	// lowTurns are how far words are turned to the left: cells so that the lower bits of
	// marks are where turned marks have them, the other two by a field.
	lowTurns [8]uint64
	// lows are the bits that come from words turned so, the others come from those above.
	lows [8]uint64
	// backTurns are how far words are turned to the right when they have moved: the new mark
	// for words 0 and 6, word 6 for word 7. backs are the bits that come from them.
	backTurns, backs [8]uint64
}

func (l *timedLanes) set(r *timedRow) {
	for i := range uint64(TimedCells) {
		l.highTurns[i] = (i%3*timedHighBits - r.lowBits - r.turn) & 63
		l.lowTurns[i] = r.turn
		l.lows[i] = bits.RotateLeft64(r.low, int(r.turn))
		l.backs[i] = ^uint64(0)
	}
	l.highTurns[7] = 2 * timedHighBits
	l.lowTurns[6], l.lowTurns[7] = timedHighBits, timedHighBits
	l.lows[6], l.lows[7] = ^uint64(0), ^uint64(highMask)
	l.backTurns[0], l.backTurns[6], l.backTurns[7] = r.turn, (r.turn+r.lowBits)&63, 2*timedHighBits
	l.backs[0], l.backs[6], l.backs[7] = r.low, highMask, highMask
}
