package asm

import (
	"math/bits"
	"unsafe"
)

// timedBatch is what the kernels know of up to 64 elements beside their lines, and what
// they leave. It is made for all of them before the first one is looked up, so that this
// work can be done on vectors. The kernels in assembly know its layout.
type timedBatch struct {
	cell     [64]uint64 // the word of a new cell
	high     [64]uint64 // the other 21 bits of its mark, at the top
	mark     [64]uint64 // its mark; AVX-512 has no need of it
	rotated  [64]uint64 // its mark, rotated; only AVX-512 has need of it
	earliest [64]uint64 // the first time within the window, shifted to the top
	last     [64]uint64 // the last cell that the element found
	found    [64]uint8  // the cells that have the fingerprint
	near     [64]uint8  // the cells within the window
	away     [64]uint8  // those of them that were seen at another point
	timeless uint64     // bit i: element i has no time
}

// testAndSetTimed is TestAndSetTimed after its checks.
func testAndSetTimed(lines [][8]uint64, seen []uint64, digests []Digest, ticks []int64, points []uint32, p *TimedParams, c *TimedCounts) {
	if len(digests) == 0 {
		return
	}
	r := newTimedRule(p)
	var w pipeline
	w.elements = elements{kind: inLines, count: len(digests), digests: digests}
	w.begin(lines)
	// Vectors that lie in two cache lines would take twice as long.
	var memory [unsafe.Sizeof(timedBatch{}) + 56]byte
	b := (*timedBatch)(unsafe.Pointer(&memory[-uintptr(unsafe.Pointer(&memory))%64]))
	for i := range seen {
		current, ahead, n := w.next()
		b.fill(&current.low, ticks[:n], points, &r)
		if b.timeless == 0 {
			seen[i] = b.testAndSet(lines, current, ahead, n, &r, c)
		} else {
			seen[i] = spread(b.testAndSet(lines, current, ahead, b.drop(current, n), &r, c), ^b.timeless)
		}
		ticks = ticks[n:]
		if points != nil {
			points = points[n:]
		}
	}
}

// testAndSet takes n elements, which may be none, and returns a bit for each.
func (b *timedBatch) testAndSet(lines [][8]uint64, current, ahead *batch, n int, r *timedRule, c *TimedCounts) (copies uint64) {
	if n == 0 {
		return 0
	}
	copies, inserted, evicted := testAndSetTimedBatch(lines, current, ahead, n, b, r)
	c.Inserted += inserted
	c.EvictedLive += evicted
	return copies
}

// fill makes the batch of 1 to 64 elements.
func (b *timedBatch) fill(low *[64]uint64, ticks []int64, points []uint32, r *timedRule) {
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
		b.high[i&63] = mark << (r.shift & 63)
		b.mark[i&63] = mark
		b.rotated[i&63] = bits.RotateLeft64(mark, int(r.rotation))
		b.earliest[i&63] = (mark - r.window) << (r.rotation & 63)
	}
}

// drop moves the elements of n that have a time to the front, and returns their number.
func (b *timedBatch) drop(current *batch, n int) (present int) {
	for i := range n {
		current.offset[present&63] = current.offset[i&63]
		b.cell[present&63] = b.cell[i&63]
		b.high[present&63] = b.high[i&63]
		b.mark[present&63] = b.mark[i&63]
		b.rotated[present&63] = b.rotated[i&63]
		b.earliest[present&63] = b.earliest[i&63]
		present += int(^b.timeless >> (i & 63) & 1)
	}
	return present
}
