// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"maps"
	"slices"
	"testing"
)

// TestChecksums says at which points checksums are right: a mirror of both ends shows a packet
// in the tunnel of the sender before its checksum is filled in, and then in the other one.
func TestChecksums(t *testing.T) {
	var all []packet
	for i := range 400 {
		at := int64(i) * 100_000
		p := packet{time: at, id: uint16(1 + i), flow: uint32(i % 10), ttl: 64, vni: 1, answer: i%4 == 0, offload: i%8 != 0, filled: true}
		other := p
		other.time, other.vni, other.ttl, other.offload = at+1000, 2, 63, false
		if i%4 == 0 {
			p.vni, other.vni = 2, 1
		}
		all = append(all, p, other)
	}
	want := map[string]Checksums{
		"a VXLAN 1": {FirstWrong: 300, CopyValid: 100},
		"a VXLAN 2": {FirstValid: 50, FirstWrong: 50, CopyValid: 300},
	}
	for _, most := range []int{1, 7, 1000} {
		r := inspected(all, most)
		if !maps.Equal(r.Checksums, want) || r.Copies != 400 {
			t.Errorf("batches of %d: %d copies, %+v, want %+v", most, r.Copies, r.Checksums, want)
		}
		if c := r.Recommendation; c.Keep != "flow" || !slices.Contains(c.Strip, "tunnel") || !slices.Contains(c.Ignore, "l4-checksum") {
			t.Errorf("batches of %d: %+v", most, c)
		}
	}
	for i := range all {
		all[i].offload = false
	}
	r := inspected(all, 1000)
	want["a VXLAN 1"], want["a VXLAN 2"] = Checksums{FirstValid: 300, CopyValid: 100}, Checksums{FirstValid: 100, CopyValid: 300}
	if !maps.Equal(r.Checksums, want) || slices.Contains(r.Recommendation.Strip, "tunnel") {
		t.Errorf("%+v, want %+v; %+v", r.Checksums, want, r.Recommendation)
	}
}
