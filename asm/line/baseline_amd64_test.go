// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

package line

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/cpu"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// BenchmarkLineBaseline is the baseline of the benchmarks of lines in the same run.
func BenchmarkLineBaseline(b *testing.B) {
	skipWithoutBaseline(b)
	benchSizes(b, func(b *testing.B, lines [][8]uint64) {
		measureDigests(b, func(digests []digest.Digest) {
			lineBaselineAVX512(&lines[0], uint64(len(lines)), &digests[0], len(digests))
		})
	})
}

func skipWithoutBaseline(t testing.TB) {
	if !slices.Contains(cpu.Levels(), cpu.AVX512) {
		t.Skip("the CPU lacks AVX-512")
	}
}

// TestLineBaseline checks that the baseline does its work.
func TestLineBaseline(t *testing.T) {
	skipWithoutBaseline(t)
	for n := 1; n <= 100; n++ {
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		digests := kerneltest.Guarded[digest.Digest](t, n, n%2 == 0)
		lines, want := kerneltest.Guarded[[8]uint64](t, 5, n%2 == 0), make([][8]uint64, 5)
		for i := range digests {
			digests[i] = digest.Digest{0, rng.Uint64()}
			at, _ := bits.Mul64(digests[i][1], 5)
			for w := range want[at] {
				want[at][w]++
			}
		}
		lineBaselineAVX512(&lines[0], 5, &digests[0], n)
		if !slices.Equal(lines, want) {
			t.Fatalf("%d elements: lines %d, want %d", n, lines, want)
		}
	}
}
