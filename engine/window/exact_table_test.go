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
	want := map[digest.Digest]keptElement{}
	for i := range 20_000 {
		d := digest.Digest{rng.Uint64N(2000) << rng.IntN(4), rng.Uint64N(4) << 40}
		k := keptElement{time: int64(i), point: uint32(i)}
		old := table.find(d)
		if before, found := want[d]; found != (old != nil) || found && *old != before {
			t.Fatalf("element %d: %v, not %v", i, old, before)
		}
		if old != nil {
			*old = k
		} else {
			table.add(d, k)
		}
		want[d] = k
		if i%6000 == 5999 {
			out := func(k *keptElement) bool { return k.time%3 > 0 }
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
