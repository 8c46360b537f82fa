package asm

import (
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// goldenBits are those of TestAndSetBits.
type goldenBits struct {
	Comment         string
	Lines, Elements int
	Filters         []goldenBloom
}

type goldenBloom struct {
	Rounds       int
	Added        uint64
	Seen, Memory kerneltest.Hex
}

func TestGoldenBits(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		g := goldenBits{
			Comment: goldenElements + "nothing is seen before; seen and memory are little-endian words",
			Lines:   9, Elements: 1000,
		}
		digests := goldenDigests(g.Elements)
		for rounds := 1; rounds <= MaxBitRounds; rounds++ {
			lines, seen := make([][8]uint64, g.Lines), make([]uint64, (g.Elements+63)/64)
			added := TestAndSetBits(lines, seen, digests, rounds)
			g.Filters = append(g.Filters, goldenBloom{rounds, added, kerneltest.Words(seen), goldenLines(lines)})
		}
		kerneltest.CheckGolden(t, "bits.json", g)
	})
}
