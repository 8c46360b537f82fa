// SPDX-License-Identifier: Apache-2.0

package line

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

// TestAndSetCoarseAround is TestAndSetCoarse for a filter that moves from older rows to new
// ones. It has no kernel in assembly, since few elements need it.
//
// rows replace older ones, which it only reads; the latest come first in older. An element
// that rows do not have looks in its line of each of older, and in the spare line if the line
// is full, and is a copy if it is within the window of a cell with its fingerprint there. With
// Refresh it then goes to the front of its line in rows, with the later of both times. So the
// verdicts are as if rows had held everything from the beginning.
//
// It panics as TestAndSetCoarse does, and if one of older has no lines.
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

// askOlder looks for an element in older rows. It reports whether the element is a copy, and
// how much later than it the cell is, or 0.
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
