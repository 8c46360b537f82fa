// SPDX-License-Identifier: Apache-2.0

package line

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/layout"
)

// stableShapes are parameters at their ends and as they are used.
var stableShapes = func() (shapes []StableParams) {
	for k := 1; k <= layout.MaxStableParts; k++ {
		for method := range StableMethod(stableMethods) {
			runs := []int{0}
			if method == StableSBF {
				runs = []int{1, 4, 11, layout.MaxStableRun - 1, layout.MaxStableRun}
			}
			for _, p := range runs {
				shapes = append(shapes, StableParams{Method: method, K: k, P: p})
			}
			if method == StableRSBF {
				for _, from := range []uint64{1, 300, 1 << 40} { // in the midst of a batch, too
					shapes = append(shapes, StableParams{Method: method, K: k, Replace: from})
				}
			}
		}
	}
	return shapes
}()

// TestStableLevels compares verdicts, counts and memory for batches of lengths
// from 0 to 300, with guard pages around all buffers.
func TestStableLevels(t *testing.T) {
	kerneltest.ForLevels(t, func(t *testing.T) {
		for _, p := range stableShapes {
			t.Run(fmt.Sprintf("%+v", p), func(t *testing.T) {
				for i, batch := range digestBatches {
					rng := rand.New(rand.NewPCG(uint64(p.K), uint64(i)))
					test := levelTest{lines: 7, front: i%2 == 0, rng: rng, draw: batch.drawing(rng)}
					test.call = func(int) levelCall {
						position := rng.Uint64() >> rng.UintN(64)
						return func(lines, _ []layout.Line, seen []uint64, digests []digest.Digest) any {
							var c StableCounts
							TestAndSetStable(lines, seen, digests, position, p, &c)
							return c
						}
					}
					test.run(t)
				}
			})
		}
	})
}

// goldenStableFile are verdicts and memory as TestAndSetStable defines them, for other
// implementations and CPUs to reproduce.
type goldenStableFile struct {
	Comment         string
	Lines, Elements int
	Position        uint64
	Filters         []goldenStable
}

type goldenStable struct {
	Method       StableMethod
	K, P         int
	Replace      uint64 `json:",omitempty"`
	Ones         uint64
	Seen, Memory kerneltest.Hex
}

func TestGoldenStable(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		g := goldenStableFile{
			Comment: goldenElements + "methods are 0 SBF, 1 RSBF, 2 BSBF, 3 BSBFSD, 4 RLBSBF; seen and memory are little-endian words",
			Lines:   5, Elements: 1000, Position: 1,
		}
		digests := goldenDigests(g.Elements)
		for _, p := range stableShapes {
			lines, seen, c := make([]layout.Line, g.Lines), make([]uint64, (g.Elements+63)/64), StableCounts{}
			TestAndSetStable(lines, seen, digests, g.Position, p, &c)
			g.Filters = append(g.Filters, goldenStable{p.Method, p.K, p.P, p.Replace, c.Ones, kerneltest.Words(seen), goldenLines(lines)})
		}
		kerneltest.CheckGolden(t, "bitlines.json", g)
	})
}
