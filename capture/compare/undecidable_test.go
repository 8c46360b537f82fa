// SPDX-License-Identifier: Apache-2.0

package compare

import "testing"

// TestUndecidableOfBothSides counts packets that equal others in the bytes that both sides
// have, however much of a side was read before the other showed how few these are.
func TestUndecidableOfBothSides(t *testing.T) {
	var a, b []packet
	for i := range 6000 {
		p := packet{time: int64(i) * ms, id: uint32(i), flow: uint32(i % 7)}
		if a = append(a, p); i%3 == 0 {
			p.snap = 14 + 34 // without the bytes that differ
			b = append(b, p)
		}
	}
	for _, most := range []int{1, 10, 500, 10_000} {
		got, _ := compared(Config{}, a, b, most)
		known := Config{}
		known.Identity.Bytes = got.IdentityBytes
		want, _ := compared(known, a, b, most)
		if got.IdentityBytes == 0 || want.Sides[0].Undecidable != uint64(len(a)) || want.Sides[1].Undecidable != uint64(len(b)) {
			t.Fatalf("%d bytes are compared, %d and %d packets undecidable", got.IdentityBytes, want.Sides[0].Undecidable, want.Sides[1].Undecidable)
		}
		for i := range got.Sides {
			if got.Sides[i].Undecidable != want.Sides[i].Undecidable {
				t.Errorf("batches of %d: %d packets of side %d are undecidable, want %d", most, got.Sides[i].Undecidable, i, want.Sides[i].Undecidable)
			}
		}
	}
}
