// SPDX-License-Identifier: Apache-2.0

package inspect

import "testing"

// TestSnapLengths looks at two taps with different snap lengths.
func TestSnapLengths(t *testing.T) {
	var packets []packet
	for i := range 200 {
		p := packet{id: uint16(i + 1), flow: uint32(i % 9), payload: uint32(i), time: int64(i) * ms}
		packets = append(packets, p)
		p.device, p.snap, p.time = 1, 96, p.time+4*us
		packets = append(packets, p)
	}
	packets[0], packets[1] = packets[1], packets[0] // the first is captured in part
	r := inspected(packets, 50)
	if r.Copies != 200 || r.Kinds["interface+truncated"] != 200 || r.Recommendation.IdentityBytes != identityBytes || r.Recommendation.Removes != 200 {
		t.Errorf("%+v", r)
	}
}

// TestShortSnapLength looks at packets that were cut where their headers end, in half of them
// behind a VLAN tag.
func TestShortSnapLength(t *testing.T) {
	for _, snap := range []int{64, 68, 78} {
		var packets []packet
		for i := range 200 {
			p := packet{id: uint16(i + 1), flow: uint32(i % 9), payload: uint32(i), time: int64(i) * ms, snap: snap}
			packets = append(packets, p)
			p.vlan, p.time = 10, p.time+4*us
			packets = append(packets, p)
		}
		r := inspected(packets, 50)
		if c := &r.Recommendation; r.Copies != 200 || c.Removes != 200 || c.IdentityBytes == 0 || c.IdentityBytes > snap-18 {
			t.Errorf("cut to %d: %+v", snap, r)
		}
	}
}

// TestTooLittleCaptured compares no undecidable packets, and concludes nothing from only a
// checksum.
func TestTooLittleCaptured(t *testing.T) {
	for _, c := range []struct {
		name                      string
		id                        uint16
		snap                      int
		offload                   bool
		undecidable, checksumOnly uint64
		dedup                     bool
	}{
		{"whole", 0, 0, false, 0, 0, true},
		{"numbered", 1, 42, true, 0, 0, true},
		{"checksum left to the card", 0, 42, true, 400, 0, false},
		{"checksum", 0, 42, false, 0, 200, false},
		{"part of a checksum", 0, 41, false, 400, 0, false},
	} {
		var packets []packet
		for i := range 200 {
			p := packet{flow: uint32(i % 9), payload: uint32(i), time: int64(i) * ms, snap: c.snap, offload: c.offload}
			if c.id != 0 {
				p.id = uint16(i + 1)
			}
			again := p
			again.time += 4 * us
			packets = append(packets, p, again)
		}
		r := inspected(packets, 50)
		if r.Undecidable != c.undecidable || r.ChecksumOnly != c.checksumOnly || r.Recommendation.Dedup != c.dedup || !c.dedup && r.Equal+r.Copies != 0 {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}
