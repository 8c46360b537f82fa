package asm

import (
	"math/bits"
	"unsafe"
)

// timedBlock is what the kernels know of up to 64 elements beside their lines, and what
// they leave. It is made for all of them before the first one is looked up, so that this
// work can be done on vectors. The kernels in assembly know its layout.
type timedBlock struct {
	cell     [64]uint64 // the word of a new cell
	high     [64]uint64 // the other 21 bits of its mark, at the top
	mark     [64]uint64 // its mark; AVX-512 has no need of it
	turned   [64]uint64 // its mark, turned; only AVX-512 has need of it
	earliest [64]uint64 // the first time within the window, shifted to the top
	last     [64]uint64 // the last cell that the element found
	found    [64]uint8  // the cells that have the fingerprint
	near     [64]uint8  // the cells within the window
	away     [64]uint8  // those of them that were seen at another point
	timeless uint64     // bit i: element i has no time
}

// testAndSetTimed is TestAndSetTimed after its checks.
func testAndSetTimed(lines [][8]uint64, seen []uint64, digests []Digest, ticks []int64, points []uint32, p *TimedParams, c *TimedCounts) {
	r := newTimedRow(p)
	var w lineWalk
	w.begin(lines, digests, 0, nil, false)
	// Vectors that lie in two cache lines would take twice as long.
	var room [unsafe.Sizeof(timedBlock{}) + 56]byte
	b := (*timedBlock)(unsafe.Pointer(&room[-uintptr(unsafe.Pointer(&room))%64]))
	for i := range seen {
		line, ahead, n := w.next()
		b.fill(&line.low, ticks[:n], points, &r)
		if b.timeless == 0 {
			seen[i] = b.testAndSet(lines, line, ahead, n, &r, c)
		} else {
			seen[i] = b.spread(b.testAndSet(lines, line, ahead, b.drop(line, n), &r, c))
		}
		ticks = ticks[n:]
		if points != nil {
			points = points[n:]
		}
	}
}

// testAndSet takes n elements, which may be none, and returns a bit for each.
func (b *timedBlock) testAndSet(lines [][8]uint64, line, ahead *lineBlock, n int, r *timedRow, c *TimedCounts) (copies uint64) {
	if n == 0 {
		return 0
	}
	copies, inserted, evicted := testAndSetTimedBlock(lines, line, ahead, n, b, r)
	c.Inserted += inserted
	c.EvictedLive += evicted
	return copies
}

// fill makes the block of 1 to 64 elements.
func (b *timedBlock) fill(low *[64]uint64, ticks []int64, points []uint32, r *timedRow) {
	b.timeless = 0
	for i := b.fillVectors(low, ticks, points, r); i < len(ticks); i++ {
		t := ticks[i]
		if t == NoTick {
			b.timeless |= 1 << (i & 63)
		}
		mark := uint64(t) & r.tickMask
		if points != nil {
			mark |= reducePoint(points[i], uint(r.pointBits)) << (r.tickBits & 63)
		}
		era := (uint64(t) - r.origin) >> (r.eraBits & 63)
		b.cell[i&63] = r.cellOf(low[i&63], era) | mark&r.low
		b.high[i&63] = mark << (r.rise & 63)
		b.mark[i&63] = mark
		b.turned[i&63] = bits.RotateLeft64(mark, int(r.turn))
		b.earliest[i&63] = (mark - r.window) << (r.turn & 63)
	}
}

// drop moves the elements of n that have a time to the front, and returns their number.
func (b *timedBlock) drop(line *lineBlock, n int) (present int) {
	for i := range n {
		line.offset[present&63] = line.offset[i&63]
		b.cell[present&63] = b.cell[i&63]
		b.high[present&63] = b.high[i&63]
		b.mark[present&63] = b.mark[i&63]
		b.turned[present&63] = b.turned[i&63]
		b.earliest[present&63] = b.earliest[i&63]
		present += int(^b.timeless >> (i & 63) & 1)
	}
	return present
}

// spread returns the verdicts of all elements from those of the ones that have a time.
func (b *timedBlock) spread(verdicts uint64) (all uint64) {
	for rest := ^b.timeless; rest != 0; rest &= rest - 1 {
		all |= verdicts & 1 << (bits.TrailingZeros64(rest) & 63)
		verdicts >>= 1
	}
	return all
}
