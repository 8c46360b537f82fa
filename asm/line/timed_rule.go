package line

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
	"math/bits"
	"unsafe"
)

// timedRule is TimedParams prepared for the kernels. Those in assembly know its layout.
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
	rotation      uint64 // how far marks are rotated: 64 - tickBits
	shift         uint64 // how far marks are shifted to have their upper bits at the top
	windowRotated uint64
	aboveWindow   uint64 // above the window in the top bits, whatever is in the rest
	aboveWindows  uint64 // above twice the window
	now           uint64 // the mark of TimedParams.Now without a point
	reach         uint64 // the window and the slack
	reachSpan     uint64 // twice that and 1, and the same of the window: a time is within
	windowSpan    uint64 // a distance d of Now if it is less than 2d + 1 after Now - d
	refresh       bool
	across        bool
	lanes         timedLanes
}

// newTimedRule leaves out the lanes, which batches need.
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
		shift:         uint64(p.FPBits - layout.TimedHighBits),
		windowRotated: uint64(p.Window) << rotation,
		aboveWindow:   (uint64(p.Window) + 1) << rotation,
		aboveWindows:  (2*uint64(p.Window) + 1) << rotation,
		refresh:       p.Refresh,
		across:        p.Across,
	}
	r.setClock(p)
	return r
}

// timedLanes has numbers for each word of a line, as vectors.
type timedLanes struct {
	// highRotations say how far the words with the upper bits of marks are rotated to
	// the right, so that these bits are where rotated marks have them. The number for
	// word 7 is applied to word 6, whose third field moves to word 7.
	highRotations [8]uint64
	// lowRotations say how far words are rotated to the left: cells until the lower
	// bits of marks are where rotated marks have them, words 6 and 7 by a field.
	lowRotations [8]uint64
	// lows are the bits that come from words rotated by lowRotations. The others come
	// from those rotated by highRotations.
	lows [8]uint64
	// backRotations say how far words are rotated to the right after a move: the new
	// mark for words 0 and 6, word 6 for word 7. backs are the bits that come from
	// them.
	backRotations, backs [8]uint64
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
}

// timedTable has what the kernels of timed rows look up for the cell that they find: 0 to
// 5, or 6 for none. Those in assembly know its layout.
type timedTable struct {
	// moves 0 to 6 are for elements that go to the front. moves from 8 on are for
	// elements within the window of the cell: copies, which change nothing.
	moves [16]timedMove
	// choices are moves (in units of 8 bytes) for a bit mask of what is found: the
	// cell with the fingerprint and, for a copy, the bit after it. choices[1] is for
	// copies that change their line.
	choices [2][256]uint8
	places  [8]timedPlace
}

// timedMove says how a line changes when an element goes to the front: the cells before
// the one that is removed move on by one.
type timedMove struct {
	bits [8]uint64 // the bits that change
	from [8]uint64 // the source of each word: 0 to 7 the new marks, 8 to 15 the line
}

// timedPlace says where the mark of the found cell is; of the last cell if none is found.
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

// timedBatch is what the kernels know of up to 64 elements beside their lines, and what
// they find. It is filled for all of them before the first one is looked up, so that
// vectors can do this work. The kernels in assembly know its layout.
type timedBatch struct {
	cell       [64]uint64 // the word of a new cell
	high       [64]uint64 // the other 21 bits of its mark, at the top
	mark       [64]uint64 // its mark
	rotated    [64]uint64 // its mark, rotated; only AVX-512 reads it
	earliest   [64]uint64 // the first time within the window, shifted to the top
	last       [64]uint64 // the last cell that the element found
	found      [64]uint8  // the cells that have the fingerprint
	inWindow   [64]uint8  // the cells within the window
	otherPoint [64]uint8  // those of them that were seen at another point
	noTime     uint64     // bit i: element i has no time
}

// testAndSetTimed is TestAndSetTimed after its checks.
func testAndSetTimed(rows TimedRows, seen []uint64, digests []digest.Digest, ticks []int64, points []uint32, p *TimedParams, c *TimedCounts) {
	switch {
	case len(digests) == 0:
		return
	case len(digests) == 1:
		seen[0] = testAndSetTimedOne(rows, digests[0], ticks[0], points, p, c)
		return
	case len(rows.Spare) > 0:
		clear(seen)
		for i := range digests {
			at := []uint32(nil)
			if points != nil {
				at = points[i:]
			}
			seen[i/64] |= testAndSetTimedOne(rows, digests[i], ticks[i], at, p, c) << (i % 64)
		}
		return
	}
	lines := rows.Lines
	r := newTimedRule(p)
	r.lanes.set(&r)
	var w pipeline
	w.elements = elements{kind: inLines, count: len(digests), digests: digests}
	w.begin(lines)
	// Align the batch: a vector that lies in two cache lines takes twice as long.
	var memory [unsafe.Sizeof(timedBatch{}) + 56]byte
	b := (*timedBatch)(unsafe.Pointer(&memory[-uintptr(unsafe.Pointer(&memory))%64]))
	for i := range seen {
		current, ahead, n := w.next()
		b.fill(&current.low, ticks[:n], points, &r)
		if b.noTime == 0 {
			seen[i] = b.testAndSet(lines, current, ahead, n, &r, c)
		} else {
			seen[i] = spread(b.testAndSet(lines, current, ahead, b.drop(current, n), &r, c), ^b.noTime)
		}
		ticks = ticks[n:]
		if points != nil {
			points = points[n:]
		}
	}
}

// testAndSetTimedOne takes one element without a batch, which takes a third of the time.
func testAndSetTimedOne(rows TimedRows, d digest.Digest, tick int64, points []uint32, p *TimedParams, c *TimedCounts) (isCopy uint64) {
	if tick == layout.NoTick {
		return 0
	}
	r := newTimedRule(p)
	mark := uint64(tick) & r.tickMask
	if points != nil {
		mark |= reducePoint(points[0], p.PointBits) << (r.tickBits & 63)
	}
	era := (uint64(tick) - r.origin) >> (r.eraBits & 63)
	at, _ := bits.Mul64(d[1], uint64(len(rows.Lines)))
	cell := r.cellOf(d[0], era) | mark&r.low
	s := newSpareRows(rows, &r, c)
	return s.testAndSet(at, cell, mark)
}

// testAndSet looks up n elements, which may be none, and returns a bit for each copy.
func (b *timedBatch) testAndSet(lines []layout.Line, current, ahead *batch, n int, r *timedRule, c *TimedCounts) (copies uint64) {
	if n == 0 {
		return 0
	}
	copies, inserted, evicted := testAndSetTimedBatch(lines, current, ahead, n, b, r)
	c.Inserted += inserted
	c.EvictedLive += evicted
	return copies
}

// fill fills the batch with 1 to 64 elements.
func (b *timedBatch) fill(low *[64]uint64, ticks []int64, points []uint32, r *timedRule) {
	b.noTime = 0
	for i := b.fillVectors(low, ticks, points, r); i < len(ticks); i++ {
		t := ticks[i]
		if t == layout.NoTick {
			b.noTime |= 1 << (i & 63)
		}
		mark := uint64(t) & r.tickMask
		if points != nil {
			mark |= reducePoint(points[i], uint(r.pointBits)) << (r.tickBits & 63)
		}
		era := (uint64(t) - r.origin) >> (r.eraBits & 63)
		b.cell[i&63] = r.cellOf(low[i&63], era) | mark&r.low
		b.high[i&63] = mark << (r.shift & 63)
		b.mark[i&63] = mark
		b.rotated[i&63] = bits.RotateLeft64(mark, int(r.rotation))
		b.earliest[i&63] = (mark - r.window) << (r.rotation & 63)
	}
}

// drop removes those of n elements that have no time, and returns how many are left.
func (b *timedBatch) drop(current *batch, n int) (present int) {
	for i := range n {
		current.offset[present&63] = current.offset[i&63]
		b.cell[present&63] = b.cell[i&63]
		b.high[present&63] = b.high[i&63]
		b.mark[present&63] = b.mark[i&63]
		b.rotated[present&63] = b.rotated[i&63]
		b.earliest[present&63] = b.earliest[i&63]
		present += int(^b.noTime >> (i & 63) & 1)
	}
	return present
}
