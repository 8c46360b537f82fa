// SPDX-License-Identifier: Apache-2.0

package line

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/layout"
)

// exactWords fills rows with words, and returns those that found a cell.
func exactWords(rows []layout.Line, words []uint32) (held []uint32) {
	seen := make([]uint64, len(words)/64+1)
	overflow := make([]uint32, len(words))
	n := exactRun(rows, seen, words, overflow)
	for i, y := range words {
		if n > 0 && overflow[0] == uint32(i) {
			overflow = overflow[1:]
			n--
			continue
		}
		held = append(held, y)
	}
	return held
}

func exactRun(rows []layout.Line, seen []uint64, words, overflow []uint32) int {
	if layout.ExactCells(len(rows)) == 16 {
		return TestAndSetExact32(rows, seen, words, overflow)
	}
	return TestAndSetExact16(rows, seen, words, overflow)
}

func cellsTaken(rows []layout.Line) (n int) {
	for i := range rows {
		width := layout.ExactCellBits(len(rows))
		for at := uint(0); at < 512; at += width {
			if exactCell(&rows[i], at, width) != 0 {
				n++
			}
		}
	}
	return n
}

func TestSplitExactRows(t *testing.T) {
	for _, lines := range []int{2, 64, 1 << 15, 1 << 16, 1 << 17} {
		rng := rand.New(rand.NewPCG(15, uint64(lines)))
		// Few lines of many, full ones among them, and the extremes.
		words := []uint32{0, 1<<32 - 1, 1 << 31, 1<<31 - 1}
		for range 2000 {
			words = append(words, rng.Uint32()&(0xc0000000|0x3ff<<rng.IntN(20)))
		}
		old := make([]layout.Line, lines)
		held := exactWords(old, words)
		rows := make([]layout.Line, 2*lines)
		SplitExactRows(rows, old, 0, len(old))
		if before, after := cellsTaken(old), cellsTaken(rows); before != after {
			t.Errorf("%d lines: %d words before, %d after", lines, before, after)
		}
		seen := make([]uint64, len(held)/64+1)
		if n := exactRun(rows, seen, held, make([]uint32, len(held))); n != 0 {
			t.Errorf("%d lines: %d words overflow", lines, n)
		}
		for i, y := range held {
			if seen[i/64]>>(i%64)&1 == 0 {
				t.Fatalf("%d lines: %#x is gone", lines, y)
			}
		}
	}
}

func TestExactRowsToBits(t *testing.T) {
	for _, lines := range []int{2, 1 << 17} {
		rng := rand.New(rand.NewPCG(17, uint64(lines)))
		words := []uint32{0, 1<<32 - 1}
		for range 500 {
			words = append(words, rng.Uint32N(1<<18)|rng.Uint32N(2)<<31)
		}
		rows := make([]layout.Line, lines)
		want := map[uint32]bool{}
		for _, y := range exactWords(rows, words) {
			want[y] = true
		}
		arena, err := layout.NewArena(layout.BitmapLines)
		if err != nil {
			t.Skipf("no memory for the bitmap: %v", err)
		}
		bitmap := arena.Lines()
		ExactRowsToBitmap(bitmap, rows, 0, len(rows))
		for _, y := range words {
			if got := bitmap[y>>9][y>>6&7]>>(y&63)&1 != 0; got != want[y] {
				t.Fatalf("%d lines: %#x is %v, want %v", lines, y, got, want[y])
			}
		}
		arena.Close()
	}
}

func TestSplitExactRowsPanics(t *testing.T) {
	for name, lines := range map[string][2]int{"not double": {4, 4}, "no power of two": {6, 3}, "one line": {2, 1}} {
		t.Run(name, func(t *testing.T) {
			kerneltest.Panics(t, "", func() {
				SplitExactRows(make([]layout.Line, lines[0]), make([]layout.Line, lines[1]), 0, 0)
			})
		})
	}
}

func BenchmarkSplitExactRows(b *testing.B) {
	rng := rand.New(rand.NewPCG(19, 20))
	old := make([]layout.Line, 1<<17)
	words := make([]uint32, 3<<20)
	for i := range words {
		words[i] = rng.Uint32()
	}
	n := len(exactWords(old, words))
	rows := make([]layout.Line, 1<<18)
	for b.Loop() {
		clear(rows)
		SplitExactRows(rows, old, 0, len(old))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/key")
}

// TestSplitDigestRows finds all words of rows in the rows that they were split into,
// including full lines.
func TestSplitDigestRows(t *testing.T) { kerneltest.ForEveryLevel(t, testSplitDigestRows) }

func testSplitDigestRows(t *testing.T) {
	for _, lines := range []int{2, 64, 1 << 12} {
		rng := rand.New(rand.NewPCG(19, uint64(lines)))
		digests := []digest.Digest{{0}, {^uint64(0)}, {1 << 63}, {1<<63 - 1}}
		for range 5 * lines {
			digests = append(digests, digest.Digest{rng.Uint64() >> rng.UintN(2)})
		}
		old, rows := make([]layout.Line, lines), make([]layout.Line, 2*lines)
		seen, overflow := make([]uint64, len(digests)/64+1), make([]uint32, len(digests))
		overflowed := TestAndSetExact64(old, seen, digests, overflow)
		SplitDigestRows(rows, old, 0, lines)
		taken := 0
		for i := range rows {
			for _, word := range rows[i] {
				if word != 0 {
					taken++
				}
			}
		}
		if taken != len(digests)-overflowed {
			t.Errorf("%d lines: %d digests before, %d after", lines, len(digests)-overflowed, taken)
		}
		held := digests[:0:0]
		for i, d := range digests {
			if len(overflow) > 0 && overflowed > 0 && overflow[0] == uint32(i) {
				overflow, overflowed = overflow[1:], overflowed-1
				continue
			}
			held = append(held, d)
		}
		overflow = make([]uint32, len(held))
		if n := TestAndSetExact64(rows, seen, held, overflow); n != 0 {
			t.Errorf("%d lines: %d digests have no cell after all", lines, n)
		}
		for i := range held {
			if seen[i/64]>>(i%64)&1 == 0 {
				t.Errorf("%d lines: digest %d is lost", lines, i)
			}
		}
	}
}

func TestSplitDigestRowsPanics(t *testing.T) {
	for _, c := range [][2]int{{4, 1}, {2, 1}, {6, 3}, {8, 2}, {0, 0}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d lines of %d: no panic", c[0], c[1])
				}
			}()
			SplitDigestRows(make([]layout.Line, c[0]), make([]layout.Line, c[1]), 0, 0)
		}()
	}
}

func BenchmarkSplitDigestRows(b *testing.B) {
	rng := rand.New(rand.NewPCG(21, 22))
	old, rows := make([]layout.Line, 1<<16), make([]layout.Line, 1<<17)
	digests := make([]digest.Digest, 5<<16)
	for i := range digests {
		digests[i] = digest.Digest{rng.Uint64()}
	}
	TestAndSetExact64(old, make([]uint64, len(digests)/64), digests, make([]uint32, len(digests)))
	for b.Loop() {
		clear(rows)
		SplitDigestRows(rows, old, 0, len(old))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(digests)), "ns/key")
}

// TestSampleDigestRows finds the digests of a sample, and room in place of the others.
func TestSampleDigestRows(t *testing.T) {
	const lines, out = 1 << 10, 3
	rng := rand.New(rand.NewPCG(41, 42))
	digests := make([]digest.Digest, 5*lines)
	for i := range digests {
		digests[i][0] = rng.Uint64()
	}
	rows, seen, overflow := make([]layout.Line, lines), make([]uint64, len(digests)/64+1), make([]uint32, len(digests))
	overflowed := TestAndSetExact64(rows, seen, digests, overflow)
	removed := SampleDigestRows(rows, 0, lines/2, out) + SampleDigestRows(rows, lines/2, lines, out)
	held := map[uint64]bool{}
	for i := range rows {
		for n, word := range rows[i] {
			if word != 0 && (word&out != 0 || n > 0 && rows[i][n-1] == 0) {
				t.Fatalf("line %d: %x", i, rows[i])
			}
			held[word] = true
		}
	}
	delete(held, 0)
	if len(held)+removed+overflowed != len(digests) || len(held) < len(digests)/5 {
		t.Errorf("%d held, %d removed, %d overflowed of %d", len(held), removed, overflowed, len(digests))
	}
}

// TestSampleExactRows does the same with both widths of cells.
func TestSampleExactRows(t *testing.T) {
	for _, lines := range []int{1 << 8, layout.Exact16Lines} {
		const out = 3
		rng := rand.New(rand.NewPCG(43, 44))
		all := make([]uint32, 10*lines)
		for i, n := range rng.Perm(len(all)) {
			all[i] = uint32(n) * 0x9e3779b1 // all different
		}
		rows := make([]layout.Line, lines)
		held := exactWords(rows, all)
		var kept []uint32
		for _, word := range held {
			if word&out == 0 {
				kept = append(kept, word)
			}
		}
		removed := SampleExactRows(rows, 0, lines/2, out) + SampleExactRows(rows, lines/2, lines, out)
		if removed != len(held)-len(kept) {
			t.Errorf("%d lines: removed %d of %d, want %d", lines, removed, len(held), len(held)-len(kept))
		}
		seen, overflow := make([]uint64, len(kept)/64+1), make([]uint32, len(kept))
		exactRun(rows, seen, kept, overflow)
		for i, word := range kept {
			if seen[i/64]>>(i%64)&1 == 0 {
				t.Fatalf("%d lines: word %x is lost", lines, word)
			}
		}
		if again := SampleExactRows(rows, 0, lines, out); again != 0 {
			t.Errorf("%d lines: %d removed twice", lines, again)
		}
	}
}

// TestSplitExactLevels splits lines that hold from no cells to as many as fit, at each
// level, with guard pages on either side, and looks for every remainder.
func TestSplitExactLevels(t *testing.T) {
	for _, c := range []struct{ wide, narrow, rest uint }{{16, 16, 14}, {16, 16, 5}, {32, 32, 20}, {32, 16, 15}} {
		kerneltest.ForLevels(t, func(t *testing.T) {
			for _, front := range []bool{false, true} {
				for lines := range 40 {
					rng := rand.New(rand.NewPCG(uint64(lines), uint64(c.rest)))
					src := kerneltest.Guarded[[8]uint64](t, lines, front)
					dst, want := kerneltest.Guarded[[8]uint64](t, 2*lines, front), make([]layout.Line, 2*lines)
					for i := range src {
						src[i] = [8]uint64{}
						sides := [2]uint{}
						for cell := range min(uint(i), 512/c.wide) {
							remainder := rng.Uint64N(2 << c.rest)
							put(&src[i], cell, c.wide, remainder+1)
							side := remainder >> c.rest
							put(&want[2*i+int(side)], sides[side], c.narrow, remainder&(1<<c.rest-1)+1)
							sides[side]++
						}
					}
					if splitExact(dst, src, c.wide, c.narrow, c.rest); !slices.Equal(dst, want) {
						t.Fatalf("%+v, %d lines: %x, want %x", c, lines, dst, want)
					}
				}
			}
		})
	}
}

// TestSplitCellsLevels splits lines of cells with gaps, at each level, with guard pages on
// either side.
func TestSplitCellsLevels(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		for _, front := range []bool{false, true} {
			for lines := range 40 {
				rng := rand.New(rand.NewPCG(uint64(lines), 49))
				half := rng.UintN(64)
				src := kerneltest.Guarded[[8]uint64](t, lines, front)
				dst, want := kerneltest.Guarded[[8]uint64](t, 2*lines, front), make([]layout.Line, 2*lines)
				for i := range src {
					src[i] = [8]uint64{}
					sides := [2]int{}
					for at := range src[i] {
						if rng.IntN(40) > lines {
							continue
						}
						cell := rng.Uint64()
						src[i][at] = cell
						side := int(cell >> half & 1)
						want[2*i+side][sides[side]] = cell
						sides[side]++
					}
				}
				for i := range dst {
					dst[i][rng.IntN(8)] = rng.Uint64() // it is overwritten
				}
				if splitCells64(dst, src, half); !slices.Equal(dst, want) {
					t.Fatalf("%d lines, bit %d: %x, want %x", lines, half, dst, want)
				}
			}
		}
	})
}

// put writes a cell.
func put(line *[8]uint64, cell, width uint, value uint64) {
	line[cell*width/64] |= value << (cell * width % 64)
}

func TestSplitExactPanics(t *testing.T) {
	for name, c := range map[string]struct {
		dst, src           int
		wide, narrow, rest uint
	}{
		"not double": {3, 2, 16, 16, 3}, "wide": {4, 2, 64, 16, 3}, "narrower before": {4, 2, 16, 32, 3}, "remainder": {4, 2, 32, 16, 16},
	} {
		t.Run(name, func(t *testing.T) {
			kerneltest.Panics(t, "", func() {
				splitExact(make([]layout.Line, c.dst), make([]layout.Line, c.src), c.wide, c.narrow, c.rest)
			})
		})
	}
}
