// SPDX-License-Identifier: Apache-2.0

package slice

import "github.com/flowdedup/flowdedup/layout"

// linesPerSpare is how many lines share a spare line. A spare line takes the cells that
// one of them has no room for, as long as these may have copies.
const linesPerSpare = 12

// rows are lines in one arena, with the spare lines after the others. An element can only
// be in one line, or in the spare line that belongs to it: the lower half of its digest
// chooses both, as the upper half chooses the slice.
//
// There are exactly linesPerSpare times as many lines as spare lines. So all cells of a
// line go to the same spare line, even after both are doubled.
type rows struct {
	arena *layout.Arena
	lines []layout.Line
	spare []layout.Line // none if there are too few lines
}

// sizes returns how many lines and spare lines fit into a number of lines.
func sizes(all int) (lines, spare int) {
	if spare = all / (linesPerSpare + 1); spare == 0 {
		return all, 0
	}
	return linesPerSpare * spare, spare
}

// newRows returns empty rows. It returns the errors of layout.NewArena.
func newRows(lines, spare int) (rows, error) {
	arena, err := layout.NewArena(roundUp(lines + spare))
	if err != nil {
		return rows{}, err
	}
	all := arena.Lines()
	return rows{arena: arena, lines: all[:lines:lines], spare: all[lines : lines+spare]}, nil
}

// roundUp rounds a number of lines up to whole huge pages if only a few lines are
// missing. Less than a huge page would be backed with small pages, and look-ups take a
// fifth longer.
func roundUp(lines int) int {
	const huge = 2 << 20 / lineBytes
	if lacks := (huge - lines%huge) % huge; lacks <= lines/1024 {
		return lines + lacks
	}
	return lines
}

// all returns the lines and the spare lines behind them.
func (r *rows) all() []layout.Line { return r.arena.Lines()[:len(r.lines)+len(r.spare)] }

// chosen returns the line that a digest selects from lines.
func chosen(lines []layout.Line, digest uint64) *line {
	return (*line)(&lines[uint64(uint32(digest))*uint64(len(lines))>>32])
}

func (r *rows) line(digest uint64) *line { return chosen(r.lines, digest) }

// spareOf returns the spare line of an element whose line has spilled cells.
func (r *rows) spareOf(digest uint64) *line { return chosen(r.spare, digest) }

// find is line.find in the line of an element and its spare line.
func (r *rows) find(l *line, digest uint64, t int64, site int) (other mark, known bool) {
	other, known = l.find(digest, t, site)
	if !l.spilled() {
		return other, known
	}
	spilled, knownThere := r.spareOf(digest).find(digest, t, site)
	if other == 0 || spilled != 0 && distance(spilled.time(), t) < distance(other.time(), t) {
		other = spilled
	}
	return other, known || knownThere
}

// spill moves a cell of a line to its spare line, and returns the mark of the cell that made
// room there, or 0.
func (r *rows) spill(l *line, cell uint, now int64) mark {
	digest, m := l[cell%cells], l.mark(cell)
	spare := r.spareOf(digest)
	to := spare.victim(now)
	evicted := spare.mark(to)
	spare.set(to, digest, m)
	l[cells] |= spilledBit
	return evicted
}

// tidy looks at the spare line of a line that has room again. It removes one cell of the
// line that is farther away from now than reach, and returns its mark, or 0. Without
// cells of the line there, look-ups do not ask any more. It removes at most one cell: so
// an element with a wrong clock does little harm.
func (r *rows) tidy(l *line, digest uint64, now int64, reach uint64) (removed mark) {
	spare, left := r.spareOf(digest), false
	for i := range uint(cells) {
		switch m := spare.mark(i); {
		case m == 0 || r.line(spare[i]) != l:
		case removed == 0 && distance(m.time(), now) > reach:
			removed = m
			spare.set(i, 0, 0)
		default:
			left = true
		}
	}
	if !left {
		l[cells] &^= spilledBit
	}
	return removed
}

// grow doubles the lines and the spare lines: the elements of a line go to two. All of them
// stay. It returns the error of the system if that refuses the memory, and changes nothing.
func (r *rows) grow() error {
	next, err := newRows(2*len(r.lines), 2*len(r.spare))
	if err != nil {
		return err
	}
	for i := range r.lines {
		l := (*line)(&r.lines[i])
		l.divide(next.lines)
		if l.spilled() {
			next.lines[2*i][cells] |= spilledBit
			next.lines[2*i+1][cells] |= spilledBit
		}
	}
	for i := range r.spare {
		(*line)(&r.spare[i]).divide(next.spare)
	}
	old := r.arena
	*r = next
	return old.Close()
}

// divide copies the cells of a line to twice as many lines.
func (l *line) divide(lines []layout.Line) {
	for i := range uint(cells) {
		if m := l.mark(i); m != 0 {
			to := chosen(lines, l[i])
			to.set(to.victim(0), l[i], m) // an empty cell: the new lines have room for all
		}
	}
}

// live estimates the share of the cells that lie within the window around now, from a
// sample of lines.
func (r *rows) live(now int64, window uint64) float64 {
	const sample = 1024
	all := r.all()
	step := max(1, len(all)/sample)
	looked, found := 0, 0
	for i := 0; i < len(all); i += step {
		for c := range uint(cells) {
			looked++
			if m := (*line)(&all[i]).mark(c); m != 0 && distance(m.time(), now) <= window {
				found++
			}
		}
	}
	return float64(found) / float64(looked)
}
