// SPDX-License-Identifier: Apache-2.0

package window

import (
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// TestExactTable compares the table with a map, with digests that share homes and tags, through
// growth and removals.
func TestExactTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 58))
	var table exactTable
	table.makeIndex(leastIndex)
	want := map[digest.Digest]exactElement{}
	for i := range 20_000 {
		d := digest.Digest{rng.Uint64N(2000) << rng.IntN(4), rng.Uint64N(4) << 40}
		k := exactElement{digest: d, time: int64(i), point: uint32(i)}
		if table.full() {
			table.grow()
		}
		got, added := table.element(&d)
		if before, found := want[d]; found == added || found && *got != before {
			t.Fatalf("element %d: %v, not %v", i, got, before)
		}
		*got, want[d] = k, k
		if i%6000 == 5999 {
			out := func(k *exactElement) bool { return k.time%3 > 0 }
			table.remove(out)
			for d, k := range want {
				if out(&k) {
					delete(want, d)
				}
			}
		}
		if table.len != len(want) {
			t.Fatalf("%d elements, not %d", table.len, len(want))
		}
	}
}
