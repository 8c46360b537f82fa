// SPDX-License-Identifier: Apache-2.0

package window

import (
	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine/theory"
	"github.com/flowdedup/flowdedup/layout"
)

// sparePart is N where one in N lines is spare.
const sparePart = 13

// leastTimedLines is the size of the smallest filter to suggest: smaller filters have
// few spare lines.
const leastTimedLines = 64

// timedRows are the lines of a filter in one arena, with the spare lines after the
// others.
type timedRows struct {
	arena *layout.Arena
	lines int // number of lines that are not spare
}

// newTimedRows makes rows of the given number of lines, including spare ones if there is
// a window.
func newTimedRows(lines int, window bool) (timedRows, error) {
	arena, err := layout.NewArena(lines)
	if err != nil {
		return timedRows{}, err
	}
	if window {
		lines -= SpareLines(lines)
	}
	return timedRows{arena, lines}, nil
}

// SpareLines returns how many of the given lines of a Timed with a window, or of a
// Coarse, are spare.
func SpareLines(lines int) int { return lines / sparePart }

// rows returns the lines in the form that the kernel takes.
func (r *timedRows) rows() line.TimedRows {
	all := r.arena.Lines()
	return line.TimedRows{Lines: all[:r.lines:r.lines], Spare: all[r.lines:]}
}

// live returns the number of cells within the window of a tick.
func (r *timedRows) live(p *line.TimedParams, now int64) (sum uint64) {
	for i := range r.arena.Lines() {
		l := &r.arena.Lines()[i]
		for cell := range layout.TimedCells {
			if l[cell]>>(64-p.FPBits) != 0 && nearTick(timedTick(l, cell, p), now, p) {
				sum++
			}
		}
	}
	return sum
}

// timedTick returns the time of a cell, modulo 2^TickBits: see layout/rows.go.
func timedTick(l *layout.Line, cell int, p *line.TimedParams) uint64 {
	const high = layout.TimedHighBits
	upper := l[layout.TimedCells+cell/3] >> (high * (cell % 3)) & (1<<high - 1)
	mark := upper<<(64-p.FPBits) | l[cell]&(1<<(64-p.FPBits)-1)
	return mark & (1<<p.TickBits - 1)
}

// nearTick reports whether the time of a cell is within the window of a tick, the short way
// round.
func nearTick(cell uint64, now int64, p *line.TimedParams) bool {
	distance := (cell - uint64(now) + uint64(p.Window)) & (1<<p.TickBits - 1)
	return distance <= 2*uint64(p.Window)
}

// timedLines returns the number of lines, including spare ones, for the given number of
// live elements.
func timedLines(live float64) int {
	const most = 1 << 40
	lines := min(live/fullLoad, most)
	return max(1, int(lines*sparePart/(sparePart-1))+1)
}

// TimedModel returns the model of the rows of a Timed, for elements in order: without slack.
func TimedModel() theory.SpareRows {
	return theory.SpareRows{Cells: layout.TimedCells, Share: sparePart - 1, OldestFirst: true}
}
