package asm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/cpu"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// stableShapes are parameters at their ends and as they are used.
var stableShapes = func() (shapes []BitLineParams) {
	for k := 1; k <= MaxBitParts; k++ {
		for method := range BitMethod(bitMethods) {
			runs := []int{0}
			if method == BitsSBF {
				runs = []int{1, 4, 11, MaxBitRun - 1, MaxBitRun}
			}
			for _, p := range runs {
				shapes = append(shapes, BitLineParams{Method: method, K: k, P: p})
			}
		}
	}
	return shapes
}()

// TestStableLevels compares verdicts, counts and memory for every batch length
// from 0 to 300, with guard pages around all buffers.
func TestStableLevels(t *testing.T) {
	kerneltest.ForLevels(t, func(t *testing.T) {
		for _, p := range stableShapes {
			t.Run(fmt.Sprintf("%+v", p), func(t *testing.T) {
				for _, front := range []bool{false, true} {
					compareStable(t, p, front)
				}
			})
		}
	})
}

// compareStable takes the kinds of batches in turn.
func compareStable(t *testing.T, p BitLineParams, front bool) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(p.K), 1))
	const lines, most = 7, 300
	filter, plain := kerneltest.Guarded[[8]uint64](t, lines, front), make([][8]uint64, lines)
	memory, numbers := kerneltest.Guarded[Digest](t, most, front), kerneltest.Guarded[uint32](t, most, front)
	words := kerneltest.Guarded[uint64](t, (most+63)/64, front)
	var counts, want BitLineCounts
	for n := range most + 1 {
		from, used := most-n, len(words)-(n+63)/64
		if front {
			from, used = 0, 0
		}
		digests, order, seen := memory[from:from+n], numbers[from:from+n], words[used:used+(n+63)/64]
		fillDigests(rng, digests, digestBatches[n%len(digestBatches)].digest)
		for i := range order {
			order[i] = rng.Uint32() >> rng.UintN(32)
		}
		if n%2 == 0 {
			order = nil
		}
		position := rng.Uint64() >> rng.UintN(64)
		for i := range seen {
			seen[i] = rng.Uint64()
		}
		wanted := make([]uint64, len(seen))
		TestAndSetBitLines(filter, seen, digests, position, order, p, &counts)
		kerneltest.AtLevel(cpu.Generic, func() { TestAndSetBitLines(plain, wanted, digests, position, order, p, &want) })
		if !slices.Equal(seen, wanted) || !slices.Equal(filter, plain) || counts != want {
			t.Fatalf("%d elements: verdicts, memory or counts %+v and %+v differ", n, counts, want)
		}
	}
}

// TestStableSharded gives each of three workers the elements of a third of the
// lines: together they must say what one says.
func TestStableSharded(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 6))
		const n, lineCount, position, shards = 3000, 7, 1000, 3
		digests := make([]Digest, n)
		fillDigests(rng, digests, digestBatches[1].digest)
		for _, p := range stableShapes {
			var counts, wanted BitLineCounts
			want, lines := make([]uint64, (n+63)/64), make([][8]uint64, lineCount)
			TestAndSetBitLines(lines, want, digests, position, nil, p, &wanted)
			got, sharded := make([]uint64, len(want)), make([][8]uint64, lineCount)
			for shard := range uint64(shards) {
				var part []Digest
				var order []uint32
				for i, d := range digests {
					if share(d[1], lineCount)*shards/lineCount == shard {
						part, order = append(part, d), append(order, uint32(i))
					}
				}
				seen := make([]uint64, (len(part)+63)/64)
				TestAndSetBitLines(sharded, seen, part, position, order, p, &counts)
				for i, at := range order {
					got[at/64] |= seen[i/64] >> (i % 64) & 1 << (at % 64)
				}
			}
			if !slices.Equal(got, want) || !slices.Equal(lines, sharded) || counts != wanted {
				t.Errorf("%+v: three workers do not do what one does", p)
			}
		}
	})
}

// goldenStableFile are verdicts and memory as TestAndSetBitLines defines them, for other
// implementations and CPUs to reproduce.
type goldenStableFile struct {
	Comment         string
	Lines, Elements int
	Position        uint64
	Filters         []goldenStable
}

type goldenStable struct {
	Method       BitMethod
	K, P         int
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
			lines, seen, c := make([][8]uint64, g.Lines), make([]uint64, (g.Elements+63)/64), BitLineCounts{}
			TestAndSetBitLines(lines, seen, digests, g.Position, nil, p, &c)
			g.Filters = append(g.Filters, goldenStable{p.Method, p.K, p.P, c.Ones, kerneltest.Words(seen), goldenLines(lines)})
		}
		kerneltest.CheckGolden(t, "bitlines.json", g)
	})
}
