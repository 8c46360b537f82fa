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

// TestOtherChecksums counts the packets that equal earlier ones but for a checksum that no card left
// out: the recommended command removes them, too, once it ignores checksums.
func TestOtherChecksums(t *testing.T) {
	for _, c := range []struct {
		offloaded, damaged, removes, wrong uint64
	}{{100, 0, 100, 0}, {100, 20, 120, 20}, {0, 20, 0, 0}} {
		var packets []packet
		for i := range c.offloaded + c.damaged {
			p := packet{id: uint16(i + 1), flow: uint32(i % 9), payload: uint32(i), time: int64(i) * ms}
			again := p
			if again.time += 5 * us; i < c.offloaded {
				p.offload = true
			} else {
				again.damage = 0x77
			}
			packets = append(packets, p, again)
		}
		r := inspected(packets, 50)
		rec := &r.Recommendation
		if tried := r.Tried[0]; r.Copies != c.offloaded || rec.Removes != c.removes || rec.Wrong != c.wrong || rec.Resummed != c.damaged || tried.Equal != c.offloaded+c.damaged || tried.Copies != c.offloaded {
			t.Errorf("%d and %d: %+v, tried %+v", c.offloaded, c.damaged, rec, tried)
		}
	}
}
