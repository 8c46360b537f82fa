// SPDX-License-Identifier: Apache-2.0

// Package rowtable has the common code of counters in exact rows and in sliding rows:
// tables that grow or are thinned without a pause (Rows), sets for the few words that
// find their line full (Overflow), and estimates from samples (SampleSum).
package rowtable

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// Table is lines, and the words that found their line full.
type Table[W Word] struct {
	Arena    *layout.Arena // nil: no table
	Overflow Overflow[W]
	Copying  *snapshot.LineCopy // of the arena
}

// Shape describes the words and the lines of rows.
type Shape struct {
	Name  string              // for errors
	Width uint                // bits of a word; the top bits are the number of its line
	Cells func(lines int) int // cells of each of the given number of lines
	Dated bool                // overflow words have dates
	// Overwrites says that a pass that grows writes all lines of the wider table, whatever they hold.
	Overwrites bool
	Factor     uint64 // factor of the sets of overflow words
}

// MaxLines bounds the lines of rows: 128 GiB, or the addressable memory.
const MaxLines = min(1<<31, math.MaxInt/layout.LineSize/2)

// Rows is a table of rows that changes as a whole without a pause: from one decision to
// the next a pass handles some lines and their overflow. A pass that grows moves the
// lines to a wider table. A pass that thins removes the words outside a sample.
//
// The pass has handled the words below a mark, which rises. Those words have their place
// where the pass puts them, and the others where they were before. So each element is
// still looked up in one place.
type Rows[W Word] struct {
	Shape
	NewArena func(lines int) (*layout.Arena, error)

	Table    Table[W]
	Wider    Table[W] // wider table of a pass that grows
	Thinning bool
	passed   int // lines of the table that the pass has handled
	// backing waits for the goroutines that populate the wider table.
	backing sync.WaitGroup
}

// Step is the number of elements between two decisions about the size of a counter.
// Decisions are at multiples of it in the counter's own stream, so they do not depend on
// batches.
const Step = 512

// passCells is how many cells a pass handles between two decisions. So a pass takes as
// many elements as an eighth of the cells. Until it ends, the last lines must hold their
// share of the new elements, and more of them overflow than usual.
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

// overflowOf makes the sets for the overflow of the given number of lines.
func (p *Rows[W]) overflowOf(lines int) Overflow[W] {
	return newOverflow[W](max(1, lines/p.Group(lines)), p.Width, p.Factor, p.Dated)
}

// Group returns how many of the given lines a pass handles together.
func (p *Rows[W]) Group(lines int) int { return passCells / p.Cells(lines) }

// Lines returns how many lines the table has.
func (p *Rows[W]) Lines() int { return len(p.Table.Arena.Lines()) }

// Final returns how many lines the table will have when the pass ends.
func (p *Rows[W]) Final() int {
	if p.Growing() {
		return len(p.Wider.Arena.Lines())
	}
	return p.Lines()
}

func (p *Rows[W]) Growing() bool { return p.Wider.Arena != nil }

// Passing reports whether a pass is under way.
func (p *Rows[W]) Passing() bool { return p.Growing() || p.Thinning }

// Grow begins a pass to the given number of lines.
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
	// backedLines is the number of lines that are populated at a time before a pass
	// reaches them: a huge page, which the system may take milliseconds to find.
	backedLines = 2 << 20 / layout.LineSize
	// backedAhead is the number of such parts that are populated ahead of the pass.
	backedAhead = 2
)

// passAlong gives the memory of lines that have moved back. When the pass has reached a new part of the
// wider table, it populates a later part, every second time with the memory of moved lines if nothing
// needs zeros: the system takes longer to clear memory than a pass to write it.
func (p *Rows[W]) passAlong(from, to int) {
	factor := p.Final() / p.Lines()
	now := to * factor / backedLines
	later, reached := (now+backedAhead)*backedLines, now != from*factor/backedLines
	if reached && p.Overwrites && factor == 2 && now%2 == 0 && later < min(p.Final(), mostMoved) &&
		p.Table.Arena.Move(to-backedLines, to, p.Wider.Arena, later) {
		return
	}
	p.Table.Arena.Release(from, to)
	if reached {
		p.populate(later, later+backedLines)
	}
}

// mostMoved bounds the lines whose memory moves: each part is a mapping of its own, of which a process
// may have 65,530.
const mostMoved = 1 << 30 / layout.LineSize

// populate populates lines of the wider table in the background, unless that is small.
func (p *Rows[W]) populate(from, to int) {
	arena, lines := p.Wider.Arena, len(p.Wider.Arena.Lines())
	if to = min(to, lines); from >= to || lines < backedLines {
		return
	}
	p.backing.Go(func() { arena.Populate(from, to) })
}

// Thin begins a pass that thins.
func (p *Rows[W]) Thin() { p.Thinning, p.passed = true, 0 }

// Target returns the table that the pass writes to.
func (p *Rows[W]) Target() *Table[W] {
	if p.Growing() {
		return &p.Wider
	}
	return &p.Table
}

// Mark returns the first word that the pass has not handled, 0 without a pass.
func (p *Rows[W]) Mark() W {
	if !p.Passing() {
		return 0
	}
	return W(p.passed) << p.Shift(p.Lines())
}

// Shift returns the shift that reduces a word to the number of its line, given the number
// of lines.
func (p *Rows[W]) Shift(lines int) uint { return p.Width + 1 - uint(bits.Len(uint(lines))) }

// Next moves the pass to the next lines, from to to-1, and removes their overflow.
func (p *Rows[W]) Next() (from, to int, overflow OverflowSet[W]) {
	group := p.Group(p.Lines())
	from, to = p.passed, min(p.passed+group, p.Lines())
	p.passed = to
	return from, to, p.Table.Overflow.remove(from / group)
}

// Finish returns the memory of lines that have moved. After the last lines it ends the
// pass, and reports true.
func (p *Rows[W]) Finish(from, to int) bool {
	if to < p.Lines() {
		if p.Growing() {
			p.passAlong(from, to)
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

// Restart forgets everything, and returns to the given number of lines if there is memory
// for them.
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
	p.RestartLines(p.Lines())
}

// RestartLines is as Restart where there is no pass, and words are only in the first lines.
func (p *Rows[W]) RestartLines(used int) {
	p.Table.Copying.KeepRange(0, used)
	clear(p.Table.Arena.Lines()[:used])
	p.Table.Overflow.forget()
}

// Overflow returns the words that overflow, without dates, in ascending order.
func (p *Rows[W]) Overflow() []W {
	words := append(p.Table.Overflow.words(), p.Wider.Overflow.words()...)
	slices.Sort(words)
	return words
}

// Bytes returns the memory that is in use. While rows grow, a line counts until it has moved, and
// then its new lines count.
func (p *Rows[W]) Bytes() int {
	lines := p.Lines()
	if p.Growing() {
		lines += p.passed * (p.Final()/lines - 1)
	}
	return p.BytesWith(lines)
}

// BytesWith returns the size of the given number of lines with all words that overflow
// now, in bytes.
func (p *Rows[W]) BytesWith(lines int) int {
	return lines*layout.LineSize + p.Table.Overflow.bytes + p.Wider.Overflow.bytes
}

// Close returns the memory. No method may be called afterwards.
func (p *Rows[W]) Close() error {
	p.backing.Wait()
	err := p.Table.Arena.Close()
	if p.Growing() {
		err = errors.Join(err, p.Wider.Arena.Close())
	}
	return err
}

// Sides holds the elements of a step by their side of the mark: first those from the mark
// on, then those below it.
type Sides[E any] struct {
	Elements [2][Step]E
	At       [2][Step]uint32 // place of each in the step
}

// Split distributes elements to their sides, and returns how many each has. It leaves out
// elements that have one of their side's bits of out.
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

// KeepWords has a copy keep the lines in which elements are about to be looked up. See
// Rows.Shift.
func KeepWords[E any, W Word](l *snapshot.LineCopy, elements []E, word func(E) W, shift uint) {
	if !l.Copying() {
		return
	}
	for _, e := range elements {
		l.KeepLine(uint64(word(e) >> shift))
	}
}

// SampleSum adds up numbers of elements that were sampled at different levels.
type SampleSum struct {
	Mean, low, high float64
	variance        float64
	seen            uint64 // elements of the sample in the low sum
	Weight          float64
}

// Add adds count elements of a sample, each of which stands for 2^level. share is the
// expected share of them that count. least is 1 if all of them certainly count, else 0.
func (a *SampleSum) Add(count uint64, level uint8, share, least float64) {
	if count == 0 {
		return
	}
	weight := math.Ldexp(1, int(level))
	n := float64(count) * weight
	a.Mean += share * n
	a.low += least * n
	a.high += n
	a.seen += uint64(least) * count
	a.variance += n * (weight - 1)
	if weight > 1 {
		a.Weight = max(a.Weight, weight)
	}
}

// Bounds returns the bounds of the number, with 95 % confidence. The upper bound has 4
// elements of the sample more than the normal approximation. That covers samples without
// an element.
func (a *SampleSum) Bounds() (low, high uint64) {
	spread := 1.96 * math.Sqrt(a.variance)
	low = max(a.seen, uint64(max(0, math.Floor(a.low-spread))))
	return low, uint64(math.Ceil(a.high + spread + 4*a.Weight))
}
