// SPDX-License-Identifier: Apache-2.0

package line

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/cpu"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/layout"
)

// rowLevels compares batches that draw draws, of the given lengths.
func rowLevels(t *testing.T, test levelTest, p RowParams) {
	t.Helper()
	test.call = func(int) levelCall {
		position := test.rng.Uint64()
		return func(lines, _ []layout.Line, seen []uint64, digests []digest.Digest) any {
			return TestAndSetRows(lines, seen, digests, position, p)
		}
	}
	test.run(t)
}

func TestRowLevels(t *testing.T) {
	kerneltest.ForLevels(t, func(t *testing.T) {
		forRows(t, func(t *testing.T, p RowParams) {
			rng := rand.New(rand.NewPCG(uint64(p.Shape), uint64(p.Eviction)))
			for i, stream := range rowStreams {
				rowLevels(t, levelTest{lines: 3, front: i%2 == 1, rng: rng, draw: stream.drawing(rng)}, p)
			}
		})
	})
}

// TestRowLevelsAnyMemory starts from lines that no call has made, with gaps and
// equal cells.
func TestRowLevelsAnyMemory(t *testing.T) {
	kerneltest.ForLevels(t, func(t *testing.T) {
		forRows(t, func(t *testing.T, p RowParams) {
			rng := rand.New(rand.NewPCG(7, uint64(p.Shape)))
			test := levelTest{lines: 4, rng: rng, lengths: []int{500}}
			test.start = func(lines, _ []layout.Line) {
				for i := range lines {
					for w := range lines[i] {
						v := rng.Uint64()
						for shift := 0; shift < 64; shift += 8 {
							if rng.IntN(2) == 0 {
								v &^= 0xff << shift
							}
						}
						lines[i][w] = v
					}
				}
			}
			test.draw = digestKind{digest: func(rng *rand.Rand, _ []digest.Digest) digest.Digest {
				return digest.Digest{rng.Uint64N(256) << 56, rng.Uint64()}
			}}.drawing(rng)
			rowLevels(t, test, p)
		})
	})
}

// TestRowLevelsManyRows has enough lines that row numbers are large, and all bits of a
// digest's line half count.
func TestRowLevelsManyRows(t *testing.T) {
	kerneltest.ForLevels(t, func(t *testing.T) {
		forRows(t, func(t *testing.T, p RowParams) {
			rng := rand.New(rand.NewPCG(8, uint64(p.Shape)))
			test := levelTest{lines: 1<<18 - 3, rng: rng, lengths: []int{2000}, draw: rowStreams[0].drawing(rng)}
			rowLevels(t, test, p)
		})
	})
}

// TestRowBlockBorders compares the vectors' arithmetic with the plain one where rounding
// decides: at the borders of rows and of fingerprints, for the greatest number of lines
// that vectors take and beyond it.
func TestRowBlockBorders(t *testing.T) {
	most := uint64(math.MaxInt)
	kerneltest.ForLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(9, 10))
		for shape := range layout.RowShapes {
			words := shape.InWords()
			for _, lines := range []uint64{1, 2, 3, 5, 1000, 1<<32 - 1, 1 << 32, 1<<40 + 7} {
				if lines > most {
					continue
				}
				rows := lines * uint64(shape.RowsPerLine())
				for round := range 100 {
					g := newRowGeometry(shape, round%2 == 0)
					var blocks [2]batch
					digests := make([]digest.Digest, 64)
					for i := range digests {
						digests[i] = digest.Digest{border(rng, 1<<min(63, g.width)), border(rng, rows)}
					}
					for i, l := range []cpu.Level{cpu.Best, cpu.Generic} {
						kerneltest.AtLevel(l, func() {
							blocks[i].fill(digests, int(lines), words, 0, true)
							blocks[i].fingerprint(64, &g, true)
						})
					}
					if blocks[0] != blocks[1] {
						t.Fatalf("%d rows, cells of %d bits: blocks differ", rows, g.width)
					}
				}
			}
		}
	})
}

// border returns a number at most 2 from where floor(x * n / 2^64) changes.
func border(rng *rand.Rand, n uint64) uint64 {
	step := ^uint64(0)/n + 1
	return rng.Uint64N(n)*step + rng.Uint64N(5) - 2
}

// FuzzRows runs input through all implementations and the model.
func FuzzRows(f *testing.F) {
	f.Add(uint8(0), uint64(0), []byte{})
	f.Add(uint8(7), uint64(1)<<63, kerneltest.Pattern(300))
	f.Add(uint8(14), ^uint64(0), []byte("rows of rows of rows of rows of rows, and nothing but rows"))
	f.Fuzz(func(t *testing.T, kind uint8, position uint64, data []byte) {
		p := RowParams{layout.RowShape(kind % uint8(layout.RowShapes)), Eviction(kind / uint8(layout.RowShapes) % uint8(evictions))}
		digests := make([]digest.Digest, len(data))
		for i, b := range data {
			digests[i] = digest.Digest{uint64(b) * 0x9e3779b97f4a7c15, uint64(b) << 62}
		}
		for _, level := range cpu.Levels() {
			kerneltest.AtLevel(level, func() {
				checkRows(t, p, 1+int(kind>>6), position, digests, func() int { return 130 })
			})
		}
	})
}
