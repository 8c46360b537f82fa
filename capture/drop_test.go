// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestComplement(t *testing.T) {
	for _, tt := range []struct {
		drop []uint64
		n    int
		want []uint64
	}{
		{nil, 0, nil},
		{nil, 65, []uint64{^uint64(0), 1}},
		{[]uint64{5}, 3, []uint64{2}},
		{[]uint64{0, ^uint64(0)}, 128, []uint64{^uint64(0), 0}},
		{[]uint64{1 << 63, 7}, 64, []uint64{1<<63 - 1}},
	} {
		if got := Complement(nil, tt.drop, tt.n); !slices.Equal(got, tt.want) {
			t.Errorf("Complement(%x, %d) = %x, want %x", tt.drop, tt.n, got, tt.want)
		}
		if tt.drop != nil {
			in := slices.Clone(tt.drop)
			if got := Complement(in, in, tt.n); !slices.Equal(got, tt.want) {
				t.Errorf("Complement in place of %x = %x, want %x", tt.drop, got, tt.want)
			}
		}
	}
}

func TestNextRun(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		n := r.IntN(300)
		drop := make([]uint64, (n+63)/64)
		for i := range drop {
			drop[i] = []uint64{0, ^uint64(0), r.Uint64(), r.Uint64() & r.Uint64() & r.Uint64()}[r.IntN(4)]
		}
		pos := r.IntN(n + 1)
		var got, want []int
		for p := pos; p < n; {
			lo, hi := NextRun(drop, p, n)
			for i := lo; i < hi; i++ {
				got = append(got, i)
			}
			if hi <= p && lo < n {
				t.Fatalf("no progress at %d", p)
			}
			p = hi
		}
		for i := pos; i < n; i++ {
			if drop[i/64]>>(i%64)&1 == 0 {
				want = append(want, i)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%d frames from %d: %v, want %v", n, pos, got, want)
		}
	}
}

func TestKept(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		n := rnd.IntN(300)
		drop := make([]uint64, (n+63)/64)
		for i := range drop {
			drop[i] = rnd.Uint64() & rnd.Uint64()
		}
		lo := rnd.IntN(n + 1)
		hi := lo + rnd.IntN(n-lo+1)
		want := uint64(0)
		for i := lo; i < hi; i++ {
			want += 1 - drop[i/64]>>(i%64)&1
		}
		if got := CountKept(drop, lo, hi); got != want {
			t.Fatalf("%d of %d..%d, want %d", got, lo, hi, want)
		}
	}
}
