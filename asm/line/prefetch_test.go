// SPDX-License-Identifier: Apache-2.0

package line

import (
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/layout"
)

// TestPrefetch checks that hashes are read to their end and no further, and that lines do
// not change.
func TestPrefetch(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	lines := make([]layout.Line, 64)
	for n := range 130 {
		hashes := kerneltest.Guarded[uint64](t, n, n%2 == 0)
		for i := range hashes {
			hashes[i] = rng.Uint64()
		}
		Prefetch(lines, hashes)
	}
	for _, l := range lines {
		if l != (layout.Line{}) {
			t.Fatal("a line changed")
		}
	}
	for _, count := range []int{0, 3} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("no panic for %d lines", count)
				}
			}()
			Prefetch(lines[:count], []uint64{1})
		}()
	}
}
