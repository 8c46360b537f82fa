package engine

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/flowdedup/flowdedup/layout"
)

// exactKind is what counters in exact rows differ in. E is what their kernel looks up, W
// the word that it stores; the top bits of words are the numbers of lines.
type exactKind[E any, W spillWord] struct {
	name  string
	width uint // bits a word
	// testAndSet is the kernel, of which asm.TestAndSetExact32 says what it does.
	testAndSet func(lines []layout.Line, seen []uint64, elements []E, spill []uint32) int
	// move puts what lines from to to-1 of src hold into dst.
	move    func(dst, src []layout.Line, from, to int)
	word    func(E) W
	element func(W) E              // with that word
	limit   func(lines int) uint64 // the count at which so many lines grow
	cells   func(lines int) int    // that each of so many lines has
}

// exactTable is lines, and the words that found theirs full.
type exactTable[W spillWord] struct {
	arena   *layout.Arena // nil: no table
	spilled spillGroups[W]
}

// exactRows is what counters in exact rows have in common: lines that double, and the
// books of them.
//
// Lines double without a pause: from one decision to the next, some of them and what has
// spilled there move to the wider rows. These have all words below a bound that rises, and
// the rows before have the others, so each element is looked up in one place as always.
type exactRows[E any, W spillWord] struct {
	kind     *exactKind[E, W]
	table    exactTable[W]
	wider    exactTable[W] // that the table grows to, while it does
	growing  *exactSplit[E]
	moved    int    // lines of the table that moved to the wider one
	count    uint64 // distinct elements
	limit    uint64 // the count at which to grow
	position int    // in the stream, modulo counterStep
	first    int    // lines to start with
	maxLines int    // lines after which a bitmap follows
	factor   uint64 // of the sets of what has spilled
	newArena func(lines int) (*layout.Arena, error)

	spills [counterStep]uint32
	seen   [counterStep / 64]uint64
}

// moveCells is how many cells move between two decisions while rows grow. So all have moved
// when as many elements have come as an eighth of the cells: the last lines must hold
// their share of these still, and more of it spills than usual.
const moveCells = 8 * counterStep

// exactSplit is room to part a step's elements in two while the rows grow.
type exactSplit[E any] struct {
	elements [2][counterStep]E
	at       [2][counterStep]uint32 // where in the step each is
	seen     [counterStep / 64]uint64
}

// start makes the first lines, a power of two.
func (x *exactRows[E, W]) start(kind *exactKind[E, W], lines, maxLines int, factor uint64) error {
	x.kind, x.first, x.maxLines, x.factor, x.newArena = kind, lines, maxLines, factor, layout.NewArena
	table, err := x.newTable(lines)
	if err != nil {
		return err
	}
	x.use(table)
	return nil
}

func (x *exactRows[E, W]) newTable(lines int) (exactTable[W], error) {
	arena, err := x.newArena(lines)
	if err != nil {
		return exactTable[W]{}, fmt.Errorf("%s of %d lines: %w", x.kind.name, lines, err)
	}
	return exactTable[W]{arena, x.newSpilled(lines)}, nil
}

// newSpilled makes the sets of what spills from so many lines, one for those that move
// together.
func (x *exactRows[E, W]) newSpilled(lines int) spillGroups[W] {
	return newSpillGroups[W](max(1, lines/x.moves(lines)), x.kind.width, x.factor)
}

// moves returns how many of so many lines move between two decisions.
func (x *exactRows[E, W]) moves(lines int) int { return moveCells / x.kind.cells(lines) }

// use takes a table over and sets the count at which it grows.
func (x *exactRows[E, W]) use(table exactTable[W]) {
	x.table = table
	x.limit = x.kind.limit(len(table.arena.Lines()))
}

// room decides where a decision is due, and returns how many of so many elements come
// before the next.
func (x *exactRows[E, W]) room(elements int) int {
	if x.position == counterStep {
		x.position = 0
		x.decide()
	}
	return min(counterStep-x.position, elements)
}

// step handles elements between two decisions, and sets their bits of seen from bit at on.
func (x *exactRows[E, W]) step(seen []uint64, at int, elements []E) {
	if x.wider.arena == nil {
		x.look(&x.table, x.seen[:], elements)
	} else {
		x.lookInBoth(elements)
	}
	x.count += uint64(len(elements))
	for _, word := range x.seen[:(len(elements)+63)/64] {
		x.count -= uint64(bits.OnesCount64(word))
	}
	orBits(seen, at, x.seen[:], len(elements))
	x.position += len(elements)
}

// look tests and sets elements in one table.
func (x *exactRows[E, W]) look(table *exactTable[W], seen []uint64, elements []E) {
	spills := x.kind.testAndSet(table.arena.Lines(), seen, elements, x.spills[:])
	for _, i := range x.spills[:spills] {
		if table.spilled.testAndSet(x.kind.word(elements[i])) {
			seen[i/64] |= 1 << (i % 64)
		}
	}
}

// lookInBoth tests and sets elements in the wider table or the one before, whichever has
// their line.
func (x *exactRows[E, W]) lookInBoth(elements []E) {
	s, word := x.growing, x.kind.word
	bound := W(x.moved) << (x.kind.width + 1 - uint(bits.Len(uint(len(x.table.arena.Lines())))))
	var n [2]int
	for i, e := range elements {
		side := 0
		if word(e) < bound {
			side = 1
		}
		place := n[side] & (counterStep - 1)
		s.elements[side][place], s.at[side][place] = e, uint32(i)
		n[side]++
	}
	clear(x.seen[:])
	for side, table := range []*exactTable[W]{&x.table, &x.wider} {
		x.look(table, s.seen[:], s.elements[side][:n[side]])
		for w, word := range s.seen[:(n[side]+63)/64] {
			for ; word != 0; word &= word - 1 {
				i := s.at[side][64*w+bits.TrailingZeros64(word)]
				x.seen[i/64] |= 1 << (i % 64)
			}
		}
	}
}

// decide starts to grow where that is due, or goes on with it. If there is no memory for
// it, further elements go to the sets of what has spilled, and growth is tried again when
// there are twice as many.
func (x *exactRows[E, W]) decide() {
	if x.wider.arena == nil {
		if x.count < x.limit {
			return
		}
		lines := len(x.table.arena.Lines())
		next := 2 * lines
		if next > x.maxLines {
			next = layout.ExactBitLines
		}
		wider, err := x.newTable(next)
		if err != nil {
			x.limit *= 2
			return
		}
		x.wider, x.growing, x.moved = wider, new(exactSplit[E]), 0
	}
	x.move()
}

// move moves the next lines to the wider table, with the words that spilled there, and
// lets the table before go when those were the last.
func (x *exactRows[E, W]) move() {
	lines := x.table.arena.Lines()
	moves := x.moves(len(lines))
	from, to := x.moved, min(x.moved+moves, len(lines))
	x.kind.move(x.wider.arena.Lines(), lines, from, to)
	x.moved = to
	x.moveSpilled(x.table.spilled.take(from / moves))
	if to < len(lines) {
		x.table.arena.Release(from, to)
		return
	}
	x.table.arena.Close()
	x.use(x.wider)
	x.wider, x.growing = exactTable[W]{}, nil
}

// moveSpilled gives words that spilled their place in the wider table. x.seen is free
// between two steps.
func (x *exactRows[E, W]) moveSpilled(spilled spillSet[W]) {
	elements, n := &x.growing.elements[0], 0
	for y := range spilled.all {
		elements[n] = x.kind.element(y)
		if n++; n == len(elements) {
			x.look(&x.wider, x.seen[:], elements[:n])
			n = 0
		}
	}
	x.look(&x.wider, x.seen[:], elements[:n])
}

// settle ends growth at once, so that one table has everything.
func (x *exactRows[E, W]) settle() {
	for x.wider.arena != nil {
		x.move()
	}
}

// bytes returns the memory that is in use. While rows grow, that is the lines that have
// not moved, and two for each that has.
func (x *exactRows[E, W]) bytes() int {
	lines := len(x.table.arena.Lines())
	if x.wider.arena != nil {
		lines += x.moved * (len(x.wider.arena.Lines())/lines - 1)
	}
	return lines*layout.LineSize + x.table.spilled.bytes + x.wider.spilled.bytes
}

// MemoryFor is as Sized says.
func (x *exactRows[E, W]) MemoryFor(elements uint64) int {
	lines := 1
	for lines < x.maxLines && x.kind.limit(lines) < elements {
		lines *= 2
	}
	return lines * layout.LineSize
}

// Populate is as Sized says.
func (x *exactRows[E, W]) Populate() {
	x.table.arena.Populate(0, len(x.table.arena.Lines()))
}

// Reset is as Counter says. A counter that cannot have its first lines back keeps
// those it has.
func (x *exactRows[E, W]) Reset() {
	x.settle()
	x.count, x.position = 0, 0
	if len(x.table.arena.Lines()) != x.first {
		if table, err := x.newTable(x.first); err == nil {
			x.table.arena.Close()
			x.use(table)
			return
		}
	}
	lines := x.table.arena.Lines()
	clear(lines)
	x.use(exactTable[W]{x.table.arena, x.newSpilled(len(lines))})
}

// Close is as Counter says.
func (x *exactRows[E, W]) Close() error {
	err := x.table.arena.Close()
	if x.wider.arena != nil {
		err = errors.Join(err, x.wider.arena.Close())
	}
	return err
}
