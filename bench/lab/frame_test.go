// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"encoding/binary"
	"testing"
)

// TestTraffic counts the flows and the repeats of the first frames.
func TestTraffic(t *testing.T) {
	var sources [sourceAddresses]bool
	var destinations [destinationAddresses]bool
	flows := make([]bool, Flows)
	repeats := uint64(0)
	f := NewFrame(MinFrame)
	const all = 2 * Flows
	for i := range uint64(all) {
		Renumber(f, i)
		if Number(f) != i {
			repeats++
			if before := i - repeatBehind; Number(f) != before || numberOf(before) != before {
				t.Fatalf("frame %d has number %d", i, Number(f))
			}
		}
		source := int(binary.NativeEndian.Uint16(f[sourceAt:]))
		sources[source], destinations[f[destinationAt]] = true, true
		flows[source*(Flows/sourceAddresses)+int(f[portAt])] = true
	}
	for what, n := range map[string][2]int{
		"sources":      {count(sources[:]), sourceAddresses},
		"destinations": {count(destinations[:]), destinationAddresses},
		"flows":        {count(flows), Flows},
		"repeats":      {int(repeats), int(Repeats(all))},
	} {
		if n[0] != n[1] {
			t.Errorf("%d %s, want %d", n[0], what, n[1])
		}
	}
}

func count(seen []bool) (n int) {
	for _, s := range seen {
		if s {
			n++
		}
	}
	return n
}
