package asm

import (
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

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
		cell, lines := goldenCell{Params: p}, make([][8]uint64, g.Lines)
		TestAndSetCells(lines, seen, digests, g.Position, nil, cellRule(t, p), &cell.Counts)
		cell.Seen, cell.Memory = kerneltest.Words(seen), goldenLines(lines)
		g.Cells = append(g.Cells, cell)
	}
	for _, p := range timerShapes {
		timer, lines, rule := goldenTimer{Params: p}, make([][8]uint64, g.Lines), timerRule(t, p)
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
