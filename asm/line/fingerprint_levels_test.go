// SPDX-License-Identifier: Apache-2.0

package line

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/cpu"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/layout"
)

// forRowLevels runs a test with each implementation that the CPU can run except the plain
// one, their reference.
func forRowLevels(t *testing.T, test func(t *testing.T, level cpu.Level)) {
	t.Helper()
	for _, level := range cpu.Levels()[1:] {
		t.Run("level="+level.String(), func(t *testing.T) { test(t, level) })
	}
}

// rowCall is the arguments of a call of TestAndSetRows, and a copy of them for the plain
// implementation.
type rowCall struct {
	lines, plainLines []layout.Line
	seen, plainSeen   []uint64
	digests           []digest.Digest
}

// newRowCall makes room for n elements between guard pages: everything ends where
// one begins or, with front, begins where one ends.
func newRowCall(t testing.TB, lineCount, n int, front bool) *rowCall {
	return &rowCall{
		lines: kerneltest.Guarded[[8]uint64](t, lineCount, front), plainLines: make([]layout.Line, lineCount),
		seen: kerneltest.Guarded[uint64](t, (n+63)/64, front), plainSeen: make([]uint64, (n+63)/64),
		digests: kerneltest.Guarded[digest.Digest](t, n, front),
	}
}

// first returns the arguments of a call of n elements, at the guarded end of everything.
func (c *rowCall) first(n int, front bool) *rowCall {
	part := *c
	part.seen, part.plainSeen = kerneltest.Part(c.seen, bitWords(n), front), c.plainSeen[:bitWords(n)]
	part.digests = kerneltest.Part(c.digests, n, front)
	return &part
}

// check compares one call of the implementation with the plain one.
func (c *rowCall) check(t *testing.T, level cpu.Level, position uint64, p RowParams) {
	t.Helper()
	var got, want RowCounts
	kerneltest.AtLevel(level, func() { got = TestAndSetRows(c.lines, c.seen, c.digests, position, p) })
	kerneltest.AtLevel(cpu.Generic, func() { want = TestAndSetRows(c.plainLines, c.plainSeen, c.digests, position, p) })
	if got != want {
		t.Fatalf("%d elements: counts %+v, want %+v", len(c.digests), got, want)
	}
	if !slices.Equal(c.seen, c.plainSeen) {
		t.Fatalf("%d elements: seen %x, want %x", len(c.digests), c.seen, c.plainSeen)
	}
	if !slices.Equal(c.lines, c.plainLines) {
		t.Fatalf("%d elements: lines\n%x, want\n%x", len(c.digests), c.lines, c.plainLines)
	}
}

// TestRowLevels compares every batch length from 0 to 300, one after the other on
// the same lines, for streams of all kinds.
func TestRowLevels(t *testing.T) {
	forRowLevels(t, func(t *testing.T, level cpu.Level) {
		const most, lineCount = 300, 3
		calls := []*rowCall{newRowCall(t, lineCount, most, false), newRowCall(t, lineCount, most, true)}
		forRows(t, func(t *testing.T, p RowParams) {
			rng := rand.New(rand.NewPCG(uint64(p.Shape), uint64(p.Eviction)))
			for s, stream := range rowStreams {
				front := s%2 == 1
				all := calls[s%2]
				clear(all.lines)
				clear(all.plainLines)
				for n := range most + 1 {
					c := all.first(n, front)
					for i := range n {
						c.digests[i] = stream.digest(rng)
					}
					c.check(t, level, rng.Uint64(), p)
				}
			}
		})
	})
}

// TestRowLevelsAnyMemory starts from lines that no call has made, with gaps and
// equal cells.
func TestRowLevelsAnyMemory(t *testing.T) {
	forRowLevels(t, func(t *testing.T, level cpu.Level) {
		forRows(t, func(t *testing.T, p RowParams) {
			rng := rand.New(rand.NewPCG(7, uint64(p.Shape)))
			c := newRowCall(t, 4, 500, false)
			for i := range c.lines {
				for w := range c.lines[i] {
					v := rng.Uint64()
					for shift := 0; shift < 64; shift += 8 {
						if rng.IntN(2) == 0 {
							v &^= 0xff << shift
						}
					}
					c.lines[i][w] = v
				}
			}
			for i := range c.digests {
				c.digests[i] = digest.Digest{rng.Uint64N(256) << 56, rng.Uint64()}
			}
			copy(c.plainLines, c.lines)
			c.check(t, level, rng.Uint64(), p)
		})
	})
}

// TestRowLevelsManyRows has enough lines that row numbers are large, and all bits of a
// digest's line half count.
func TestRowLevelsManyRows(t *testing.T) {
	const lineCount = 1<<18 - 3
	lines := [2][]layout.Line{make([]layout.Line, lineCount), make([]layout.Line, lineCount)}
	forRowLevels(t, func(t *testing.T, level cpu.Level) {
		forRows(t, func(t *testing.T, p RowParams) {
			rng := rand.New(rand.NewPCG(8, uint64(p.Shape)))
			digests := makeDigests(2000, rng, rowStreams[0].digest)
			clear(lines[0])
			clear(lines[1])
			c := &rowCall{
				lines: lines[0], plainLines: lines[1], digests: digests,
				seen: make([]uint64, 32), plainSeen: make([]uint64, 32),
			}
			c.check(t, level, 0, p)
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
			g, words := newRowGeometry(shape), shape.InWords()
			for _, lines := range []uint64{1, 2, 3, 5, 1000, 1<<32 - 1, 1 << 32, 1<<40 + 7} {
				if lines > most {
					continue
				}
				rows := lines * uint64(shape.RowsPerLine())
				for range 100 {
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
