package asm

import (
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// goldenRows are verdicts and memory as TestAndSetRows defines them, for other
// implementations and CPUs to reproduce.
type goldenRows struct {
	Comment         string
	Lines, Elements int
	Position        uint64
	Rows            []goldenRow
}

type goldenRow struct {
	Cells, CellBits int
	Eviction        Eviction
	Filled, Evicted uint64
	Seen, Memory    kerneltest.Hex
}

func makeGoldenRows() goldenRows {
	g := goldenRows{
		Comment: goldenElements + "evictions are 0 random, 1 LRU, 2 queue; seen and memory are little-endian words",
		Lines:   3, Elements: 1000, Position: 1 << 40,
	}
	digests := goldenDigests(g.Elements)
	for shape := range RowShapes {
		for eviction := range evictions {
			lines, seen := make([][8]uint64, g.Lines), make([]uint64, (g.Elements+63)/64)
			c := TestAndSetRows(lines, seen, digests, g.Position, nil, RowParams{shape, eviction})
			row := goldenRow{Cells: shape.Cells(), CellBits: shape.CellBits(), Eviction: eviction, Filled: c.Filled, Evicted: c.Evicted}
			row.Seen, row.Memory = kerneltest.Words(seen), goldenLines(lines)
			g.Rows = append(g.Rows, row)
		}
	}
	return g
}

func TestGoldenRows(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) { kerneltest.CheckGolden(t, "rows.json", makeGoldenRows()) })
}
