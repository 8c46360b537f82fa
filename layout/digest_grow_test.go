package layout

import (
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm"
)

// TestSplitDigestRows finds all that rows hold in the rows that they were split into, full
// lines among them.
func TestSplitDigestRows(t *testing.T) {
	for _, lines := range []int{2, 64, 1 << 12} {
		rng := rand.New(rand.NewPCG(19, uint64(lines)))
		digests := []asm.Digest{{0}, {^uint64(0)}, {1 << 63}, {1<<63 - 1}}
		for range 5 * lines {
			digests = append(digests, asm.Digest{rng.Uint64() >> rng.UintN(2)})
		}
		old, rows := make([]Line, lines), make([]Line, 2*lines)
		seen, spill := make([]uint64, len(digests)/64+1), make([]uint32, len(digests))
		spilled := asm.TestAndSetExact64(old, seen, digests, spill)
		SplitDigestRows(rows, old, 0, lines)
		taken := 0
		for i := range rows {
			for _, word := range rows[i] {
				if word != 0 {
					taken++
				}
			}
		}
		if taken != len(digests)-spilled {
			t.Errorf("%d lines: %d digests before, %d after", lines, len(digests)-spilled, taken)
		}
		held := digests[:0:0]
		for i, d := range digests {
			if len(spill) > 0 && spilled > 0 && spill[0] == uint32(i) {
				spill, spilled = spill[1:], spilled-1
				continue
			}
			held = append(held, d)
		}
		spill = make([]uint32, len(held))
		if n := asm.TestAndSetExact64(rows, seen, held, spill); n != 0 {
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
			SplitDigestRows(make([]Line, c[0]), make([]Line, c[1]), 0, 0)
		}()
	}
}

func BenchmarkSplitDigestRows(b *testing.B) {
	rng := rand.New(rand.NewPCG(21, 22))
	old, rows := make([]Line, 1<<16), make([]Line, 1<<17)
	digests := make([]asm.Digest, 5<<16)
	for i := range digests {
		digests[i] = asm.Digest{rng.Uint64()}
	}
	asm.TestAndSetExact64(old, make([]uint64, len(digests)/64), digests, make([]uint32, len(digests)))
	for b.Loop() {
		clear(rows)
		SplitDigestRows(rows, old, 0, len(old))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(digests)), "ns/key")
}
