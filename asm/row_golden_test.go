package asm

import (
	"encoding/binary"
	"math/bits"
	"testing"
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
	Seen, Memory    hexBytes
}

// goldenWords returns words as little-endian bytes.
func goldenWords(words []uint64) (b hexBytes) {
	for _, word := range words {
		b = binary.LittleEndian.AppendUint64(b, word)
	}
	return b
}

// goldenLines returns the words of lines.
func goldenLines(lines [][8]uint64) (b hexBytes) {
	for i := range lines {
		b = append(b, goldenWords(lines[i][:])...)
	}
	return b
}

// goldenElements says what goldenDigests are.
const goldenElements = "with SplitMix64 from state 0, element i has the number e = floor(next * (i/2 + 16) / 2^64), " +
	"and the next two outputs of SplitMix64 from state e are its digest; "

// goldenDigests are the elements of the golden verdicts. An element's number is
// taken from a growing range, so that new ones and copies both stay frequent.
func goldenDigests(n int) []Digest {
	digests := make([]Digest, n)
	state := uint64(0)
	for i := range digests {
		element, _ := bits.Mul64(splitMix64(&state), uint64(i/2+16))
		digests[i] = Digest{splitMix64(&element), splitMix64(&element)}
	}
	return digests
}

func makeGoldenRows() goldenRows {
	g := goldenRows{
		Comment: goldenElements + "evictions are 0 random, 1 LRU, 2 queue; seen and memory are little-endian words",
		Lines:   3, Elements: 1000, Position: 1 << 40,
	}
	digests := goldenDigests(g.Elements)
	for shape := range rowShapes {
		for eviction := range evictions {
			lines, seen := make([][8]uint64, g.Lines), make([]uint64, (g.Elements+63)/64)
			c := TestAndSetRows(lines, seen, digests, g.Position, nil, RowParams{shape, eviction})
			row := goldenRow{Cells: shape.Cells(), CellBits: shape.CellBits(), Eviction: eviction, Filled: c.Filled, Evicted: c.Evicted}
			row.Seen, row.Memory = goldenWords(seen), goldenLines(lines)
			g.Rows = append(g.Rows, row)
		}
	}
	return g
}

func TestGoldenRows(t *testing.T) {
	forEveryLevel(t, func(t *testing.T) { checkGolden(t, "rows.json", makeGoldenRows()) })
}
