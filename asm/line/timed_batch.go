// SPDX-License-Identifier: Apache-2.0

package line

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
	"math/bits"
	"unsafe"
)

// timedBatch is the kernels' data of up to 64 elements in addition to their lines, and
// their results. It is filled for all of them before the first element is looked up, so that
// vectors can do this work. The kernels in assembly know its layout.
type timedBatch struct {
	cell     [64]uint64 // the word of a new cell
	high     [64]uint64 // the other 21 bits of its mark, at the top
	mark     [64]uint64 // its mark
	rotated  [64]uint64 // its mark, rotated; only AVX-512 reads it
	earliest [64]uint64 // the first time within the window, shifted to the top
	// lasts are the marks of the last two cells that the element found, rotated; only
	// AVX-512 sets them.
	lasts [64][2]uint64
	// before are the lines as elements find them. Not all kernels set it for elements whose
	// line has their fingerprint.
	before     [64]layout.Line
	found      [64]uint8 // the cells that have the fingerprint
	inWindow   [64]uint8 // the cells within the window
	otherPoint [64]uint8 // cells within the window that were seen at another point
	noTime     uint64    // bit i: element i has no time
}

// timedFound is the result of a kernel, with a bit for each element.
type timedFound struct {
	copies uint64
	new    uint64 // the line does not have the fingerprint
	// spare has those new elements that may concern a spare line: the last cell of their
	// line may have copies, or the line has layout.TimedSpilled.
	spare uint64
}

// testAndSetTimed is TestAndSetTimed after its checks.
func testAndSetTimed(rows TimedRows, seen []uint64, digests []digest.Digest, ticks []int64, points []uint32, p *TimedParams, c *TimedCounts) {
	switch len(digests) {
	case 0:
		return
	case 1:
		seen[0] = testAndSetTimedOne(rows, digests[0], ticks[0], points, p, c)
		return
	}
	r := newTimedRule(p, len(rows.Spare))
	r.lanes.set(&r)
	s := newSpareRows(rows, &r, c)
	var w pipeline
	w.elements = elements{kind: inLines, count: len(digests), digests: digests}
	w.begin(rows.Lines)
	// Align the batch: a vector that lies in two cache lines takes twice as long.
	var memory [unsafe.Sizeof(timedBatch{}) + 56]byte
	b := (*timedBatch)(unsafe.Pointer(&memory[-uintptr(unsafe.Pointer(&memory))%64]))
	for i := range seen {
		current, ahead, n := w.next()
		b.fill(&current.low, ticks[:n], points, &r)
		if b.noTime == 0 {
			seen[i] = b.testAndSet(&s, current, ahead, n)
		} else {
			seen[i] = spread(b.testAndSet(&s, current, ahead, b.drop(current, n)), ^b.noTime)
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
	r := newTimedRule(p, len(rows.Spare))
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
func (b *timedBatch) testAndSet(s *spareRows, current, ahead *batch, n int) (copies uint64) {
	if n == 0 {
		return 0
	}
	found := testAndSetTimedBatch(s.Lines, current, ahead, n, b, s.rule)
	switch {
	case found.spare == 0:
	case len(s.Spare) == 0:
		s.counts.EvictedLive += uint64(bits.OnesCount64(found.spare))
	default:
		found = b.askSpare(s, &current.offset, n, found)
	}
	s.counts.Inserted += uint64(bits.OnesCount64(found.new))
	return found.copies
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

// drop removes the elements without a time from n elements, and returns the number left.
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
