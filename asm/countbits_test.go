package asm

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

var countWidths = []int{1, 2, 4, 8, 16}

// randomLines fills lines so that every width has zero cells and others.
func randomLines(rng *rand.Rand, lines [][8]uint64) {
	for i := range lines {
		for w := range lines[i] {
			lines[i][w] = rng.Uint64()
			for range rng.IntN(8) {
				lines[i][w] &= rng.Uint64()
			}
		}
	}
}

// countedCell reports whether cell c of a line is not zero.
func countedCell(line *[8]uint64, c, width int) bool {
	for b := range width {
		at := c*width + b
		if width == 2 || width == 4 {
			at = b*512/width + c
		}
		if line[at/64]>>(at%64)&1 != 0 {
			return true
		}
	}
	return false
}

func TestCountCells(t *testing.T) {
	forEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(51, 52))
		for n := range 20 {
			for _, front := range []bool{false, true} {
				lines := guardedOf[[8]uint64](t, n, front)
				randomLines(rng, lines)
				for _, width := range countWidths {
					want := uint64(0)
					for i := range lines {
						for c := range 512 / width {
							if countedCell(&lines[i], c, width) {
								want++
							}
						}
					}
					if got := CountCells(lines, width); got != want {
						t.Fatalf("%d lines, width %d: %d cells, want %d", n, width, got, want)
					}
					if width == 1 && CountBits(lines) != want {
						t.Fatalf("%d lines: %d bits, want %d", n, CountBits(lines), want)
					}
				}
			}
		}
	})
}

func TestCountCellsPanics(t *testing.T) {
	for _, width := range []int{-1, 0, 3, 32, 64} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("no panic for width %d", width)
				}
			}()
			CountCells(nil, width)
		}()
	}
}

func BenchmarkCountCells(b *testing.B) {
	before := level
	defer func() { level = before }()
	for _, kib := range cellBenchSizes {
		lines := make([][8]uint64, kib<<10/64)
		randomLines(rand.New(rand.NewPCG(53, 54)), lines)
		for _, width := range []int{1, 4, 8} {
			for _, level = range levels() {
				b.Run(fmt.Sprintf("memory=%dKiB/width=%d/level=%s", kib, width, named(levelNames, level)), func(b *testing.B) {
					b.SetBytes(int64(kib) << 10)
					for b.Loop() {
						CountCells(lines, width)
					}
				})
			}
		}
	}
}
