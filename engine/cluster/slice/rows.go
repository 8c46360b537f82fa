// SPDX-License-Identifier: Apache-2.0

package slice

import (
	"math"

	"github.com/flowdedup/flowdedup/layout"
)

// cells is how many elements a line holds. Each has a digest, and a word with its time and
// its site.
const (
	cells    = 1 << cellBits
	cellBits = 2
)

// line is a line: the digests of its cells, then their marks.
type line layout.Line

// lineBytes is the length of a line.
const lineBytes = layout.LineSize

// mark is when and where an element was seen: the time in microseconds, and in the lowest 8
// bits the number of the site, from 1. A mark of 0 is an empty cell. The highest bit is free.
type mark uint64

const (
	siteBits = 8
	// timeBias makes all times positive that a request can have, before and after the
	// correction of clocks.
	timeBias = 1 << 54
	// spilledBit, in the first mark of a line, says that a spare line may have cells of it.
	spilledBit = 1 << 63
)

func newMark(time int64, site int) mark {
	return mark((uint64(time+timeBias)<<siteBits | uint64(site)) &^ spilledBit)
}

func (m mark) site() int   { return int(m & (1<<siteBits - 1)) }
func (m mark) time() int64 { return int64(m>>siteBits) - timeBias }

// mark returns the mark of a cell.
func (l *line) mark(cell uint) mark { return mark(l[cells+cell%cells] &^ spilledBit) }

// set changes a cell.
func (l *line) set(cell uint, digest uint64, m mark) {
	l[cell%cells] = digest
	l[cells+cell%cells] = l[cells+cell%cells]&spilledBit | uint64(m)
}

// spilled reports whether a spare line may have cells of this line.
func (l *line) spilled() bool { return l[cells]&spilledBit != 0 }

// find returns the mark of the digest that another site has left nearest to a time, or 0.
// known means that this site has left a mark at exactly that time.
func (l *line) find(digest uint64, t int64, site int) (other mark, known bool) {
	nearest := uint64(math.MaxUint64)
	for i := range uint(cells) {
		m := l.mark(i)
		if l[i] != digest || m == 0 {
			continue
		}
		if m.site() == site {
			known = known || m.time() == t
		} else if d := distance(m.time(), t); d < nearest {
			other, nearest = m, d
		}
	}
	return other, known
}

// has reports whether a cell has the digest. Empty cells have 0.
func (l *line) has(digest uint64) bool {
	return l[0] == digest || l[1] == digest || l[2] == digest || l[3] == digest
}

// victim returns an empty cell, or the cell whose time is the farthest from now. So elements
// with a wrong clock are evicted first. There is no branch that depends on times: nothing
// could predict it. The mark of an empty cell is farther away than any time.
func (l *line) victim(now int64) uint {
	farthest := uint64(0)
	for i := range uint(cells) {
		farthest = max(farthest, distance(l.mark(i).time(), now)<<cellBits|uint64(i))
	}
	return uint(farthest % cells)
}

// distance returns the absolute difference of two times.
func distance(a, b int64) uint64 { return uint64(max(a, b)) - uint64(min(a, b)) }
