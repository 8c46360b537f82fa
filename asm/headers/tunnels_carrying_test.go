// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// TestCarrying finds the same protocols at every level, for any set of them.
func TestCarrying(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(11, 12))
		for round := range 2000 {
			var can [256]bool
			for i := range can {
				can[i] = rng.IntN(3) == 0
			}
			rule := &Tunnels{carries: protocolBits(&[2][256]bool{can, can})}
			numbers, want := kerneltest.Guarded[uint16](t, rng.IntN(65), round%2 == 0), uint64(0)
			for i := range numbers {
				numbers[i] = uint16(rng.IntN(256))
				if can[numbers[i]] {
					want |= 1 << i
				}
			}
			if got := rule.carrying(numbers); got != want {
				t.Fatalf("of %d: %b, want %b", numbers, got, want)
			}
		}
	})
}
