package asm

import "math/bits"

// timedRow is TimedParams as the kernels want them. Those in assembly know its layout.
// They compare times in marks that are turned to the left by turn bits, so that the time is
// at the top and the point at the bottom.
type timedRow struct {
	low          uint64 // the bits of a cell's word that belong to its mark
	lowBits      uint64
	tickMask     uint64 // the bits of a mark that are its time
	tickBits     uint64
	pointMask    uint64 // the lowest pointBits bits
	pointBits    uint64
	origin       uint64
	eraBits      uint64 // an era has 2^eraBits ticks
	window       uint64
	turn         uint64 // 64 - tickBits
	rest         uint64 // the bits of a turned mark that are not its time
	windowTurned uint64
	refresh      bool
	across       bool
	lanes        timedLanes
}

// timedLanes are constants of kernels, a number for each word of a line.
type timedLanes struct {
	// highTurns are how far the words that hold their highs are turned to the right, so
	// that these are where turned marks have them. For the last word that is word 6, whose
	// third high moves to it.
	highTurns [8]uint64
	// lowTurns are how far words are turned to the left: cells so that their lows are where
	// turned marks have them, the others so that highs move on by one.
	lowTurns [8]uint64
	// lows are the bits that come from the words that are turned so.
	lows [8]uint64
	// backTurns are how far the words of a moved line are turned to the right: the new
	// mark for cell 0 and word 6, word 6 for word 7; backs are the bits that come from them.
	backTurns, backs [8]uint64
}

func newTimedRow(p *TimedParams) timedRow {
	turn := 64 - p.TickBits
	low := uint64(1)<<(64-p.FPBits) - 1
	r := timedRow{
		low:          low,
		lowBits:      uint64(64 - p.FPBits),
		tickMask:     1<<p.TickBits - 1,
		tickBits:     uint64(p.TickBits),
		pointMask:    1<<p.PointBits - 1,
		pointBits:    uint64(p.PointBits),
		origin:       uint64(p.Origin),
		eraBits:      uint64(p.TickBits - 1),
		window:       uint64(p.Window),
		turn:         uint64(turn),
		rest:         1<<turn - 1,
		windowTurned: uint64(p.Window) << turn,
		refresh:      p.Refresh,
		across:       p.Across,
	}
	r.lanes.set(low, r.lowBits, r.turn)
	return r
}

func (l *timedLanes) set(low, lowBits, turn uint64) {
	for i := range uint64(TimedCells) {
		l.highTurns[i] = (i%3*timedHighBits - lowBits - turn) & 63
		l.lowTurns[i] = turn
		l.lows[i] = bits.RotateLeft64(low, int(turn))
		l.backs[i] = ^uint64(0)
	}
	l.highTurns[7] = 2 * timedHighBits
	l.lowTurns[6], l.lowTurns[7] = timedHighBits, timedHighBits
	l.lows[6], l.lows[7] = ^uint64(0), ^uint64(highMask)
	l.backTurns[0], l.backTurns[6], l.backTurns[7] = turn, (turn+lowBits)&63, 2*timedHighBits
	l.backs[0], l.backs[6], l.backs[7] = low, highMask, highMask
}

// eraHash spreads the numbers of eras (2^64 divided by the golden ratio).
const eraHash = 0x9e3779b97f4a7c15

// The last two words of a line hold three times 21 bits each.
const (
	highMask  = 1<<timedHighBits - 1
	highsMask = 1<<(3*timedHighBits) - 1
)

// timedMove says what becomes of a line when an element is put in front. The kernels in
// assembly know its layout.
type timedMove struct {
	bits [8]uint64 // those that change
	from [8]uint64 // the words that words come from: 0 to 7 of the marks, and 8 to 15 of the line
}

// timedMoves are the moves where cell 0 to 5 is taken out, the last one is pushed out,
// and nothing changes.
var timedMoves = newTimedMoves()

func newTimedMoves() *[8]timedMove {
	moves := new([8]timedMove)
	for i := range moves {
		move, at := &moves[i], uint64(i)
		move.from = [8]uint64{at, 8, 9, 10, 11, 12, at, 14}
		for cell := range min(at+1, TimedCells) {
			move.bits[cell] = ^uint64(0)
			move.bits[6+cell/3] |= highMask << (cell % 3 * timedHighBits)
		}
	}
	moves[7].bits = [8]uint64{}
	return moves
}

// timedChoices are the moves (in units of 8 bytes) for what was found: a bit for the cell
// that has the fingerprint, and the next one for a copy. The second half is for refresh.
var timedChoices = newTimedChoices()

func newTimedChoices() *[512]uint8 {
	choices := new([512]uint8)
	for found := range 256 {
		at := bits.TrailingZeros(uint(found) | 0x40)
		choices[256+found] = uint8(at * 16)
		if found>>at&2 != 0 {
			at = 7
		}
		choices[found] = uint8(at * 16)
	}
	return choices
}

func testAndSetTimedBlockGeneric(lines [][8]uint64, line *lineBlock, n int, b *timedBlock, r *timedRow) (copies, inserted, evicted uint64) {
	touchBlock(lines, line.offset[:n])
	for i := range n {
		e := timedElement{b.cell[i&63] &^ r.low, bits.RotateLeft64(b.turned[i&63], -int(r.turn))}
		isCopy, isNew, pushedOut := r.testAndSet(&lines[line.offset[i&63]/64], e)
		copies |= isCopy << (i & 63)
		inserted += isNew
		evicted += pushedOut
	}
	return copies, inserted, evicted
}

// timedElement is what a timedBlock knows of an element.
type timedElement struct{ fingerprint, mark uint64 }

// testAndSet takes one element. Nothing here is to become a branch: what an element
// finds is as good as random, so it would be a wrong guess for every second one.
func (r *timedRow) testAndSet(line *[8]uint64, e timedElement) (isCopy, isNew, pushedOut uint64) {
	low := r.low
	at := findTimed(line, e.fingerprint, low)
	isNew = over(uint64(at), TimedCells-1)
	kept := r.markOf(line, at-uint(isNew))
	after := (kept - e.mark + r.window) & r.tickMask
	near := over(2*r.window+1, after)
	isCopy = near &^ isNew
	if r.across {
		isCopy &= over((kept^e.mark)>>(r.tickBits&63)&r.pointMask, 0)
	}
	pushedOut = near & isNew & over(line[TimedCells-1], 0)
	cells := at + 1 - uint(isNew)
	if r.refresh {
		e.mark = r.renewed(kept, after, isCopy, e.mark)
	} else {
		cells &= uint(isCopy) - 1
	}
	r.move(line, cells, e)
	return isCopy, isNew, pushedOut
}

// findTimed returns the number of the first cell with the fingerprint, TimedCells if there is
// none.
func findTimed(line *[8]uint64, fingerprint, low uint64) (at uint) {
	misses := over(line[0]^fingerprint, low) | over(line[1]^fingerprint, low)<<1 | over(line[2]^fingerprint, low)<<2 |
		over(line[3]^fingerprint, low)<<3 | over(line[4]^fingerprint, low)<<4 | over(line[5]^fingerprint, low)<<5
	return uint(bits.TrailingZeros64(^misses))
}

// over returns 1 if a is above b.
func over(a, b uint64) uint64 {
	_, borrow := bits.Sub64(b, a, 0)
	return borrow
}

// markOf returns the mark of cell at, with bits of other cells above.
func (r *timedRow) markOf(line *[8]uint64, at uint) uint64 {
	high := line[6+at/3%2] >> (at % 3 * timedHighBits & 63)
	return line[at&7]&r.low | high<<(r.lowBits&63)
}

// renewed returns the mark that a copy of an element of mark kept leaves, with the later
// of both times, and mark if it is none.
func (r *timedRow) renewed(kept, after, isCopy, mark uint64) uint64 {
	later := kept
	if after <= r.window {
		later = kept&^r.tickMask | mark&r.tickMask
	}
	later &= r.pointMask<<(r.tickBits&63) | r.tickMask
	return mark ^ (mark^later)&-isCopy
}

// move moves the first cells on by one, in place of the last of them, and puts e in front.
// It does nothing for no cells.
func (r *timedRow) move(line *[8]uint64, cells uint, e timedElement) {
	c0, c1, c2, c3, c4, c5 := line[0], line[1], line[2], line[3], line[4], line[5]
	if cells > 5 {
		c5 = c4
	}
	if cells > 4 {
		c4 = c3
	}
	if cells > 3 {
		c3 = c2
	}
	if cells > 2 {
		c2 = c1
	}
	if cells > 1 {
		c1 = c0
	}
	if cells > 0 {
		c0 = e.fingerprint | e.mark&r.low
	}
	line[0], line[1], line[2], line[3], line[4], line[5] = c0, c1, c2, c3, c4, c5
	h, h2, bits := line[6], line[7], &timedMoves[(cells-1)&7].bits
	line[6] ^= (h ^ (h<<timedHighBits | e.mark>>(r.lowBits&63))) & bits[6]
	line[7] ^= (h2 ^ (h2<<timedHighBits | h>>(2*timedHighBits))) & bits[7]
}
