package layout

import (
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm"
)

// exactWords fills rows with words, and returns those that found a cell.
func exactWords(rows []Line, words []uint32) (held []uint32) {
	seen := make([]uint64, len(words)/64+1)
	spill := make([]uint32, len(words))
	n := exactRun(rows, seen, words, spill)
	for i, y := range words {
		if n > 0 && spill[0] == uint32(i) {
			spill = spill[1:]
			n--
			continue
		}
		held = append(held, y)
	}
	return held
}

func exactRun(rows []Line, seen []uint64, words, spill []uint32) int {
	if ExactCells(len(rows)) == 16 {
		return asm.TestAndSetExact32(rows, seen, words, spill)
	}
	return asm.TestAndSetExact16(rows, seen, words, spill)
}

func cellsTaken(rows []Line) (n int) {
	for i := range rows {
		width := ExactCellBits(len(rows))
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
		old := make([]Line, lines)
		held := exactWords(old, words)
		rows := make([]Line, 2*lines)
		SplitExactRows(rows, old, 0, len(old))
		if before, after := cellsTaken(old), cellsTaken(rows); before != after {
			t.Errorf("%d lines: %d words before, %d after", lines, before, after)
		}
		seen := make([]uint64, len(held)/64+1)
		if n := exactRun(rows, seen, held, make([]uint32, len(held))); n != 0 {
			t.Errorf("%d lines: %d words spill", lines, n)
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
		rows := make([]Line, lines)
		want := map[uint32]bool{}
		for _, y := range exactWords(rows, words) {
			want[y] = true
		}
		arena, err := NewArena(ExactBitLines)
		if err != nil {
			t.Skipf("no memory for the bitmap: %v", err)
		}
		bitmap := arena.Lines()
		ExactRowsToBits(bitmap, rows, 0, len(rows))
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
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			SplitExactRows(make([]Line, lines[0]), make([]Line, lines[1]), 0, 0)
		})
	}
}

func BenchmarkSplitExactRows(b *testing.B) {
	rng := rand.New(rand.NewPCG(19, 20))
	old := make([]Line, 1<<17)
	words := make([]uint32, 3<<20)
	for i := range words {
		words[i] = rng.Uint32()
	}
	n := len(exactWords(old, words))
	rows := make([]Line, 1<<18)
	for b.Loop() {
		clear(rows)
		SplitExactRows(rows, old, 0, len(old))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/key")
}
