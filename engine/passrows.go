package engine

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"sync"

	"github.com/flowdedup/flowdedup/layout"
)

// rowTable is lines, and the words that found theirs full.
type rowTable[W spillWord] struct {
	arena   *layout.Arena // nil: no table
	spilled spillGroups[W]
	copying *lineCopy // of the arena
}

// rowShape says what the words and the lines of rows are like.
type rowShape struct {
	name   string              // for errors
	width  uint                // bits of a word; the top bits are the number of its line
	cells  func(lines int) int // that each of so many lines has
	dated  bool                // spilled words have dates
	factor uint64              // of the sets of what has spilled
}

// maxRowLines is the most lines that rows have: 128 GiB, where so much can be addressed.
const maxRowLines = min(1<<31, math.MaxInt/layout.LineSize/2)

// passRows is a table of rows that is changed as a whole without a pause: from one decision to
// the next a pass handles some lines, and what has spilled from these. A pass doubles the
// lines: they move to a wider table. Or it thins them: they lose what is not in a sample.
//
// Words below a mark, which rises, have their place in the lines that the pass is through with, and
// the others in those as they were before, so each element is looked up in one place as always.
type passRows[W spillWord] struct {
	rowShape
	newArena func(lines int) (*layout.Arena, error)

	table    rowTable[W]
	wider    rowTable[W] // that the table grows to, while it does
	thinning bool
	passed   int // lines of the table that the pass is through with
	// backing is what backs lines of the wider table with memory.
	backing sync.WaitGroup
}

// counterStep is the number of elements between two decisions about the size of
// a counter. They are taken at multiples of it in the counter's own stream,
// so they do not depend on batches.
const counterStep = 512

// passCells is how many cells a pass handles between two decisions. So it ends when as many
// elements have come as an eighth of the cells: until then the last lines must hold their share
// of these, and more of it spills than usual.
const passCells = 8 * counterStep

// open makes the first lines, a power of two.
func (p *passRows[W]) open(shape rowShape, lines int) error {
	p.rowShape, p.newArena = shape, layout.NewArena
	table, err := p.newTable(lines)
	if err != nil {
		return err
	}
	p.table = table
	return nil
}

func (p *passRows[W]) newTable(lines int) (rowTable[W], error) {
	arena, err := p.newArena(lines)
	if err != nil {
		return rowTable[W]{}, fmt.Errorf("%s of %d lines: %w", p.name, lines, err)
	}
	return rowTable[W]{arena: arena, spilled: p.newSpilled(lines)}, nil
}

// newSpilled makes the sets of what spills from so many lines, one for those that a pass handles
// together.
func (p *passRows[W]) newSpilled(lines int) spillGroups[W] {
	return newSpillGroups[W](max(1, lines/p.group(lines)), p.width, p.factor, p.dated)
}

// group returns how many of so many lines a pass handles together.
func (p *passRows[W]) group(lines int) int { return passCells / p.cells(lines) }

// lines returns how many lines the table has.
func (p *passRows[W]) lines() int { return len(p.table.arena.Lines()) }

// final returns how many lines the table has when the pass ends.
func (p *passRows[W]) final() int {
	if p.growing() {
		return len(p.wider.arena.Lines())
	}
	return p.lines()
}

func (p *passRows[W]) growing() bool { return p.wider.arena != nil }

// passing reports whether a pass is under way.
func (p *passRows[W]) passing() bool { return p.growing() || p.thinning }

// grow begins a pass to so many lines.
func (p *passRows[W]) grow(lines int) error {
	wider, err := p.newTable(lines)
	if err != nil {
		return err
	}
	p.wider, p.passed = wider, 0
	p.populate(0, (backedAhead+1)*backedLines)
	return nil
}

const (
	// backedLines is how many lines are backed with memory at a time, before a pass comes to
	// them: those of a huge page, which may take the system milliseconds to find.
	backedLines = 2 << 20 / layout.LineSize
	// backedAhead is how many such parts are backed before the one that the pass is in.
	backedAhead = 2
)

// ahead has the memory of the lines backed that the pass comes to next, where it has
// reached others of those that were backed before.
func (p *passRows[W]) ahead(from, to int) {
	factor := p.final() / p.lines()
	if now := to * factor / backedLines; now != from*factor/backedLines {
		p.populate((now+backedAhead)*backedLines, (now+backedAhead+1)*backedLines)
	}
}

// populate backs lines of the wider table in the background, unless that is small.
func (p *passRows[W]) populate(from, to int) {
	arena, lines := p.wider.arena, len(p.wider.arena.Lines())
	if to = min(to, lines); from >= to || lines < backedLines {
		return
	}
	p.backing.Go(func() { arena.Populate(from, to) })
}

// thin begins a pass that thins.
func (p *passRows[W]) thin() { p.thinning, p.passed = true, 0 }

// target is where what a pass handles belongs from then on.
func (p *passRows[W]) target() *rowTable[W] {
	if p.growing() {
		return &p.wider
	}
	return &p.table
}

// mark returns the first word that a pass is not through with, 0 if there is none under way.
func (p *passRows[W]) mark() W {
	if !p.passing() {
		return 0
	}
	return W(p.passed) << p.shift(p.lines())
}

// shift leaves the number of a word's line, of so many.
func (p *passRows[W]) shift(lines int) uint { return p.width + 1 - uint(bits.Len(uint(lines))) }

// next goes on to the next lines, and removes what has spilled from them.
func (p *passRows[W]) next() (from, to int, spilled spillSet[W]) {
	group := p.group(p.lines())
	from, to = p.passed, min(p.passed+group, p.lines())
	p.passed = to
	return from, to, p.table.spilled.take(from / group)
}

// finish gives the memory of lines that have moved back, and ends the pass with the last ones,
// which it reports.
func (p *passRows[W]) finish(from, to int) bool {
	if to < p.lines() {
		if p.growing() {
			p.table.arena.Release(from, to)
			p.ahead(from, to)
		}
		return false
	}
	if p.growing() {
		p.backing.Wait()
		p.table.arena.Close()
		p.table, p.wider = p.wider, rowTable[W]{}
	}
	p.thinning, p.passed = false, 0
	return true
}

// restart forgets everything, and goes back to so many lines if it can have them.
func (p *passRows[W]) restart(lines int) {
	p.backing.Wait()
	if p.growing() {
		p.wider.arena.Close()
		p.wider = rowTable[W]{}
	}
	p.thinning, p.passed = false, 0
	if p.lines() != lines {
		if table, err := p.newTable(lines); err == nil {
			p.table.arena.Close()
			p.table = table
			return
		}
	}
	p.table.copying.keepRange(0, p.lines())
	p.table.arena.Clear()
	p.table.spilled = p.newSpilled(p.lines())
}

// bytes returns the memory that is in use. While rows grow, that is the lines that have
// not moved, and two for each that has.
func (p *passRows[W]) bytes() int {
	lines := p.lines()
	if p.growing() {
		lines += p.passed * (p.final()/lines - 1)
	}
	return lines*layout.LineSize + p.table.spilled.bytes + p.wider.spilled.bytes
}

// close gives the memory back. Nothing may be called afterwards.
func (p *passRows[W]) close() error {
	p.backing.Wait()
	err := p.table.arena.Close()
	if p.growing() {
		err = errors.Join(err, p.wider.arena.Close())
	}
	return err
}

// apart is room to take the elements of a step apart by the side of a mark that they lie on.
type apart[E any] struct {
	elements [2][counterStep]E
	at       [2][counterStep]uint32 // where in the step each is
}

// split takes elements apart: those from the mark on, and those below it. Elements that have one
// of a side's bits are left out.
func split[E any, W spillWord](a *apart[E], elements []E, word func(E) W, mark W, out [2]W) (n [2]int) {
	for i, e := range elements {
		y, side := word(e), 0
		if y < mark {
			side = 1
		}
		place := n[side] & (counterStep - 1)
		a.elements[side][place], a.at[side][place] = e, uint32(i)
		if y&out[side] == 0 {
			n[side]++
		}
	}
	return n
}

// keepWords copies the lines that words are looked up in: their numbers are what shift leaves.
func keepWords[E any, W spillWord](l *lineCopy, elements []E, word func(E) W, shift uint) {
	if !l.copying() {
		return
	}
	for _, e := range elements {
		l.keepLine(uint64(word(e) >> shift))
	}
}
