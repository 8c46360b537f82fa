// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"math/rand/v2"
	"testing"
)

// TestTalk checks that conversations which differ in one bit of an address or a port are
// distinguished: the ports of one client follow each other.
func TestTalk(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	c := &Comparer{}
	for range 1000 {
		var v4 [16]byte
		var v6 [48]byte
		for i := range v4 {
			v4[i] = byte(random.Uint32())
		}
		for i := range v6 {
			v6[i] = byte(random.Uint32())
		}
		for bit := range 12 * 8 {
			other := v4
			other[bit/8] ^= 1 << (bit % 8)
			if c.talk4(&v4)>>2 == c.talk4(&other)>>2 {
				t.Fatalf("IPv4: bit %d makes no difference", bit)
			}
		}
		for bit := range 36 * 8 {
			other := v6
			other[bit/8] ^= 1 << (bit % 8)
			if c.talk6(&v6)>>2 == c.talk6(&other)>>2 {
				t.Fatalf("IPv6: bit %d makes no difference", bit)
			}
		}
	}
}
