package asm

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// TestBijectionLevels compares every batch length from 0 to 300, in place and not,
// with guard pages around the buffers.
func TestBijectionLevels(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	kerneltest.ForLevels(t, func(t *testing.T) {
		for _, key := range bijectionKeys {
			b := NewBijection(key)
			for _, front := range []bool{false, true} {
				const most = 300
				src, dst := kerneltest.Guarded[uint32](t, most, front), kerneltest.Guarded[uint32](t, most, front)
				want := make([]uint32, most)
				for n := range most + 1 {
					from := most - n
					if front {
						from = 0
					}
					in, out := src[from:from+n], dst[from:from+n]
					for i := range in {
						in[i] = rng.Uint32()
					}
					permuteGeneric(want[:n], in, b)
					b.Permute(out, in)
					b.Permute(in, in)
					if !slices.Equal(out, want[:n]) || !slices.Equal(in, want[:n]) {
						t.Fatalf("%d words differ", n)
					}
				}
			}
		}
	})
}
