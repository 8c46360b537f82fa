// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"maps"
	"testing"

	"github.com/flowdedup/flowdedup/capture/identity"
)

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
