// SPDX-License-Identifier: Apache-2.0

package line

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/layout"
)

// checkCells runs digests through kernel and model in batches of the given size and
// compares verdicts, counts and every line.
func checkCells(t *testing.T, p CellParams, lineCount, batch int, digests []digest.Digest, position uint64) {
	t.Helper()
	rule, model := cellRule(t, p), newCellModel(p, lineCount)
	lines := make([]layout.Line, lineCount)
	var c CellCounts
	stream := modelTest{
		name: p, n: len(digests), batch: always(batch),
		kernel: func(from, to int, seen []uint64) {
			TestAndSetCells(lines, seen, digests[from:to], position+uint64(from), rule, &c)
		},
		model: func(i int) bool { return model.testAndSet(digests[i], position+uint64(i)) },
	}
	if want := (CellCounts{Missed: stream.run(t), NonZero: uint64(model.nonZero)}); c != want {
		t.Fatalf("%+v: counts %+v, want %+v", p, c, want)
	}
	checkLines(t, p, lines, model.line)
}

func TestCellsAgainstModel(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(31, 32))
		for _, p := range cellShapes {
			for _, lines := range []int{1, 3, 16} {
				for _, batch := range []int{1, 63, 64, 65, 1000} {
					digests := bloomDigests(rng, 500)
					checkCells(t, p, lines, batch, digests, rng.Uint64())
				}
			}
		}
	})
}

func FuzzCells(f *testing.F) {
	f.Add(uint8(0), uint8(1), uint64(0), []byte{})
	f.Add(uint8(5), uint8(3), uint64(1)<<63, kerneltest.Pattern(300))
	f.Add(uint8(7), uint8(0), uint64(7), []byte("again and again and again"))
	f.Fuzz(func(t *testing.T, shape, lines uint8, position uint64, data []byte) {
		digests := make([]digest.Digest, len(data))
		for i, b := range data {
			low := uint64(b) * 0x9e3779b97f4a7c15
			digests[i] = digest.Digest{low, low * 0xbf58476d1ce4e5b9}
		}
		checkCells(t, cellShapes[int(shape)%len(cellShapes)], 1+int(lines%4), 64, digests, position)
	})
}

// The first cell that is decremented has to be uniform for an element that comes again
// and again, at neighboring positions and at positions that are powers of two apart.
// Chi-squared with 255 degrees of freedom exceeds 389 with probability 1e-7.
func TestCellRandomIsUniform(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	for _, low := range []uint64{0, math.MaxUint64, rng.Uint64(), rng.Uint64(), rng.Uint64()} {
		for shift := range 49 {
			const n = 1 << 15
			var counts [256]float64
			for i := range uint64(n) {
				counts[prng(low, i<<shift)>>56]++
			}
			chi := 0.0
			for _, c := range counts {
				chi += (c - n/256.) * (c - n/256.) / (n / 256.)
			}
			if chi > 389 {
				t.Errorf("digest %#x, positions 2^%d apart: chi-squared %.0f", low, shift, chi)
			}
		}
	}
}

func TestCellParamsErrors(t *testing.T) {
	for _, c := range []struct {
		want string
		p    CellParams
	}{
		{"3 bits", CellParams{Bits: 3, Max: 1, K: 1, MissP: 1}},
		{"0 bits", CellParams{}},
		{"Max is 4, must be from 1 to 3", CellParams{Bits: 2, Max: 4, K: 1, MissP: 1}},
		{"Max is 0", CellParams{Bits: 4, K: 1, MissP: 1}},
		{"K is 9", CellParams{Bits: 4, Max: 7, K: 9, MissP: 1}},
		{"MissP is 129, must be from 1 to 128", CellParams{Bits: 4, Max: 7, K: 1, MissP: 129}},
		{"MissP is 0", CellParams{Bits: 4, Max: 7, K: 1}},
		{"HitP is 6, must be from 0 to 5", CellParams{Bits: 4, Max: 7, K: 1, MissP: 5, HitP: 6}},
		{"HitP is -1", CellParams{Bits: 4, Max: 7, K: 1, MissP: 5, HitP: -1}},
	} {
		_, err := NewCellRule(c.p)
		if !errors.Is(err, errParams) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.p, err, c.want)
		}
	}
}

func TestCellsPanics(t *testing.T) {
	rule := cellRule(t, cellShapes[0])
	for _, c := range []struct {
		want        string
		lines, seen int
	}{
		{"no lines", 0, 1},
		{"seen", 1, 0},
	} {
		kerneltest.Panics(t, c.want, func() {
			TestAndSetCells(make([]layout.Line, c.lines), make([]uint64, c.seen), make([]digest.Digest, 1), 0, rule, &CellCounts{})
		})
	}
}

// TestCellPicks counts how often elements have each cell of each eighth, and how often
// the eighths go together: with K up to 3, as often as if they were chosen by chance
// or less often.
func TestCellPicks(t *testing.T) {
	const n = 1 << 16
	for _, cells := range []int{32, 64, 128, 256} {
		for k := 1; k <= layout.MaxCellK; k++ {
			rng := rand.New(rand.NewPCG(uint64(cells), uint64(k)))
			pick, counts := newCellPick(cells, k), make([]int, cells)
			var pairs [8][8]int
			for range n {
				word := pick.of(rng.Uint64())
				for e := range 8 {
					cell := int(word >> (8 * e) & 255)
					if cell&cellNone != 0 {
						continue
					}
					counts[e*cells/8+cell]++
					for other := range e {
						if word>>(8*other)&cellNone == 0 {
							pairs[e][other]++
						}
					}
				}
			}
			least, most := binomialBounds(n, float64(k)/float64(cells))
			for c, count := range counts {
				if count < least || count > most {
					t.Errorf("%d cells, K = %d: cell %d %d times, want %d to %d", cells, k, c, count, least, most)
				}
			}
			_, most = binomialBounds(n, 1./8)
			for e := range pairs {
				for other, count := range pairs[e][:e] {
					if k <= 3 && count > most {
						t.Errorf("%d cells, K = %d: eighths %d and %d %d times, want %d at most", cells, k, e, other, count, most)
					}
				}
			}
		}
	}
}

func TestCellsDoNotAllocate(t *testing.T) {
	lines, seen, digests := make([]layout.Line, 4), make([]uint64, 2), make([]digest.Digest, 100)
	for _, p := range cellShapes {
		rule, c := cellRule(t, p), CellCounts{}
		if got := testing.AllocsPerRun(10, func() { TestAndSetCells(lines, seen, digests, 0, rule, &c) }); got != 0 {
			t.Errorf("%+v: %v allocations", p, got)
		}
	}
}

// cellModel is the contract of TestAndSetCells with a number for each cell.
type cellModel struct {
	p       CellParams
	lines   [][]int
	nonZero int
}

func newCellModel(p CellParams, lines int) *cellModel {
	m := &cellModel{p: p}
	for range lines {
		m.lines = append(m.lines, make([]int, p.Cells()))
	}
	return m
}

// scaledTo returns floor(x * n / 2^64).
func scaledTo(x uint64, n int) int {
	product := new(big.Int).Mul(new(big.Int).SetUint64(x), big.NewInt(int64(n)))
	return int(product.Rsh(product, 64).Int64())
}

// modelCells returns an element's cells in a line of n.
func modelCells(low uint64, n, k int) (cells []int) {
	h := func(e int) int { return int(low >> (8 * e) & 255) }
	for _, o := range []int{0, 3, 1, 4, 7, 2, 5, 6}[:k] {
		if h(5)%2 == 1 {
			o = -o
		}
		e := (h(0) + o + 8) % 8
		cells = append(cells, e*n/8+h(e)*(n/8)/256)
	}
	return cells
}

func (m *cellModel) testAndSet(d digest.Digest, position uint64) (seen bool) {
	line := m.lines[scaledTo(d[1], len(m.lines))]
	own := modelCells(d[0], len(line), m.p.K)
	seen = true
	for _, c := range own {
		seen = seen && line[c] > 0
	}
	first, run := scaledTo(prng(d[0], position), len(line)), m.p.MissP
	if seen {
		run = m.p.HitP
	}
	for i := range run {
		c := &line[m.bit((first+i)%len(line))]
		if *c == 1 {
			m.nonZero--
		}
		*c = max(0, *c-1)
	}
	for _, c := range own {
		if line[c] == 0 {
			m.nonZero++
		}
		line[c] = m.p.Max
	}
	return seen
}

// bit returns the bit of a plane, and so the cell, with number c of the order of runs.
func (m *cellModel) bit(c int) int {
	bytes := m.p.Cells() / 8
	return 8*(bytes-1-c%bytes) + c/bytes
}

// line returns the words that a line must hold.
func (m *cellModel) line(i int) (w [8]uint64) {
	for c, v := range m.lines[i] {
		for plane := range m.p.Bits {
			at := plane*m.p.Cells() + c
			w[at/64] |= uint64(v) >> plane & 1 << (at % 64)
		}
	}
	return w
}

// cellShapes are parameters of cell lines: usual ones, and the ends of all ranges.
var cellShapes = []CellParams{
	{Bits: 2, Max: 3, K: 4, MissP: 14},
	{Bits: 2, Max: 3, K: 3, MissP: 40, HitP: 40},
	{Bits: 2, Max: 1, K: 1, MissP: 1, HitP: 1},
	{Bits: 2, Max: 2, K: layout.MaxCellK, MissP: 256, HitP: 2},
	{Bits: 4, Max: 7, K: 3, MissP: 30},
	{Bits: 4, Max: 15, K: 5, MissP: 70, HitP: 1},
	{Bits: 4, Max: 5, K: 7, MissP: 128, HitP: 128},
	{Bits: 4, Max: 1, K: 2, MissP: 5},
}

func cellRule(t testing.TB, p CellParams) *CellRule {
	t.Helper()
	r, err := NewCellRule(p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestCellLevels compares verdicts, counts and memory for batches of lengths from 0
// to 300, with guard pages around all buffers.
func TestCellLevels(t *testing.T) {
	kerneltest.ForLevels(t, func(t *testing.T) {
		for _, batch := range digestBatches {
			for i, p := range cellShapes {
				t.Run(fmt.Sprintf("%s/%+v", batch.name, p), func(t *testing.T) {
					rng, rule := rand.New(rand.NewPCG(uint64(i), 2)), cellRule(t, p)
					test := levelTest{lines: 5, front: i%2 == 0, rng: rng, draw: batch.drawing(rng)}
					test.call = func(int) levelCall {
						position := rng.Uint64() >> rng.IntN(64)
						return func(lines, _ []layout.Line, seen []uint64, digests []digest.Digest) any {
							var c CellCounts
							TestAndSetCells(lines, seen, digests, position, rule, &c)
							return c
						}
					}
					test.run(t)
				})
			}
		}
	})
}

// goldenCells are verdicts, counts and memory as TestAndSetCells and TestAndSetTimers
// define them, for other implementations and CPUs to reproduce: filters are kept in
// files and moved.
type goldenCells struct {
	Comment         string
	Lines, Elements int
	Position        uint64
	Cells           []goldenCell
	Timers          []goldenTimer
}

type goldenCell struct {
	Params       CellParams
	Counts       CellCounts
	Seen, Memory kerneltest.Hex
}

type goldenTimer struct {
	Params       TimerParams
	Counts       TimerCounts
	Seen, Memory kerneltest.Hex
}

func makeGoldenCells(t *testing.T) goldenCells {
	g := goldenCells{
		Comment: "elements are those of rows.json; that of timers with number i has the tick floor(i*i/500), " +
			"and all lines are swept at the last tick; seen and memory are little-endian words",
		Lines: 3, Elements: 1000, Position: 1 << 40,
	}
	digests, ticks := goldenDigests(g.Elements), make([]uint64, g.Elements)
	for i := range ticks {
		ticks[i] = uint64(i*i) / 500
	}
	seen := make([]uint64, (g.Elements+63)/64)
	for _, p := range cellShapes {
		cell, lines := goldenCell{Params: p}, make([]layout.Line, g.Lines)
		TestAndSetCells(lines, seen, digests, g.Position, cellRule(t, p), &cell.Counts)
		cell.Seen, cell.Memory = kerneltest.Words(seen), goldenLines(lines)
		g.Cells = append(g.Cells, cell)
	}
	for _, p := range timerShapes {
		timer, lines, rule := goldenTimer{Params: p}, make([]layout.Line, g.Lines), timerRule(t, p)
		TestAndSetTimers(lines, seen, digests, ticks, rule, &timer.Counts)
		SweepTimers(lines, ticks[len(ticks)-1], rule, &timer.Counts)
		timer.Seen, timer.Memory = kerneltest.Words(seen), goldenLines(lines)
		g.Timers = append(g.Timers, timer)
	}
	return g
}

func TestGoldenCells(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) { kerneltest.CheckGolden(t, "cells.json", makeGoldenCells(t)) })
}
