package engine

import (
	"math/bits"
	"slices"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/layout"
)

// limit is the number of cells at which lines double.
func (s *Sliding) limit() int { return slidingLoad * len(s.arena.Lines()) }

// resize doubles the lines if they are full, or halves the sample where there is no memory
// for more.
func (s *Sliding) resize() {
	for s.cells >= s.limit() {
		if !s.grow() {
			s.thin()
		}
	}
}

// grow doubles the lines, and reports whether there was memory for it.
func (s *Sliding) grow() bool {
	old := s.arena
	lines := 2 * len(old.Lines())
	if lines > s.most {
		return false
	}
	arena, err := layout.NewArena(lines)
	if err != nil {
		s.most = len(old.Lines())
		return false
	}
	layout.SplitSlidingRows(arena.Lines(), old.Lines())
	s.arena, s.swept = arena, 2*s.swept
	old.Close()
	spilled := s.spilled
	s.spilled = make(map[int][]uint64, len(spilled))
	for line, cells := range spilled {
		for _, cell := range cells {
			s.place(2*line+int(asm.SlidingSide(cell, lines)), cell)
		}
	}
	return true
}

// place puts a cell that is in no line into its line, or to those spilled.
func (s *Sliding) place(line int, cell uint64) {
	row := &s.arena.Lines()[line]
	if at := slices.Index(row[:], 0); at >= 0 {
		row[at] = cell
		return
	}
	s.spilled[line] = append(s.spilled[line], cell)
}

// thin halves the sample.
func (s *Sliding) thin() {
	s.level, s.leveled = s.level+1, s.front
	for i := range s.levels {
		s.levels[i] = max(s.levels[i], uint8(s.level))
	}
	mask := len(s.counts) - 1
	s.purge(func(cell uint64) bool {
		keep := sampled(cell, s.level)
		if !keep && s.young(cell) {
			s.counts[int(cell&dateMask)&mask]--
		}
		return keep
	})
}

// sweep takes out cells that are older than the window, from as many lines as so many steps
// ask for.
func (s *Sliding) sweep(steps int64) {
	lines := len(s.arena.Lines())
	s.debt += steps * slidingSweeps * int64(lines)
	n := int(min(s.debt/s.steps, int64(lines)))
	s.debt %= s.steps
	end := min(s.swept+n, lines)
	s.expire(s.swept, end)
	if n -= end - s.swept; n > 0 {
		s.expire(0, n)
		end = n
	}
	s.swept = end % lines
}

// young tells whether a cell is no older than the window.
func (s *Sliding) young(cell uint64) bool { return s.age(uint16(cell&dateMask)) <= s.steps }

// expire is purge of all cells that are not young. It has no branch for a cell: nobody
// could guess which ones have left the window.
func (s *Sliding) expire(from, to int) {
	front, steps := uint64(s.front), uint64(s.steps)
	lines := s.arena.Lines()[from:to]
	freed := uint64(0)
	for i := range lines {
		row := &lines[i]
		full := uint64(asm.SlidingKnown)
		for at, cell := range row {
			_, old := bits.Sub64(steps, (front-cell)&dateMask, 0) // 1 if it is older
			row[at] = cell & (old - 1)
			freed += cell >> asm.SlidingDateBits & old
			full &= cell
		}
		if full != 0 && len(s.spilled) > 0 {
			s.unspill(from+i, s.young)
		}
	}
	s.cells -= int(freed)
}

// purge takes the cells that are not to be kept out of all lines, and of those spilled.
func (s *Sliding) purge(keep func(cell uint64) bool) {
	lines := s.arena.Lines()
	for i := range lines {
		row := &lines[i]
		full := true
		for at, cell := range row {
			if cell == 0 {
				full = false
			} else if !keep(cell) {
				row[at] = 0
				s.cells--
			}
		}
		if full && len(s.spilled) > 0 {
			s.unspill(i, keep)
		}
	}
}

// unspill takes what spilled from a line out or into it.
func (s *Sliding) unspill(line int, keep func(cell uint64) bool) {
	cells := s.spilled[line]
	if cells == nil {
		return
	}
	delete(s.spilled, line)
	for _, cell := range cells {
		if keep(cell) {
			s.place(line, cell)
		} else {
			s.cells--
		}
	}
}
