package asm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/cpu"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// TestBloomLevels compares verdicts, counts and memory for every batch length from 0
// to 300, with guard pages around all buffers.
func TestBloomLevels(t *testing.T) {
	kerneltest.ForLevels(t, func(t *testing.T) {
		for _, batch := range digestBatches {
			for rounds := 1; rounds <= MaxBitRounds; rounds++ {
				t.Run(fmt.Sprintf("%s/rounds=%d", batch.name, rounds), func(t *testing.T) {
					for _, front := range []bool{false, true} {
						compareBloom(t, rounds, front, batch.digest)
					}
				})
			}
		}
	})
}

func compareBloom(t *testing.T, rounds int, front bool, next func(*rand.Rand, []Digest) Digest) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(rounds), 1))
	const lines, most = 37, 300
	filter, plain := kerneltest.Guarded[[8]uint64](t, lines, front), make([][8]uint64, lines)
	memory, words := kerneltest.Guarded[Digest](t, most, front), kerneltest.Guarded[uint64](t, (most+63)/64, front)
	for n := 0; n <= most; n += 1 + rng.IntN(6) {
		from, used := most-n, len(words)-(n+63)/64
		if front {
			from, used = 0, 0
		}
		digests, seen := memory[from:from+n], words[used:used+(n+63)/64]
		fillDigests(rng, digests, next)
		for i := range seen {
			seen[i] = rng.Uint64() & rng.Uint64() & rng.Uint64()
		}
		want := slices.Clone(seen)
		if n%3 == 0 {
			TestBits(filter, seen, digests, rounds)
			kerneltest.AtLevel(cpu.Generic, func() { TestBits(plain, want, digests, rounds) })
		} else {
			var wanted uint64
			added := TestAndSetBits(filter, seen, digests, rounds)
			kerneltest.AtLevel(cpu.Generic, func() { wanted = TestAndSetBits(plain, want, digests, rounds) })
			if added != wanted {
				t.Fatalf("%d elements: %d bits added, want %d", n, added, wanted)
			}
		}
		if !slices.Equal(seen, want) || !slices.Equal(filter, plain) {
			t.Fatalf("%d elements: verdicts or memory differ", n)
		}
		if rng.IntN(20) == 0 {
			clear(filter)
			clear(plain)
		}
	}
}

func TestSpreadBits(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 6))
		for range 1000 {
			x, room := rng.Uint64(), rng.Uint64()|rng.Uint64()>>rng.UintN(64)
			want, from := uint64(0), x
			for i := range 64 {
				if room>>i&1 != 0 {
					want |= from & 1 << i
					from >>= 1
				}
			}
			if got := spread(x, room); got != want {
				t.Fatalf("%x in %x: %x, want %x", x, room, got, want)
			}
		}
	})
}

// goldenBloomFile are those of TestAndSetBits.
type goldenBloomFile struct {
	Comment         string
	Lines, Elements int
	Filters         []goldenBloom
}

type goldenBloom struct {
	Rounds       int
	Added        uint64
	Seen, Memory kerneltest.Hex
}

func TestGoldenBloom(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		g := goldenBloomFile{
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
