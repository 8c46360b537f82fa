package line

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/cpu"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/layout"
)

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

// TestCellLevels compares verdicts, counts and memory for every batch length from 0
// to 300, with guard pages around all buffers.
func TestCellLevels(t *testing.T) {
	kerneltest.ForLevels(t, func(t *testing.T) {
		for _, batch := range digestBatches {
			for i, p := range cellShapes {
				t.Run(fmt.Sprintf("%s/%+v", batch.name, p), func(t *testing.T) {
					compareCells(t, cellRule(t, p), uint64(i), i%2 == 0, batch.digest)
				})
			}
		}
	})
}

// batchStep returns 1, so that batches have every length, or in short tests more.
func batchStep(rng *rand.Rand) int {
	if testing.Short() {
		return 1 + rng.IntN(8)
	}
	return 1
}

func compareCells(t *testing.T, r *CellRule, seed uint64, front bool, next func(*rand.Rand, []digest.Digest) digest.Digest) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 2))
	const lines, most = 5, 300
	filter, plain := kerneltest.Guarded[[8]uint64](t, lines, front), make([]layout.Line, lines)
	memory, words := kerneltest.Guarded[digest.Digest](t, most, front), kerneltest.Guarded[uint64](t, (most+63)/64, front)
	numbers := kerneltest.Guarded[uint32](t, most, front)
	var counts, want CellCounts
	for n := 0; n <= most; n += batchStep(rng) {
		from, used := most-n, len(words)-(n+63)/64
		if front {
			from, used = 0, 0
		}
		digests, order := memory[from:from+n], numbers[from:from+n]
		fillDigests(rng, digests, next)
		for i := range order {
			order[i] = rng.Uint32()
		}
		if n%2 == 0 {
			order = nil
		}
		seen, wanted := words[used:used+(n+63)/64], make([]uint64, (n+63)/64)
		position := rng.Uint64() >> rng.IntN(64)
		TestAndSetCells(filter, seen, digests, position, order, r, &counts)
		kerneltest.AtLevel(cpu.Generic, func() { TestAndSetCells(plain, wanted, digests, position, order, r, &want) })
		if !slices.Equal(seen, wanted) || counts != want {
			t.Fatalf("%d elements: verdicts or counts %+v and %+v differ", n, counts, want)
		}
		if !slices.Equal(filter, plain) {
			t.Fatalf("%d elements: memory differs", n)
		}
	}
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
		TestAndSetCells(lines, seen, digests, g.Position, nil, cellRule(t, p), &cell.Counts)
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
