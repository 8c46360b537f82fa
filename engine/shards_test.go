package engine

import (
	"math/bits"
	"math/rand/v2"
	"testing"
)

func TestDigestRange(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, lines := range []int{1, 2, 3, 7, 64, 1000, 1<<31 - 1} {
		for _, workers := range []int{1, 2, 3, 8, 255} {
			if workers > lines {
				continue
			}
			next := uint64(0)
			for i := range workers {
				first, span := digestRange(lines, i, workers)
				if first != next {
					t.Fatalf("%d lines: worker %d of %d begins at %x, want %x", lines, i, workers, first, next)
				}
				next = first + span + 1
				from, to := uint64(i)*uint64(lines)/uint64(workers), uint64(i+1)*uint64(lines)/uint64(workers)
				for _, x := range []uint64{first, first + span, first + rng.Uint64N(max(span, 1))} {
					if line, _ := bits.Mul64(x, uint64(lines)); line < from || line >= to {
						t.Fatalf("%d lines: worker %d of %d has line %d", lines, i, workers, line)
					}
				}
			}
			if next != 0 {
				t.Errorf("%d lines: %d workers leave digests from %x on", lines, workers, next)
			}
		}
	}
}
