// SPDX-License-Identifier: Apache-2.0

package line

import (
	"github.com/flowdedup/flowdedup/layout"
	"math/bits"
)

// testAndSetSlidingBatchGeneric looks up len(before) elements. It returns those that have
// a cell after the call, shifted in from below.
func testAndSetSlidingBatchGeneric(lines []layout.Line, current *batch, before []uint16) (held uint64) {
	touchLines(lines, current.offset[:len(before)])
	for i := range before {
		line, cell := &lines[current.offset[i&63]/64], current.low[i&63]
		held = held<<1 | 1
		at := findSliding(line, cell, layout.SlidingPresent-1)
		if at == len(line) {
			before[i] = 0
			if at = findSliding(line, 0, 0); at == len(line) {
				held--
				continue
			}
			line[at&7] = cell
			continue
		}
		known := line[at&7]
		before[i] = uint16(known)
		if (cell-known)&(layout.SlidingPresent-1) < layout.SlidingPresent/2 {
			line[at&7] = cell
		}
	}
	return held
}

// findSliding returns the number of the first cell that differs from the given one by at
// most differ, or 8. It has no branches, since the place of the cell is as good as
// random.
func findSliding(line *[8]uint64, cell, differ uint64) int {
	misses := above(line[0]^cell, differ) | above(line[1]^cell, differ)<<1 | above(line[2]^cell, differ)<<2 |
		above(line[3]^cell, differ)<<3 | above(line[4]^cell, differ)<<4 | above(line[5]^cell, differ)<<5 |
		above(line[6]^cell, differ)<<6 | above(line[7]^cell, differ)<<7
	return bits.TrailingZeros64(^misses)
}

// purgeSlidingGeneric does not branch on cells, as no branch predictor could guess which
// ones go.
func purgeSlidingGeneric(lines []layout.Line, e *SlidingExpiry) (removed int) {
	rule, freed := *e, uint64(0) // loops keep the copy in registers
	for i := range lines {
		line := &lines[i]
		for at, cell := range line {
			out := rule.Drops(cell)
			line[at] = cell & (out - 1)
			freed += cell >> layout.SlidingDateBits & out
		}
	}
	return int(freed)
}
