// SPDX-License-Identifier: Apache-2.0

package slice

import (
	"math"
	"math/bits"

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
// bits the number of the site, from 1. A mark of 0 is an empty cell.
type mark uint64

const (
	siteBits = 8
	// timeBias makes all times positive that a request can have, and those that clocks
	// correct them to.
	timeBias = 1 << 54
)

func newMark(time int64, site int) mark { return mark(uint64(time+timeBias)<<siteBits | uint64(site)) }

func (m mark) site() int   { return int(m & (1<<siteBits - 1)) }
func (m mark) time() int64 { return int64(m>>siteBits) - timeBias }

// rows are a power of two of lines. An element can be in one line alone: the lower half of
// its digest chooses it, as the upper half chooses the slice.
type rows struct {
	arena *layout.Arena
	lines []layout.Line
	shift uint // of the lower half, to the number of a line
}

// newRows returns empty ones. Errors are those of layout.NewArena.
func newRows(lines int) (rows, error) {
	arena, err := layout.NewArena(lines)
	if err != nil {
		return rows{}, err
	}
	return rows{arena: arena, lines: arena.Lines(), shift: uint(33 - bits.Len(uint(lines)))}, nil
}

// at returns the number of an element's line.
func (r *rows) at(digest uint64) int { return int(uint64(uint32(digest)) >> r.shift) }

func (r *rows) line(digest uint64) *line { return (*line)(&r.lines[r.at(digest)]) }

// find returns the mark of the digest that another site has left nearest to a time, or 0.
// known says that this site has left one at that very time.
func (l *line) find(digest uint64, t int64, site int) (other mark, known bool) {
	nearest := uint64(math.MaxUint64)
	for i := range cells {
		m := mark(l[cells+i])
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

// victim returns an empty cell, or the one whose time is the farthest from now. So elements
// of a wild clock are the first to go. There is no branch that depends on times: nothing
// could predict it. The mark of an empty cell is farther away than any time.
func (l *line) victim(now int64) uint {
	farthest := uint64(0)
	for i := range cells {
		farthest = max(farthest, distance(mark(l[cells+i]).time(), now)<<cellBits|uint64(i))
	}
	return uint(farthest % cells)
}

// distance returns how far apart times are.
func distance(a, b int64) uint64 { return uint64(max(a, b)) - uint64(min(a, b)) }

// grow doubles the lines: the elements of a line go to two. All of them stay. It returns
// the error of the system if that refuses the memory, and changes nothing.
func (r *rows) grow() error {
	next, err := newRows(2 * len(r.lines))
	if err != nil {
		return err
	}
	for i := range r.lines {
		for c := range cells {
			digest, m := r.lines[i][c], r.lines[i][cells+c]
			if m == 0 {
				continue
			}
			to := next.line(digest)
			free := to.victim(0) // an empty one: they have room for all
			to[free], to[cells+free] = digest, m
		}
	}
	r.arena, next.arena = next.arena, r.arena
	r.lines, r.shift = next.lines, next.shift
	return next.arena.Close()
}

// live returns which share of the cells lies within the window around now, by a sample of
// lines.
func (r *rows) live(now int64, window uint64) float64 {
	const sample = 1024
	step := max(1, len(r.lines)/sample)
	looked, found := 0, 0
	for i := 0; i < len(r.lines); i += step {
		for c := range cells {
			looked++
			if m := mark(r.lines[i][cells+c]); m != 0 && distance(m.time(), now) <= window {
				found++
			}
		}
	}
	return float64(found) / float64(looked)
}
