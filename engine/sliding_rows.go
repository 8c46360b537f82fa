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
	s.purge(0, len(s.arena.Lines()))
	s.recount()
}

// recount counts the cells that there are, and by their dates those that are not old.
func (s *Sliding) recount() {
	s.cells = 0
	clear(s.counts)
	for i := range s.arena.Lines() {
		s.recountCells(s.arena.Lines()[i][:])
	}
	for _, cells := range s.spilled {
		s.recountCells(cells)
	}
}

func (s *Sliding) recountCells(cells []uint64) {
	counts, term := s.counts, s.term()
	for _, cell := range cells {
		known := cell >> asm.SlidingDateBits & 1
		s.cells += int(known)
		counts[cell&dateMask&uint64(len(counts)-1)] += uint32(known &^ term.old(cell))
	}
}

// sweep takes out cells that are older than the window, from as many lines as so many steps
// ask for.
func (s *Sliding) sweep(steps int64) {
	lines := len(s.arena.Lines())
	s.debt += steps * slidingSweeps * int64(lines)
	n := int(min(s.debt/s.steps, int64(lines)))
	s.debt %= s.steps
	end := min(s.swept+n, lines)
	s.purge(s.swept, end)
	if n -= end - s.swept; n > 0 {
		s.purge(0, n)
		end = n
	}
	s.swept = end % lines
}

// slidingTerm says which cells are remembered, in a value that loops keep in registers.
type slidingTerm struct{ front, steps, sample uint64 }

func (s *Sliding) term() slidingTerm {
	return slidingTerm{uint64(s.front), uint64(s.steps), sampleMask(s.level)}
}

// old returns 1 for a cell that is older than the window, else 0.
func (t slidingTerm) old(cell uint64) uint64 {
	_, old := bits.Sub64(t.steps, (t.front-cell)&dateMask, 0)
	return old
}

// out returns 1 for a cell that is old or not in the sample, else 0.
func (t slidingTerm) out(cell uint64) uint64 {
	_, unsampled := bits.Sub64(0, cell&t.sample, 0)
	return t.old(cell) | unsampled
}

// purge takes the cells that are out from lines from to to-1, and from what spilled from these
// lines. It has no branch for a cell: nobody could guess which ones go.
func (s *Sliding) purge(from, to int) {
	lines, term := s.arena.Lines()[from:to], s.term()
	freed := uint64(0)
	for i := range lines {
		row, full := &lines[i], uint64(asm.SlidingKnown)
		for at, cell := range row {
			out := term.out(cell)
			row[at] = cell & (out - 1)
			freed += cell >> asm.SlidingDateBits & out
			full &= cell
		}
		if full != 0 && len(s.spilled) > 0 {
			s.unspill(from + i)
		}
	}
	s.cells -= int(freed)
}

// unspill takes what spilled from a line out or into it.
func (s *Sliding) unspill(line int) {
	cells := s.spilled[line]
	if cells == nil {
		return
	}
	delete(s.spilled, line)
	term := s.term()
	for _, cell := range cells {
		if term.out(cell) == 0 {
			s.place(line, cell)
		} else {
			s.cells--
		}
	}
}
