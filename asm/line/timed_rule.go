// SPDX-License-Identifier: Apache-2.0

package line

import (
	"github.com/flowdedup/flowdedup/layout"
	"math/bits"
)

// timedRule is TimedParams prepared for the kernels. The kernels in assembly know its
// layout.
//
// To compare times, a mark is rotated to the left until its time is in the top bits. The
// lowest bits then have a part of its point. Where a mark is shifted instead, the lowest
// bits are 0.
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
	rotation      uint64 // the rotation of marks: 64 - tickBits
	shift         uint64 // the shift of marks that brings their upper bits to the top
	windowRotated uint64
	aboveWindow   uint64 // above the window in the top bits, whatever the other bits are
	aboveWindows  uint64 // above twice the window
	timedClock
	refresh bool
	across  bool
	lanes   timedLanes
}

// newTimedRule leaves out the lanes, which batches need. Now does not count without spare
// lines.
func newTimedRule(p *TimedParams, spareLines int) timedRule {
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
		shift:         uint64(p.FPBits - layout.TimedHighBits),
		windowRotated: uint64(p.Window) << rotation,
		aboveWindow:   (uint64(p.Window) + 1) << rotation,
		aboveWindows:  (2*uint64(p.Window) + 1) << rotation,
		refresh:       p.Refresh,
		across:        p.Across,
	}
	r.setClock(p, spareLines)
	return r
}

// timedLanes has numbers for each word of a line, as vectors.
type timedLanes struct {
	// highRotations are the right rotations of the words with the upper bits of marks
	// that bring these bits to their places in rotated marks. The number for word 7 is
	// applied to word 6, whose third field moves to word 7.
	highRotations [8]uint64
	// lowRotations are the left rotations of words: they bring the lower bits of marks in
	// cells to their places in rotated marks, and move words 6 and 7 by a field.
	lowRotations [8]uint64
	// lows are the bits that come from words rotated by lowRotations. The others come
	// from words rotated by highRotations.
	lows [8]uint64
	// backRotations are the right rotations of words after a move: the new mark for words
	// 0 and 6, word 6 for word 7. backs are the bits that come from them.
	backRotations, backs [8]uint64
	ready                bool // set was called
}

func (l *timedLanes) set(r *timedRule) {
	for i := range uint64(layout.TimedCells) {
		l.highRotations[i] = (i%3*layout.TimedHighBits - r.lowBits - r.rotation) & 63
		l.lowRotations[i] = r.rotation
		l.lows[i] = bits.RotateLeft64(r.low, int(r.rotation))
		l.backs[i] = ^uint64(0)
	}
	l.highRotations[7] = 2 * layout.TimedHighBits
	l.lowRotations[6], l.lowRotations[7] = layout.TimedHighBits, layout.TimedHighBits
	l.lows[6], l.lows[7] = ^uint64(highMask), ^uint64(highMask)
	l.backRotations[0], l.backRotations[6], l.backRotations[7] = r.rotation, (r.rotation+r.lowBits)&63, 2*layout.TimedHighBits
	l.backs[0], l.backs[6], l.backs[7] = r.low, highMask, highMask
	l.ready = true
}

// timedTable has the kernels' tables for the found cell: 0 to 5, or 6 for none. The
// kernels in assembly know its layout.
type timedTable struct {
	// moves 0 to 6 are for elements that go to the front. moves from 8 on are for
	// elements within the window of the cell: copies, which change nothing.
	moves [16]timedMove
	// choices are moves (in units of 8 bytes) for a bit mask of the result: the cell with
	// the fingerprint and, for a copy, the bit after it. choices[1] is for copies that
	// change their line.
	choices [2][256]uint8
	places  [8]timedPlace
}

// timedMove is the change of a line when an element goes to the front: the cells before
// the removed cell move on by one.
type timedMove struct {
	bits [8]uint64 // the bits that change
	from [8]uint64 // the source of each word: 0 to 7 the new marks, 8 to 15 the line
}

// timedPlace is the place of the found cell's mark, or of the last cell's if none is
// found.
type timedPlace struct {
	cell  uint8 // offset of the cell in the line, in bytes
	word  uint8 // offset of the word with the upper bits of its mark, in bytes
	shift uint8 // the lowest of these bits in that word
	_     uint8
}

// timedTables is allocated on its own, so it is aligned to a cache line.
var timedTables = newTimedTable()

func newTimedTable() *timedTable {
	t := new(timedTable)
	for i := range t.places {
		cell, move := min(uint8(i), layout.TimedCells-1), &t.moves[i]
		t.places[i] = timedPlace{8 * cell, 48 + cell/3*8, cell % 3 * layout.TimedHighBits, 0}
		move.from = [8]uint64{uint64(i), 8, 9, 10, 11, 12, uint64(i), 14}
		for j := range cell + 1 {
			move.bits[j] = ^uint64(0)
			move.bits[6+j/3] |= highMask << (j % 3 * layout.TimedHighBits)
		}
	}
	t.moves[8+layout.TimedCells] = t.moves[layout.TimedCells]
	for found := range t.choices[0] {
		at := bits.TrailingZeros(uint(found) | 1<<layout.TimedCells)
		t.choices[1][found] = uint8(at * 16)
		if found>>at&2 != 0 {
			at += 8
		}
		t.choices[0][found] = uint8(at * 16)
	}
	return t
}
