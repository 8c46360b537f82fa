package rowtable

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"sync"

	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// Table is lines, and the words that found theirs full.
type Table[W Word] struct {
	Arena    *layout.Arena // nil: no table
	Overflow Overflow[W]
	Copying  *snapshot.LineCopy // of the arena
}

// Shape says what the words and the lines of rows are like.
type Shape struct {
	Name   string              // for errors
	Width  uint                // bits of a word; the top bits are the number of its line
	Cells  func(lines int) int // that each of so many lines has
	Dated  bool                // spilled words have dates
	Factor uint64              // of the sets of what has spilled
}

// MaxLines is the most lines that rows have: 128 GiB, where so much can be addressed.
const MaxLines = min(1<<31, math.MaxInt/layout.LineSize/2)

// Rows is a table of rows that is changed as a whole without a pause: from one decision to
// the next a pass handles some lines, and what has spilled from these. A pass doubles the
// lines: they move to a wider table. Or it thins them: they lose what is not in a sample.
//
// Words below a mark, which rises, have their place in the lines that the pass is through with, and
// the others in those as they were before, so each element is looked up in one place as always.
type Rows[W Word] struct {
	Shape
	NewArena func(lines int) (*layout.Arena, error)

	Table    Table[W]
	Wider    Table[W] // that the table grows to, while it does
	Thinning bool
	passed   int // lines of the table that the pass is through with
	// backing is what backs lines of the wider table with memory.
	backing sync.WaitGroup
}

// Step is the number of elements between two decisions about the size of
// a counter. They are taken at multiples of it in the counter's own stream,
// so they do not depend on batches.
const Step = 512

// passCells is how many cells a pass handles between two decisions. So it ends when as many
// elements have come as an eighth of the cells: until then the last lines must hold their share
// of these, and more of it spills than usual.
const passCells = 8 * Step

// Open makes the first lines, a power of two.
func (p *Rows[W]) Open(shape Shape, lines int) error {
	p.Shape, p.NewArena = shape, layout.NewArena
	table, err := p.newTable(lines)
	if err != nil {
		return err
	}
	p.Table = table
	return nil
}

func (p *Rows[W]) newTable(lines int) (Table[W], error) {
	arena, err := p.NewArena(lines)
	if err != nil {
		return Table[W]{}, fmt.Errorf("%s of %d lines: %w", p.Name, lines, err)
	}
	return Table[W]{Arena: arena, Overflow: p.overflowOf(lines)}, nil
}

// overflowOf makes the sets of what spills from so many lines, one for those that a pass handles
// together.
func (p *Rows[W]) overflowOf(lines int) Overflow[W] {
	return newOverflow[W](max(1, lines/p.Group(lines)), p.Width, p.Factor, p.Dated)
}

// Group returns how many of so many lines a pass handles together.
func (p *Rows[W]) Group(lines int) int { return passCells / p.Cells(lines) }

// Lines returns how many lines the table has.
func (p *Rows[W]) Lines() int { return len(p.Table.Arena.Lines()) }

// Final returns how many lines the table has when the pass ends.
func (p *Rows[W]) Final() int {
	if p.Growing() {
		return len(p.Wider.Arena.Lines())
	}
	return p.Lines()
}

func (p *Rows[W]) Growing() bool { return p.Wider.Arena != nil }

// Passing reports whether a pass is under way.
func (p *Rows[W]) Passing() bool { return p.Growing() || p.Thinning }

// Grow begins a pass to so many lines.
func (p *Rows[W]) Grow(lines int) error {
	wider, err := p.newTable(lines)
	if err != nil {
		return err
	}
	p.Wider, p.passed = wider, 0
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

// populateAhead has the memory of the lines backed that the pass comes to next, where it has
// reached others of those that were backed before.
func (p *Rows[W]) populateAhead(from, to int) {
	factor := p.Final() / p.Lines()
	if now := to * factor / backedLines; now != from*factor/backedLines {
		p.populate((now+backedAhead)*backedLines, (now+backedAhead+1)*backedLines)
	}
}

// populate backs lines of the wider table in the background, unless that is small.
func (p *Rows[W]) populate(from, to int) {
	arena, lines := p.Wider.Arena, len(p.Wider.Arena.Lines())
	if to = min(to, lines); from >= to || lines < backedLines {
		return
	}
	p.backing.Go(func() { arena.Populate(from, to) })
}

// Thin begins a pass that thins.
func (p *Rows[W]) Thin() { p.Thinning, p.passed = true, 0 }

// Target is where what a pass handles belongs from then on.
func (p *Rows[W]) Target() *Table[W] {
	if p.Growing() {
		return &p.Wider
	}
	return &p.Table
}

// Mark returns the first word that a pass is not through with, 0 if there is none under way.
func (p *Rows[W]) Mark() W {
	if !p.Passing() {
		return 0
	}
	return W(p.passed) << p.Shift(p.Lines())
}

// Shift leaves the number of a word's line, of so many.
func (p *Rows[W]) Shift(lines int) uint { return p.Width + 1 - uint(bits.Len(uint(lines))) }

// Next goes on to the next lines, and removes what has spilled from them.
func (p *Rows[W]) Next() (from, to int, spilled OverflowSet[W]) {
	group := p.Group(p.Lines())
	from, to = p.passed, min(p.passed+group, p.Lines())
	p.passed = to
	return from, to, p.Table.Overflow.remove(from / group)
}

// Finish gives the memory of lines that have moved back, and ends the pass with the last ones,
// which it reports.
func (p *Rows[W]) Finish(from, to int) bool {
	if to < p.Lines() {
		if p.Growing() {
			p.Table.Arena.Release(from, to)
			p.populateAhead(from, to)
		}
		return false
	}
	if p.Growing() {
		p.backing.Wait()
		p.Table.Arena.Close()
		p.Table, p.Wider = p.Wider, Table[W]{}
	}
	p.Thinning, p.passed = false, 0
	return true
}

// Restart forgets everything, and goes back to so many lines if it can have them.
func (p *Rows[W]) Restart(lines int) {
	p.backing.Wait()
	if p.Growing() {
		p.Wider.Arena.Close()
		p.Wider = Table[W]{}
	}
	p.Thinning, p.passed = false, 0
	if p.Lines() != lines {
		if table, err := p.newTable(lines); err == nil {
			p.Table.Arena.Close()
			p.Table = table
			return
		}
	}
	p.Table.Copying.KeepRange(0, p.Lines())
	p.Table.Arena.Clear()
	p.Table.Overflow = p.overflowOf(p.Lines())
}

// Bytes returns the memory that is in use. While rows grow, that is the lines that have
// not moved, and two for each that has.
func (p *Rows[W]) Bytes() int {
	lines := p.Lines()
	if p.Growing() {
		lines += p.passed * (p.Final()/lines - 1)
	}
	return p.BytesWith(lines)
}

// BytesWith returns what so many lines take with all words that overflow now, in bytes.
func (p *Rows[W]) BytesWith(lines int) int {
	return lines*layout.LineSize + p.Table.Overflow.bytes + p.Wider.Overflow.bytes
}

// Close gives the memory back. Nothing may be called afterwards.
func (p *Rows[W]) Close() error {
	p.backing.Wait()
	err := p.Table.Arena.Close()
	if p.Growing() {
		err = errors.Join(err, p.Wider.Arena.Close())
	}
	return err
}

// Sides is room to take the elements of a step apart by the side of a mark that they lie on.
type Sides[E any] struct {
	Elements [2][Step]E
	At       [2][Step]uint32 // where in the step each is
}

// Split takes elements apart: those from the mark on, and those below it. Elements that have one
// of a side's bits are left out.
func Split[E any, W Word](a *Sides[E], elements []E, word func(E) W, mark W, out [2]W) (n [2]int) {
	for i, e := range elements {
		y, side := word(e), 0
		if y < mark {
			side = 1
		}
		place := n[side] & (Step - 1)
		a.Elements[side][place], a.At[side][place] = e, uint32(i)
		if y&out[side] == 0 {
			n[side]++
		}
	}
	return n
}

// KeepWords copies the lines that words are looked up in: their numbers are what shift leaves.
func KeepWords[E any, W Word](l *snapshot.LineCopy, elements []E, word func(E) W, shift uint) {
	if !l.Copying() {
		return
	}
	for _, e := range elements {
		l.KeepLine(uint64(word(e) >> shift))
	}
}
