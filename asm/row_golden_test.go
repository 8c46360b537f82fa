package asm

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"os"
	"path/filepath"
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
		Comment: "with SplitMix64 from state 0, element i has the number e = floor(next * (i/2 + 16) / 2^64), " +
			"and the next two outputs of SplitMix64 from state e are its digest; evictions are 0 random, 1 FIFO, 2 LRU, 3 queue; " +
			"seen and memory are little-endian words",
		Lines: 3, Elements: 1000, Position: 1 << 40,
	}
	digests := goldenDigests(g.Elements)
	for shape := range rowShapes {
		for eviction := range evictions {
			lines, seen := make([][8]uint64, g.Lines), make([]uint64, (g.Elements+63)/64)
			c := TestAndSetRows(lines, seen, digests, g.Position, nil, RowParams{shape, eviction})
			row := goldenRow{Cells: shape.Cells(), CellBits: shape.CellBits(), Eviction: eviction, Filled: c.Filled, Evicted: c.Evicted}
			for _, word := range seen {
				row.Seen = binary.LittleEndian.AppendUint64(row.Seen, word)
			}
			for i := range lines {
				for _, word := range lines[i] {
					row.Memory = binary.LittleEndian.AppendUint64(row.Memory, word)
				}
			}
			g.Rows = append(g.Rows, row)
		}
	}
	return g
}

func TestGoldenRows(t *testing.T) {
	name := filepath.Join(vectorDir, "rows.json")
	for _, level := range levels() {
		var g goldenRows
		atLevel(level, func() { g = makeGoldenRows() })
		got, err := json.MarshalIndent(g, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, '\n')
		if *update {
			if err := os.WriteFile(name, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("level %d: verdicts differ from %s:\n%s", level, name, got)
		}
	}
}
