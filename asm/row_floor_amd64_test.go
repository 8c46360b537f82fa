//go:build amd64 && !purego

package asm

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// BenchmarkLineFloor is what BenchmarkRows of the same run is measured by.
func BenchmarkLineFloor(b *testing.B) {
	skipWithoutFloor(b)
	for _, kib := range benchKiB {
		b.Run(fmt.Sprintf("memory=%dKiB", kib), func(b *testing.B) {
			lines := benchLines(b, kib<<10/64)
			benchRows(b, func(digests []Digest) {
				lineFloorAVX512(&lines[0], uint64(len(lines)), &digests[0], len(digests))
			})
		})
	}
}

func skipWithoutFloor(t testing.TB) {
	if !slices.Contains(rowLevels(), rowAVX512) {
		t.Skip("the CPU lacks AVX-512")
	}
}

// TestLineFloor makes sure that the floor does the work that it stands for.
func TestLineFloor(t *testing.T) {
	skipWithoutFloor(t)
	for n := 1; n <= 100; n++ {
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		digests := guardedOf[Digest](t, n, n%2 == 0)
		lines, want := guardedOf[[8]uint64](t, 5, n%2 == 0), make([][8]uint64, 5)
		for i := range digests {
			digests[i] = Digest{0, rng.Uint64()}
			at, _ := bits.Mul64(digests[i][1], 5)
			for w := range want[at] {
				want[at][w]++
			}
		}
		lineFloorAVX512(&lines[0], 5, &digests[0], n)
		if !slices.Equal(lines, want) {
			t.Fatalf("%d elements: lines %d, want %d", n, lines, want)
		}
	}
}
