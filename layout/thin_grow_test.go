package layout

import (
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm"
)

// TestThinDigestRows finds the digests of a sample, and room in place of the others.
func TestThinDigestRows(t *testing.T) {
	const lines, out = 1 << 10, 3
	rng := rand.New(rand.NewPCG(41, 42))
	digests := make([]asm.Digest, 5*lines)
	for i := range digests {
		digests[i][0] = rng.Uint64()
	}
	rows, seen, spill := make([]Line, lines), make([]uint64, len(digests)/64+1), make([]uint32, len(digests))
	spilled := asm.TestAndSetExact64(rows, seen, digests, spill)
	removed := ThinDigestRows(rows, 0, lines/2, out) + ThinDigestRows(rows, lines/2, lines, out)
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
	if len(held)+removed+spilled != len(digests) || len(held) < len(digests)/5 {
		t.Errorf("%d held, %d removed, %d spilled of %d", len(held), removed, spilled, len(digests))
	}
}

// TestThinExactRows does the same with both widths of cells.
func TestThinExactRows(t *testing.T) {
	for _, lines := range []int{1 << 8, asm.Exact16Lines} {
		const out = 3
		rng := rand.New(rand.NewPCG(43, 44))
		all := make([]uint32, 10*lines)
		for i, n := range rng.Perm(len(all)) {
			all[i] = uint32(n) * 0x9e3779b1 // all different
		}
		rows := make([]Line, lines)
		held := exactWords(rows, all)
		var kept []uint32
		for _, word := range held {
			if word&out == 0 {
				kept = append(kept, word)
			}
		}
		removed := ThinExactRows(rows, 0, lines/2, out) + ThinExactRows(rows, lines/2, lines, out)
		if removed != len(held)-len(kept) {
			t.Errorf("%d lines: removed %d of %d, want %d", lines, removed, len(held), len(held)-len(kept))
		}
		seen, spill := make([]uint64, len(kept)/64+1), make([]uint32, len(kept))
		exactRun(rows, seen, kept, spill)
		for i, word := range kept {
			if seen[i/64]>>(i%64)&1 == 0 {
				t.Fatalf("%d lines: word %x is lost", lines, word)
			}
		}
		if again := ThinExactRows(rows, 0, lines, out); again != 0 {
			t.Errorf("%d lines: %d removed twice", lines, again)
		}
	}
}
