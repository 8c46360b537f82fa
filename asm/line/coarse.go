// SPDX-License-Identifier: Apache-2.0

package line

import (
	"math/bits"
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

// CoarseParams defines which elements of coarse rows are copies.
type CoarseParams struct {
	// Fine chooses fine cells: twelve of 34 bits of fingerprint in a line, where coarse cells
	// are fifteen of 24.
	Fine bool
	// Window is the greatest distance of a copy from the kept element in ticks, 0 to
	// layout.CoarseWindow, or layout.FineWindow.
	Window int
	// Slack is how late elements may be, in ticks, and still find cells that went to a
	// spare line; Window and Slack are less than layout.CoarseOld, or layout.FineOld.
	Slack int
	// Refresh makes a copy renew the memory of the kept element.
	Refresh bool
}

// cells returns the number of cells of a line.
func (p *CoarseParams) cells() int {
	if p.Fine {
		return layout.FineCells
	}
	return layout.CoarseCells
}

// limits returns the longest window and the age of cells that match no more.
func (p *CoarseParams) limits() (window, old int) {
	if p.Fine {
		return layout.FineWindow, layout.FineOld
	}
	return layout.CoarseWindow, layout.CoarseOld
}

func (p *CoarseParams) check() {
	longest, old := p.limits()
	switch {
	case p.Window < 0 || p.Window > longest:
		panic("line: TestAndSetCoarse: window out of range")
	case p.Slack < 0 || p.Window+p.Slack >= old:
		panic("line: TestAndSetCoarse: slack out of range")
	}
}

// CoarseRows is the memory of coarse rows: lines, and fewer spare lines for the cells that
// do not fit there. Without spare lines such cells are forgotten.
type CoarseRows struct {
	Lines, Spare []layout.Line
}

// CoarseCounts are the counts that TestAndSetCoarse adds to.
type CoarseCounts struct {
	// Inserted counts the elements that took an empty cell or a cell with another
	// fingerprint.
	Inserted uint64
	// Asked counts the elements that also looked in a spare line, and Spilled the cells that
	// went there.
	Asked, Spilled uint64
	// EvictedLive counts the cells that were forgotten although they were within the
	// window of the element that pushed them out, or later.
	EvictedLive uint64
}

// TestAndSetCoarse sets bit i of seen if element i is a copy of an element that rows
// remember. If it is not, it remembers the element and clears the bit; it clears the bits
// after the last element in the last word. It takes elements in order, so elements of one
// call can be copies of each other. ticks[i] is the time of element i; it counts modulo
// 2^32. An element whose tick is layout.NoTick is no copy, and rows do not remember it.
//
// Element i lives in line floor(digests[i][1] * len(Lines) / 2^64). Its fingerprint is the
// top bits of digests[i][0], as many as a cell has, or 1 if they are 0. layout/rows.go has
// a picture of the cells.
//
// An element that is later than the clock of its line sets the clock, and all cells of
// the line age. An element that is late leaves the clock unchanged, if it is late by less
// than the age of cells that match no more, less Window. An element that is later still
// sets the clock back, and the cells of the line are too old from then on. So a wrong
// time costs the memory of one line, twice. A line that meets no element for 2^32 ticks
// takes the time since then modulo 2^32.
//
// Let r be the time of the cell that holds the element's fingerprint. The element is a copy
// if |t - r| <= Window. A copy changes no cell; with Refresh it moves the cell to the front,
// with the later of both times. Any other element goes to the front with its own time, and
// replaces the cell with its fingerprint, or else the last cell.
//
// A line is full for an element that does not find its fingerprint if the last cell is no
// more than Window and Slack older than the element. Such an element also looks in the
// spare line, which is number floor(i * len(Spare) / len(Lines)) for line i, and a cell
// that it finds there is judged by the same rule. If it is no copy, the last cell of its
// line goes to the front of the spare line, with its time, and replaces the cell with its
// fingerprint, or else the last cell. So elements that are late by no more than Slack miss
// only the cells that EvictedLive counts. With Refresh the cell that a copy finds goes to
// the front of the line, and the last cell of the line takes its place.
//
// Verdicts and rows equal those of taking one element at a time, for all sizes of calls.
// It takes constant time for each element and does not allocate. It panics if seen or
// ticks are too short, there are no lines or more spare lines than lines, or p violates
// CoarseParams.
func TestAndSetCoarse(rows CoarseRows, seen []uint64, digests []digest.Digest, ticks []int64, p CoarseParams, c *CoarseCounts) {
	checkCoarseArguments(rows, seen, digests, ticks, &p)
	if len(digests) == 0 {
		return
	}
	r := newCoarseRule(&p, rows)
	var w pipeline
	w.elements = elements{kind: inLines, count: len(digests), digests: digests}
	w.begin(rows.Lines)
	// Align the log: a line that lies in two cache lines takes twice as long.
	var memory [unsafe.Sizeof(coarseLog{}) + 56]byte
	log := (*coarseLog)(unsafe.Pointer(&memory[-uintptr(unsafe.Pointer(&memory))%64]))
	for at := range seen[:bitWords(len(digests))] {
		current, ahead, size := w.next()
		noTime := current.coarse(ticks[64*at:][:size], p.Fine)
		if noTime == 0 {
			seen[at] = r.testAndSetAll(rows, current, ahead, log, size, c)
			continue
		}
		seen[at] = 0
		if left := current.dropCoarse(size, noTime); left > 0 {
			seen[at] = spread(r.testAndSetAll(rows, current, ahead, log, left, c), ^noTime)
		}
	}
}

func checkCoarseArguments(rows CoarseRows, seen []uint64, digests []digest.Digest, ticks []int64, p *CoarseParams) {
	p.check()
	checkArguments("TestAndSetCoarse", rows.Lines, seen, len(digests))
	switch {
	case len(ticks) < len(digests):
		panic("line: TestAndSetCoarse: ticks shorter than digests")
	case len(rows.Spare) > len(rows.Lines):
		panic("line: TestAndSetCoarse: more spare lines than lines")
	}
}

// coarseLog has the lines of up to 64 elements, each as its element found it.
type coarseLog [64][8]uint64

// coarseRule is CoarseParams prepared for the kernels. The kernels in assembly know its
// layout.
type coarseRule struct {
	window  uint64
	slack   uint64 // 0 without spare lines
	old     uint64 // the age of cells that match no more
	tooLate uint64 // the least lateness of an element that sets the clock back
	// The youth of an element less the youth of a cell, plus bias, must be below limit to
	// be within the window, for the cell with the fingerprint, [0], and in a full line
	// for the last cell of other elements, [1]. In the latter case the result does not go
	// below 0, as the cell may be later by any amount.
	bias, limit [2]uint64
	masks       *coarseMaskRows
	cells       int
	fine        bool
	refresh     bool
}

func newCoarseRule(p *CoarseParams, rows CoarseRows) coarseRule {
	_, old := p.limits()
	r := coarseRule{
		window: uint64(p.Window), old: uint64(old), tooLate: uint64(old - p.Window),
		masks: coarseMasks, cells: p.cells(), fine: p.Fine, refresh: p.Refresh,
	}
	if p.Fine {
		r.masks = fineMasks
	}
	if len(rows.Spare) > 0 {
		r.slack = uint64(p.Slack)
	}
	r.bias = [2]uint64{r.window, r.window + r.old}
	r.limit = [2]uint64{2*r.window + 1, 2*r.window + r.slack + r.old + 1}
	return r
}

// coarseMaskRows has in row n+1 the bytes of a line that change when cells 0 to n move
// on. Row 0 changes none.
type coarseMaskRows [layout.CoarseCells + 1][64]uint8

// These are allocated on their own, so their rows are aligned to cache lines.
var (
	coarseMasks = newCoarseMasks(layout.CoarseCells, false)
	fineMasks   = newCoarseMasks(layout.FineCells, true)
)

func newCoarseMasks(cells int, fine bool) *coarseMaskRows {
	masks := new(coarseMaskRows)
	for n := range cells + 1 {
		for i := range 4 * n {
			masks[n][i] = 1<<8 - 1
		}
		for i := range n {
			if fine {
				masks[n][fineBytes+i] = 1<<8 - 1
			}
		}
	}
	return masks
}

// fineBytes is where the bytes of fine cells begin in a line.
const fineBytes = 4 * layout.FineCells

// coarse replaces the low halves of the batch by new cells of youth 0, as coarseCell
// returns them, and the random words by the ticks. It returns the elements without a
// time.
func (b *batch) coarse(ticks []int64, fine bool) (noTime uint64) {
	done, noTime := b.coarseVectors(ticks, fine)
	for i := done; i < len(ticks); i++ {
		tick := ticks[i]
		b.low[i&63] = coarseCell(b.low[i&63], fine)
		b.random[i&63] = uint64(tick)
		if tick == layout.NoTick {
			noTime |= 1 << (i & 63)
		}
	}
	return noTime
}

// coarseCell returns the cell of an element with youth 0. The byte of a fine cell is in bits
// 32 to 39.
func coarseCell(low uint64, fine bool) uint64 {
	if !fine {
		return max(low>>(64-layout.CoarseFingerprintBits), 1) << 8
	}
	fingerprint := max(low>>(64-layout.FineFingerprintBits), 1)
	return fingerprint&(1<<32-1) | fingerprint>>32<<38
}

// dropCoarse is drop for batches of coarse rows.
func (b *batch) dropCoarse(n int, gone uint64) (left int) {
	for i := range n {
		b.random[left&63] = b.random[i&63]
		left += int(^gone >> (i & 63) & 1)
	}
	return b.drop(n, gone)
}

// testAndSetAll looks up 1 to 64 elements and returns a bit for each copy. The kernels
// return the elements that find their fingerprint, and the elements whose cell, the found
// cell or else the last, is within the limit of the rule: all shifted in from below.
func (r *coarseRule) testAndSetAll(rows CoarseRows, current, ahead *batch, log *coarseLog, n int, c *CoarseCounts) (copies uint64) {
	hits, found := testAndSetCoarseBatch(rows.Lines, current, ahead, log, n, r)
	found &= ^uint64(0) >> (64 - n)
	copies, full := hits&found, hits&^found
	if full == 0 || len(rows.Spare) == 0 {
		c.Inserted += uint64(n - bits.OnesCount64(found))
		c.EvictedLive += uint64(bits.OnesCount64(full))
		return inOrder(copies, n)
	}
	s := coarseSecondPass{coarseTable: coarseTable{rule: r, rows: rows, counts: c}, batch: current, log: log, size: n}
	copies, found = s.run(inOrder(copies, n), inOrder(found, n), inOrder(full, n))
	c.Inserted += uint64(n - bits.OnesCount64(found))
	return copies
}

// TestAndSetCoarseAround is TestAndSetCoarse for a filter that moves from older rows to new
// rows. It has no kernel in assembly, since few elements need it.
//
// rows replace the rows of older, which it only reads; the latest come first in older. An element
// that rows do not have looks in its line of each of older, and in the spare line if the line
// is full, and is a copy if it is within the window of a cell with its fingerprint there. With
// Refresh it then goes to the front of its line in rows, with the later of both times. So the
// verdicts are as if rows had held everything from the beginning.
//
// It panics as TestAndSetCoarse does, and if a member of older has no lines.
func TestAndSetCoarseAround(rows CoarseRows, older []CoarseRows, seen []uint64, digests []digest.Digest, ticks []int64, p CoarseParams, c *CoarseCounts) {
	checkCoarseArguments(rows, seen, digests, ticks, &p)
	for i := range older {
		if len(older[i].Lines) == 0 {
			panic("line: TestAndSetCoarseAround: no older lines")
		}
	}
	r := newCoarseRule(&p, rows)
	t := coarseTable{rule: &r, rows: rows, older: older, counts: c}
	for at := 0; at < len(digests); at += 64 {
		to := min(at+64, len(digests))
		seen[at/64] = t.testAndSetAll(digests[at:to], ticks[at:to])
	}
}

// testAndSetAll looks up 1 to 64 elements.
func (t *coarseTable) testAndSetAll(digests []digest.Digest, ticks []int64) (copies uint64) {
	t.touch(t.rows.Lines, digests)
	for i := range t.older {
		t.touch(t.older[i].Lines, digests)
	}
	for i, d := range digests {
		if ticks[i] == layout.NoTick {
			continue
		}
		t.place = d[1]
		number, _ := bits.Mul64(d[1], uint64(len(t.rows.Lines)))
		isCopy, found := t.testAndSet(&t.rows.Lines[number], number, coarseCell(d[0], t.rule.fine), uint32(ticks[i]))
		copies |= isCopy << i
		t.counts.Inserted += 1 - found
	}
	return copies
}

// touch loads the lines of up to 64 digests.
func (t *coarseTable) touch(lines []layout.Line, digests []digest.Digest) {
	var offsets [64]uint64
	for i := range digests {
		number, _ := bits.Mul64(digests[i][1], uint64(len(lines)))
		offsets[i&63] = number * 64
	}
	touchLines(lines, offsets[:len(digests)])
}

// askOlder looks for an element in older rows. It reports whether the element is a copy,
// and how much later the cell is, or 0.
func (t *coarseTable) askOlder(older *CoarseRows, e *coarseElement) (later uint64, isCopy bool) {
	r := t.rule
	number, _ := bits.Mul64(t.place, uint64(len(older.Lines)))
	line := &older.Lines[number]
	if _, later, found := r.peek(line, e.cell, e.tick); found {
		return later, true
	}
	own, last := r.seenFrom(line, e.tick, r.youth(line, r.cells-1))
	if len(older.Spare) == 0 || !r.isFull(own, last) {
		return 0, false
	}
	_, later, found := r.peek(older.spareOf(number), e.cell, e.tick)
	return later, found
}
