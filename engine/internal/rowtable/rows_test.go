// SPDX-License-Identifier: Apache-2.0

package rowtable

import (
	"errors"
	"testing"

	"github.com/flowdedup/flowdedup/layout"
)

// open returns rows of 8 cells a line, and words of 32 bits.
func open(t *testing.T, lines int) *Rows[uint32] {
	t.Helper()
	p := new(Rows[uint32])
	shape := Shape{Name: "rows", Width: 32, Cells: func(int) int { return 8 }, Factor: layout.Golden}
	if err := p.Open(shape, lines); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// TestPass runs a pass that grows and one that thins: it handles each line once, with its
// overflow, and the mark rises with it.
func TestPass(t *testing.T) {
	const lines = 4096
	for _, c := range []struct {
		name  string
		begin func(p *Rows[uint32]) error
		after int // lines
	}{
		{"grow", func(p *Rows[uint32]) error { return p.Grow(2 * lines) }, 2 * lines},
		{"thin", func(p *Rows[uint32]) error { p.Thin(); return nil }, lines},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := open(t, lines)
			for line := range uint32(lines) {
				p.Table.Overflow.TestAndSet(line << p.Shift(lines))
			}
			if p.Mark() != 0 || p.Passing() {
				t.Error("a pass is under way before it begins")
			}
			if err := c.begin(p); err != nil {
				t.Fatal(err)
			}
			for at, done := 0, false; !done; {
				from, to, overflow := p.Next()
				if from != at || to != from+passCells/8 {
					t.Fatalf("lines %d to %d, want %d to %d", from, to, at, at+passCells/8)
				}
				at = to
				n := 0
				for y := range overflow.All {
					if line := int(y >> p.Shift(lines)); line < from || line >= to {
						t.Errorf("lines %d to %d: a word of line %d", from, to, line)
					}
					n++
				}
				if n != to-from {
					t.Errorf("lines %d to %d: %d words, want %d", from, to, n, to-from)
				}
				if mark := p.Mark(); to < lines && int(mark>>p.Shift(lines)) != to {
					t.Errorf("mark %#x after line %d", mark, to)
				}
				done = p.Finish(from, to)
				if done != (to == lines) {
					t.Fatalf("done %v after line %d", done, to)
				}
			}
			if p.Lines() != c.after || p.Passing() || p.Bytes() != c.after*layout.LineSize {
				t.Errorf("%d lines, %d bytes, passing %v", p.Lines(), p.Bytes(), p.Passing())
			}
		})
	}
}

// TestPopulates grows rows of several huge pages, whose lines are populated in the background while the
// pass writes them, or get the memory of lines that have moved. It gives up another such pass in the middle.
func TestPopulates(t *testing.T) {
	const lines = 4 * backedLines
	for _, overwrites := range []bool{false, true} {
		p := open(t, lines)
		p.Overwrites = overwrites
		for i := range p.Table.Arena.Lines() {
			p.Table.Arena.Lines()[i] = layout.Line{7: 1}
		}
		if err := p.Grow(2 * lines); err != nil {
			t.Fatal(err)
		}
		for p.passed < lines/2 {
			moveLines(p)
		}
		p.Restart(lines)
		if err := p.Grow(2 * lines); err != nil {
			t.Fatal(err)
		}
		for p.Growing() {
			moveLines(p)
		}
		for i, line := range p.Table.Arena.Lines() {
			if want := (layout.Line{uint64(i)/2 + 1}); line != want {
				t.Fatalf("overwrites %v: line %d is %v, want %v", overwrites, i, line, want)
			}
		}
	}
}

// moveLines takes a pass one step on, and gives each line that two become a number.
func moveLines(p *Rows[uint32]) {
	from, to, _ := p.Next()
	wider := p.Wider.Arena.Lines()
	for line := from; line < to; line++ {
		wider[2*line] = layout.Line{uint64(line) + 1}
		wider[2*line+1] = wider[2*line]
	}
	p.Finish(from, to)
}

// TestRestart goes back to fewer lines, in the middle of a pass and where there is no
// memory.
func TestRestart(t *testing.T) {
	p := open(t, 1024)
	if err := p.Grow(2048); err != nil {
		t.Fatal(err)
	}
	p.Table.Arena.Lines()[5][0] = 1
	p.NewArena = func(int) (*layout.Arena, error) { return nil, errors.New("no memory") }
	p.Restart(512)
	if p.Lines() != 1024 || p.Passing() || p.Table.Arena.Lines()[5][0] != 0 {
		t.Errorf("without memory: %d lines, passing %v", p.Lines(), p.Passing())
	}
	p.NewArena = layout.NewArena
	if p.Restart(512); p.Lines() != 512 {
		t.Errorf("%d lines, want 512", p.Lines())
	}
}

// TestSplit splits elements at a mark, without those that have a bit of their side.
func TestSplit(t *testing.T) {
	var sides Sides[uint32]
	n := Split(&sides, []uint32{8, 1, 9, 2, 10}, func(y uint32) uint32 { return y }, 5, [2]uint32{1, 2})
	if n != [2]int{2, 1} || sides.Elements[0][1] != 10 || sides.At[0][1] != 4 || sides.Elements[1][0] != 1 || sides.At[1][0] != 1 {
		t.Errorf("%v: %v and %v", n, sides.Elements[0][:n[0]], sides.Elements[1][:n[1]])
	}
}

// TestSampleSum adds up the estimates of samples.
func TestSampleSum(t *testing.T) {
	var sum SampleSum
	sum.Add(1000, 0, 1, 1)
	if low, high := sum.Bounds(); sum.Mean != 1000 || low != 1000 || high != 1000 {
		t.Errorf("all elements: %v, from %d to %d", sum.Mean, low, high)
	}
	sum.Add(100, 0, 0.5, 0)
	if low, high := sum.Bounds(); sum.Mean != 1050 || low != 1000 || high != 1100 {
		t.Errorf("with half of a step: %v, from %d to %d", sum.Mean, low, high)
	}
	sum.Add(10_000, 3, 1, 1)
	low, high := sum.Bounds()
	if sum.Mean != 81_050 || low < 79_000 || low >= 81_000 || high <= 81_100 || high > 83_000 {
		t.Errorf("with a sample: %v, from %d to %d", sum.Mean, low, high)
	}
}
