// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"math/rand/v2"
	"testing"
)

// TestMix checks that each bit of either word matters.
func TestMix(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		a, b := random.Uint64(), random.Uint64()
		seen := map[uint64]bool{Mix(a, b): true}
		for bit := range 64 {
			for _, sum := range []uint64{Mix(a^1<<bit, b), Mix(a, b^1<<bit)} {
				if seen[sum] {
					t.Fatalf("words %x and %x: bit %d makes no difference", a, b, bit)
				}
				seen[sum] = true
			}
		}
	}
}
