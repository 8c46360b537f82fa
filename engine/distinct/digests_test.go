// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/layout"
)

// Growth keeps everything, takes the memory that the comment states, and is the same for
// any batches.
func TestDigestRowsGrow(t *testing.T) {
	n := 2 << 20
	if testing.Short() {
		n = 1 << 18
	}
	rng := rand.New(rand.NewPCG(63, 64))
	digests := make([]digest.Digest, n)
	for i := range digests {
		digests[i] = digest.Digest{rng.Uint64(), rng.Uint64()}
	}
	a, b := newDigestRows(t, 0), newDigestRows(t, 0)
	seen := make([]uint64, 1000/64+1)
	for pass := range 2 {
		for _, c := range []struct {
			r     *DigestRows
			batch int
		}{{a, 1000}, {b, 333}} {
			for at := 0; at < n; at += c.batch {
				part := digests[at:min(at+c.batch, n)]
				c.r.TestAndSet(seen, part)
				for i := range part {
					if got := seen[i/64]>>(i%64)&1 != 0; got != (pass == 1) {
						t.Fatalf("pass %d, digest %d: seen %v", pass, at+i, got)
					}
				}
				if held := c.r.held; held > 10_000 && c.r.Counts().MemoryBytes > int(27*held) {
					t.Fatalf("%d bytes for %d digests", c.r.Counts().MemoryBytes, held)
				}
			}
		}
		if a.Counts() != b.Counts() || a.Counts().Distinct != uint64(n) {
			t.Fatalf("pass %d: %+v and %+v", pass, a.Counts(), b.Counts())
		}
	}
	overflow := float64(spilledWords(&a.rows)) / float64(n)
	if load := float64(n) / float64(len(a.rows.Table.Arena.Lines())); load > digestLoad+1 || overflow > 0.03 {
		t.Errorf("%.1f a line, %.4f overflow", load, overflow)
	}
}

// TestDigestRowsWithoutMemory goes on exactly where lines cannot grow, and starts again.
func TestDigestRowsWithoutMemory(t *testing.T) {
	r := newDigestRows(t, 0)
	refused := 0
	r.rows.NewArena = func(lines int) (*layout.Arena, error) {
		if refused++; refused > 1 {
			return layout.NewArena(lines)
		}
		return nil, errors.New("no memory")
	}
	rng := rand.New(rand.NewPCG(65, 66))
	digests := make([]digest.Digest, 40_000)
	for i := range digests {
		digests[i] = digest.Digest{rng.Uint64N(30_000) << 48, 1}
	}
	check.Verdicts(t, r, map[digest.Digest]bool{}, digests, 700)
	if refused < 2 {
		t.Error("nothing was refused")
	}
}

// TestReset compares counters that were reset, with words that overflowed and the word 0, after a
// limit and amid thinning, with new ones. Larger ones are not reset.
func TestReset(t *testing.T) {
	rows := newDigestRows(t, 0)
	addresses, err := NewIPv4Rows([16]byte{1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer addresses.Close()
	ipv4 := make([]uint32, 700)
	for i := range ipv4 {
		ipv4[i] = uint32(i)
	}
	for _, digests := range [][]digest.Digest{oneLine(300)[1:], nil, oneLine(5000)[1:], oneLine(40_001)[1:], oneLine(20)[1:]} {
		fresh := newDigestRows(t, 0)
		check.Verdicts(t, fresh, map[digest.Digest]bool{}, digests, 100)
		if len(digests) == 40_000 {
			rows.Limit(1)
			rows.TestAndSet(make([]uint64, len(digests)/64+1), digests)
		} else {
			check.Verdicts(t, rows, map[digest.Digest]bool{}, digests, 100)
			if rows.Counts() != fresh.Counts() {
				t.Errorf("%d digests: %+v, not %+v", len(digests), rows.Counts(), fresh.Counts())
			}
		}
		if !rows.Reset() || rows.exactState != newDigestRows(t, 0).exactState {
			t.Errorf("%d digests: not reset", len(digests))
		}
		check.Verdicts(t, addresses, map[uint32]bool{}, ipv4, 64)
		if !addresses.Reset() || addresses.Counts().Distinct != 0 {
			t.Error("addresses were not reset")
		}
	}
	check.Verdicts(t, rows, map[digest.Digest]bool{}, oneLine(40_000)[1:], 1000)
	if rows.Reset() || newDigestRows(t, 1<<20).Reset() {
		t.Error("large rows were reset")
	}
}

func BenchmarkDigestRows(b *testing.B) {
	check.BenchSizes(b, func(b *testing.B, memory int) {
		var r *DigestRows
		empty := func() engine.Counter[digest.Digest] {
			r = newDigestRows(b, memory)
			return r
		}
		lines := memory / layout.LineSize
		check.MeasureCounter(b, empty, digestLoad*lines, func(d digest.Digest) digest.Digest { return d })
		// Digests that lines have no room for take some more, and how much is left to chance.
		if got := r.Counts().MemoryBytes / layout.LineSize; got < lines || got >= 2*lines {
			b.Errorf("%d lines, not %d", got, lines)
		}
	})
}
