package line

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

// CoarseParams says when an element of coarse rows is a copy.
type CoarseParams struct {
	// Window is the greatest distance of a copy from the kept element in ticks, 0 to
	// layout.CoarseWindow.
	Window int
	// Refresh makes a copy renew what is remembered of the kept element.
	Refresh bool
}

// CoarseCounts is what TestAndSetCoarse adds to.
type CoarseCounts struct {
	// Inserted counts the elements that took a cell of another fingerprint or an empty
	// one.
	Inserted uint64
	// EvictedLive counts the cells that another element of their line pushed out although
	// they were within its window.
	EvictedLive uint64
}

// TestAndSetCoarse sets bit i of seen if element i is a copy of an element that lines
// remember. If it is not, it remembers the element and clears the bit; it clears the bits
// after the last element in the last word. It takes elements in order, so elements of one
// call can be copies of each other. ticks[i] is the time of element i; it counts modulo
// 2^32. An element whose tick is layout.NoTick is no copy, and lines do not remember it.
//
// Element i lives in line floor(digests[i][1] * len(lines) / 2^64). Its fingerprint is the
// top 24 bits of digests[i][0], or 1 if they are 0. layout/coarse.go has a picture of the
// cells.
//
// An element that is later than the clock of its line sets the clock, and all cells of the
// line age. One that is late by up to 254-Window ticks leaves the clock as it is. One that
// is later still sets the clock back, and what the line holds is too old from then on. So a
// wrong time costs what one line remembers, twice. A line that meets no element for 2^32
// ticks takes the time since then modulo 2^32.
//
// Let r be the time of the cell that holds the element's fingerprint. The element is a copy
// if |t - r| <= Window. A copy changes no cell; with Refresh it moves the cell to the front,
// with the later of both times. Any other element goes to the front with its own time, and
// replaces the cell with its fingerprint, or else the last one.
//
// It takes constant time for each element and does not allocate. It panics if seen or ticks
// are too short, lines is empty, or Window is out of range.
func TestAndSetCoarse(lines []layout.Line, seen []uint64, digests []digest.Digest, ticks []int64, p CoarseParams, c *CoarseCounts) {
	n := len(digests)
	checkArguments("TestAndSetCoarse", lines, seen, nil, n)
	switch {
	case len(ticks) < n:
		panic("line: TestAndSetCoarse: ticks shorter than digests")
	case p.Window < 0 || p.Window > layout.CoarseWindow:
		panic("line: TestAndSetCoarse: window out of range")
	case n == 0:
		return
	}
	r := newCoarseRule(p)
	var w pipeline
	w.elements = elements{kind: inLines, count: n, digests: digests}
	w.begin(lines)
	for at := range seen[:bitWords(n)] {
		current, ahead, size := w.next()
		noTime := current.coarse(ticks[64*at:][:size])
		if noTime == 0 {
			seen[at] = r.testAndSetAll(lines, current, ahead, size, c)
			continue
		}
		seen[at] = 0
		if left := current.drop(size, noTime); left > 0 {
			seen[at] = spread(r.testAndSetAll(lines, current, ahead, left, c), ^noTime)
		}
	}
}

// coarseRule is CoarseParams prepared for the kernels. Those in assembly know its layout.
type coarseRule struct {
	window  uint64
	above   uint64 // twice the window, and 1
	tooLate uint64 // how late the first element is that sets the clock back
	refresh bool
	masks   *coarseMaskRows
}

func newCoarseRule(p CoarseParams) coarseRule {
	return coarseRule{
		window: uint64(p.Window), above: 2*uint64(p.Window) + 1,
		tooLate: uint64(layout.CoarseOld - p.Window), refresh: p.Refresh,
		masks: coarseMasks,
	}
}

const coarseOld = layout.CoarseOld // for assembly

// coarseMaskRows say which words of a line change when cells 0 to n move on: those of row
// n+1. Row 0 changes none.
type coarseMaskRows [layout.CoarseCells + 1][16]uint32

// coarseMasks is allocated on its own, so its rows are aligned to cache lines.
var coarseMasks = newCoarseMasks()

func newCoarseMasks() *coarseMaskRows {
	masks := new(coarseMaskRows)
	for n := range masks {
		for i := range n {
			masks[n][i] = 1<<32 - 1
		}
	}
	return masks
}

// coarse replaces the low halves of the batch by what the kernels of coarse rows know of
// elements: the tick in the upper half, and a new cell of age 255. It returns the elements
// without a time.
func (b *batch) coarse(ticks []int64) (noTime uint64) {
	done, noTime := b.coarseVectors(ticks)
	for i := done; i < len(ticks); i++ {
		tick := ticks[i]
		cell := max(b.low[i&63]>>(64-layout.CoarseFingerprintBits), 1)<<8 | coarseOld
		b.low[i&63] = uint64(tick)<<32 | cell
		if tick == layout.NoTick {
			noTime |= 1 << (i & 63)
		}
	}
	return noTime
}

// testAndSetAll looks up 1 to 64 elements and returns a bit for each copy. The kernels
// return those that are near the cell that they find or else remove, those that find their
// fingerprint, and those whose cell has one, all shifted in from below.
func (r *coarseRule) testAndSetAll(lines []layout.Line, current, ahead *batch, n int, c *CoarseCounts) (copies uint64) {
	near, found, taken := testAndSetCoarseBatch(lines, current, ahead, n, r)
	c.Inserted += uint64(n - bits.OnesCount64(found<<(64-n)))
	c.EvictedLive += uint64(bits.OnesCount64(near & taken &^ found))
	return inOrder(near&found, n)
}
