// SPDX-License-Identifier: Apache-2.0

package bitset

import (
	"math/rand/v2"
	"testing"
)

func TestOrBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	for range 2000 {
		at, n := rng.IntN(200), rng.IntN(200)
		src := make([]uint64, (n+63)/64)
		dst := make([]uint64, (at+n+63)/64)
		want := make([]bool, len(dst)*64)
		for i := range want {
			if rng.IntN(4) == 0 {
				want[i] = true
				dst[i/64] |= 1 << (i % 64)
			}
		}
		for i := range n {
			if rng.IntN(2) == 0 {
				src[i/64] |= 1 << (i % 64)
				want[at+i] = true
			}
		}
		Or(dst, at, src, n)
		for i, bit := range want {
			if got := dst[i/64]>>(i%64)&1 != 0; got != bit {
				t.Fatalf("%d bits at %d: bit %d is %v", n, at, i, got)
			}
		}
	}
}

func TestClearBitsPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic for 65 bits in one word")
		}
	}()
	Clear(make([]uint64, 1), 65)
}
