package asm

import (
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// goldenBitLines are verdicts and memory as TestAndSetBitLines defines them, for other
// implementations and CPUs to reproduce.
type goldenBitLines struct {
	Comment         string
	Lines, Elements int
	Position        uint64
	Filters         []goldenBitLine
}

type goldenBitLine struct {
	Method       BitMethod
	K, P         int
	Ones         uint64
	Seen, Memory kerneltest.Hex
}

func TestGoldenBitLines(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		g := goldenBitLines{
			Comment: goldenElements + "methods are 0 SBF, 1 RSBF, 2 BSBF, 3 BSBFSD, 4 RLBSBF; seen and memory are little-endian words",
			Lines:   5, Elements: 1000, Position: 1,
		}
		digests := goldenDigests(g.Elements)
		for _, p := range bitLineShapes {
			lines, seen, c := make([][8]uint64, g.Lines), make([]uint64, (g.Elements+63)/64), BitLineCounts{}
			TestAndSetBitLines(lines, seen, digests, g.Position, nil, p, &c)
			g.Filters = append(g.Filters, goldenBitLine{p.Method, p.K, p.P, c.Ones, kerneltest.Words(seen), goldenLines(lines)})
		}
		kerneltest.CheckGolden(t, "bitlines.json", g)
	})
}
