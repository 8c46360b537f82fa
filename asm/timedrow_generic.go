package asm

import "math/bits"

// timedRow is TimedParams as the loop wants them.
type timedRow struct {
	low      uint64 // the bits of a cell's word that belong to its mark
	lowBits  uint
	tickMask uint64
	tickBits uint
	origin   uint64
	window   uint64
	refresh  bool
	across   bool
	// pointBits of a point are kept.
	pointBits uint
}

func newTimedRow(p *TimedParams) timedRow {
	return timedRow{
		low:       1<<(64-p.FPBits) - 1,
		lowBits:   64 - p.FPBits,
		tickMask:  1<<p.TickBits - 1,
		tickBits:  p.TickBits,
		origin:    uint64(p.Origin),
		window:    uint64(p.Window),
		refresh:   p.Refresh,
		across:    p.Across,
		pointBits: p.PointBits,
	}
}

func testAndSetTimedGeneric(lines [][8]uint64, seen []uint64, digests []Digest, ticks []int64, points []uint32, p *TimedParams, c *TimedCounts) {
	r := newTimedRow(p)
	var index [64]uint64
	for w := 0; len(digests) > 0; w++ {
		n := min(64, len(digests))
		touchLines(lines, digests[:n], &index)
		var word uint64
		for i, d := range digests[:n] {
			t := ticks[i]
			if t == NoTick {
				continue
			}
			fp, mark := r.fields(d[0], t, points, i)
			if r.testAndSet(&lines[index[i&63]], fp, mark, c) {
				word |= 1 << (i & 63)
			}
		}
		seen[w] = word
		digests, ticks = digests[n:], ticks[n:]
		if points != nil {
			points = points[n:]
		}
	}
}

// fields returns the fingerprint of element i, in the top bits, and its mark.
func (r *timedRow) fields(fp uint64, t int64, points []uint32, i int) (uint64, uint64) {
	mark := uint64(t) & r.tickMask
	if points != nil {
		mark |= reducePoint(points[i], r.pointBits) << (r.tickBits & 63)
	}
	era := (uint64(t) - r.origin) >> ((r.tickBits - 1) & 63)
	return fp ^ era*eraHash, mark
}

// eraHash spreads the numbers of eras (2^64 divided by the golden ratio).
const eraHash = 0x9e3779b97f4a7c15

// touchLines finds the lines of up to 64 elements and loads a word of each, so
// that the cache misses of all of them run at the same time and not one after
// another between the branches of testAndSet. It must stay a call: inlined,
// loads without a use would be left out.
//
//go:noinline
func touchLines(lines [][8]uint64, digests []Digest, index *[64]uint64) (sum uint64) {
	for i := range digests {
		at, _ := bits.Mul64(digests[i][1], uint64(len(lines)))
		index[i&63] = at
		sum += lines[at][0]
	}
	return sum
}

// The last two words of a line hold three times 21 bits each.
const (
	highMask  = 1<<timedHighBits - 1
	highsMask = 1<<(3*timedHighBits) - 1
)

// testAndSet takes one element: fp holds its fingerprint in the top bits. All
// cells are compared whatever they hold, because a loop that ends early costs a
// wrong guess of the branch predictor for nearly every element.
func (r *timedRow) testAndSet(line *[8]uint64, fp, mark uint64, c *TimedCounts) (isCopy bool) {
	low := r.low
	cell := max(fp&^low, low+1) | mark&low
	c0, c1, c2, c3, c4, c5 := line[0], line[1], line[2], line[3], line[4], line[5]
	if min(c0^cell, c1^cell, c2^cell, c3^cell, c4^cell, c5^cell) <= low {
		return r.found(line, r.find(line, cell), cell, mark)
	}
	highs, highs2 := line[6], line[7]
	if c5 != 0 && r.distance(highs2>>(2*timedHighBits)<<(r.lowBits&63)|c5&low, mark) <= r.window {
		c.EvictedLive++
	}
	c.Inserted++
	line[0], line[1], line[2], line[3], line[4], line[5] = cell, c0, c1, c2, c3, c4
	line[6] = (highs<<timedHighBits | mark>>(r.lowBits&63)) & highsMask
	line[7] = (highs2<<timedHighBits | highs>>(2*timedHighBits)) & highsMask
	return false
}

// distance returns how far the times of two marks are apart, in ticks, the
// short way round.
func (r *timedRow) distance(a, b uint64) uint64 {
	return min((a-b)&r.tickMask, (b-a)&r.tickMask)
}

// find returns the first cell with the fingerprint of cell, knowing that there
// is one.
func (r *timedRow) find(line *[8]uint64, cell uint64) uint {
	at := uint(0)
	for at < TimedCells-1 && line[at&7]^cell > r.low {
		at++
	}
	return at & 7
}

// found decides about an element whose fingerprint cell at holds, and makes the
// cell what it has to be then.
func (r *timedRow) found(line *[8]uint64, at uint, cell, mark uint64) (isCopy bool) {
	var marks [TimedCells]uint64
	for i := range marks {
		high := line[6+i/3] >> (i % 3 * timedHighBits) & highMask
		marks[i] = high<<(r.lowBits&63) | line[i]&r.low
	}
	old := marks[at%TimedCells]
	samePoint := (old^mark)&^r.tickMask == 0
	isCopy = r.distance(old, mark) <= r.window && !(r.across && samePoint)
	if isCopy && !r.refresh {
		return true
	}
	if isCopy {
		mark = old&^r.tickMask | r.later(old, mark)
		cell = cell&^r.low | mark&r.low
	}
	for ; at > 0; at-- {
		line[at&7], marks[at%TimedCells] = line[(at-1)&7], marks[(at-1)%TimedCells]
	}
	line[0], marks[0] = cell, mark
	line[6], line[7] = r.highs(marks[:3]), r.highs(marks[3:])
	return isCopy
}

// later returns the later of the times of two marks.
func (r *timedRow) later(a, b uint64) uint64 {
	if (b-a)&r.tickMask <= r.tickMask/2 {
		return b & r.tickMask
	}
	return a & r.tickMask
}

// highs packs the upper bits of three marks.
func (r *timedRow) highs(marks []uint64) (word uint64) {
	for i, m := range marks {
		word |= m >> (r.lowBits & 63) << (i * timedHighBits)
	}
	return word
}
