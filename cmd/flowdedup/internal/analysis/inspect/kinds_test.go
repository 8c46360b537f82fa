// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"maps"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture/identity"
)

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

// TestTunneledTwice looks at packets that one tunnel delivers twice, each time in a packet of
// its own.
func TestTunneledTwice(t *testing.T) {
	var packets []packet
	for i := range 50 {
		p := packet{id: uint16(i + 1), flow: uint32(i % 9), payload: uint32(i), vni: 7, time: int64(i) * ms}
		packets = append(packets, p)
		p.time += 4 * us
		packets = append(packets, p)
	}
	r := inspected(packets, 7)
	if !maps.Equal(r.Kinds, map[string]uint64{"outer": 50}) || r.Copies != 50 {
		t.Errorf("%+v", r)
	}
	if c := &r.Recommendation; c.Identity != identity.Inner || c.Removes != 50 || c.Reasons[0] != "--identity inner: 50 copies differ in or around a tunnel" {
		t.Errorf("%+v", c)
	}
}

// TestRewrapped decides which sightings only identity inner finds equal.
func TestRewrapped(t *testing.T) {
	in := sighting{flags: tunneled, outer: 7, hops: 64, checksum: 9}
	out := sighting{hops: 64, checksum: 9}
	for _, c := range []struct {
		name string
		a    sighting
		edit func(s *sighting)
		want bool
	}{
		{"the same", in, func(*sighting) {}, false},
		{"other headers around", in, func(s *sighting) { s.outer = 8 }, true},
		{"in no tunnel", in, func(s *sighting) { s.outer, s.flags = 0, 0 }, true},
		{"behind a router inside", in, func(s *sighting) { s.hops-- }, true},
		{"another class inside", in, func(s *sighting) { s.class = 4 }, true},
		{"DF inside", in, func(s *sighting) { s.flags |= dontFragment }, true},
		{"another checksum inside", in, func(s *sighting) { s.checksum = 1 }, true},
		{"behind a router", out, func(s *sighting) { s.hops, s.class, s.checksum = 63, 4, 1 }, false},
	} {
		b := c.a
		if c.edit(&b); c.a.isRewrapped(&b) != c.want || b.isRewrapped(&c.a) != c.want {
			t.Errorf("%s: want %t", c.name, c.want)
		}
	}
}

// TestChecksums says at which points checksums are right: a mirror of both ends shows a packet
// in the tunnel of the sender before its checksum is filled in, and then in the second tunnel.
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

// TestOtherChecksumsByAnyKey looks at packets that come three times with other checksums, amid so many
// others that their places depend on the key. Whatever it is, each is compared with the latest before.
func TestOtherChecksumsByAnyKey(t *testing.T) {
	const triples, apart = 1000, 900
	var packets []packet
	for i := range 20 * triples {
		p := packet{time: int64(i) * ms, flow: 1, payload: uint32(i + 1)}
		if i%10 == 0 && i/apart%4 < 3 { // three times of four, a row of 90 comes again
			p.payload, p.damage = uint32(i%apart+i/(4*apart)*apart+1)<<16, uint16(i/apart%4+1)
		}
		packets = append(packets, p)
	}
	var first uint64
	for key := range byte(4) {
		in := New(Config{Translations: true, Key: [16]byte{key}})
		p, b := in.NewBatch(), batchOf(packets)
		p.Prepare(b)
		in.Add(p, b)
		one := in.Report().Tried[0]
		if first = max(first, one.Equal); one.Equal != first || first < triples {
			t.Errorf("key %d: %+v, and %d", key, one, first)
		}
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestOtherChecksums counts the packets that equal earlier packets but for a checksum that no card left
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
