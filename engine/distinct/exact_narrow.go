// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"math/bits"
	"slices"

	"github.com/flowdedup/flowdedup/engine/internal/rowtable"
	"github.com/flowdedup/flowdedup/layout"
)

// lines returns the lines of a table that are in use.
func (x *exactRows[E, W]) lines(table *rowtable.Table[W]) []layout.Line {
	lines := table.Arena.Lines()
	if x.narrow > 0 {
		return lines[:x.narrow]
	}
	return lines
}

// setNarrow sets the number of lines in use, a power of two: the first lines of the table. Small windows stay in the
// nearest cache then, and clear little. With fewer lines than the table has, no word overflows.
func (x *exactRows[E, W]) setNarrow(lines int) {
	if x.narrow = lines; lines >= x.rows.Lines() {
		x.narrow = 0
	}
}

// widen moves the words of narrow rows to a larger number of lines.
func (x *exactRows[E, W]) widen(to int) {
	lines := x.lines(&x.rows.Table)
	var words []uint64
	for i := range lines {
		words = x.kind.words(words, lines, i)
	}
	x.rows.RestartLines(len(lines))
	x.setNarrow(to)
	elements := make([]E, len(words))
	for i, y := range words {
		elements[i] = x.kind.element(W(y))
	}
	for chunk := range slices.Chunk(elements, rowtable.Step) {
		x.lookup(&x.rows.Table, make([]uint64, len(chunk)/64+1), chunk)
	}
}

// lookupWider widens narrow rows, and looks up the elements again that found their line full.
func (x *exactRows[E, W]) lookupWider(seen []uint64, elements []E, full []uint32) {
	x.widen(4 * x.narrow)
	again := make([]E, len(full))
	for at, i := range full {
		again[at] = elements[i]
	}
	known := make([]uint64, len(again)/64+1)
	x.lookup(&x.rows.Table, known, again)
	for at, i := range full {
		seen[i/64] |= known[at/64] >> (at % 64) & 1 << (i % 64)
	}
}

// reset forgets all elements of rows that began with these lines and have not grown. It reports
// whether it did.
func (x *exactRows[E, W]) reset(lines int) bool {
	if x.first != lines || x.rows.Final() != lines {
		return false
	}
	if x.narrow > 0 {
		x.rows.RestartLines(x.narrow)
	} else if x.position > 0 {
		x.rows.Restart(lines)
	}
	// The next window mostly has about as many words: they take a third of the cells at most. Sizes that vary do not
	// widen the rows each time.
	enough := 2 << bits.Len64(x.held*3/2/uint64(x.kind.cells(lines)))
	x.setNarrow(max(enough, len(x.lines(&x.rows.Table))/2))
	x.exactState = exactState{first: lines, growAt: x.kind.growAt(lines)}
	return true
}
