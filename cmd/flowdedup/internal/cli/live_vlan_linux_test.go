package cli

import (
	"slices"
	"testing"

	netlab "github.com/flowdedup/flowdedup/bench/lab"
)

// vlanEnds are servers over a trunk, the first one without a tag.
var vlanEnds = []string{"10.0.0.2:7", "10.1.0.2:7", "[fd00:1::2]:7"}

// trunk connects this host with another one by an interface of that name, over which
// both have a VLAN, here called access.
func trunk(t *testing.T, tags []netlab.Tag) {
	t.Helper()
	lab(t)
	h := newHost(t)
	h.plug("trunk", "eth0")
	ends := func(parent, vlan, last string) {
		if err := netlab.VLAN(parent, vlan, tags...); err != nil {
			t.Skip(err)
		}
		assign(t, parent, "10.0.0."+last+"/24")
		assign(t, vlan, "10.1.0."+last+"/24", "fd00:1::"+last+"/64")
	}
	ends("trunk", "access", "1")
	h.at(func() { ends("eth0", "eth0v", "2") })
	for _, address := range vlanEnds {
		h.serve(address)
	}
}

// TestLiveVLAN captures a trunk and one of its VLANs at the same time: packets of the
// VLAN are seen with their tags and without, and all others once.
func TestLiveVLAN(t *testing.T) {
	q, ad := netlab.Tag{Type: netlab.Dot1Q, VLAN: 100}, netlab.Tag{Type: netlab.Dot1AD, VLAN: 200}
	for _, c := range []struct {
		name       string
		tags       []netlab.Tag
		interfaces []string
	}{
		{"802.1Q", []netlab.Tag{q}, []string{"trunk", "access"}},
		{"802.1ad", []netlab.Tag{ad}, []string{"access", "trunk"}},
		{"802.1Q in 802.1ad", []netlab.Tag{ad, q}, []string{"trunk", "access"}},
		{"802.1Q, any", []netlab.Tag{q}, []string{"any"}},
		{"802.1Q in 802.1ad, any", []netlab.Tag{ad, q}, []string{"any"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			trunk(t, c.tags)
			r, inPlace := startAcross(t, c.interfaces), startInPlace(t, c.interfaces)
			const n = 100 // equal datagrams, each way
			for _, address := range vlanEnds {
				echo(t, "udp", address, slices.Repeat([]int{80}, n)...)
				echo(t, "tcp", address, slices.Repeat([]int{100}, n)...)
			}
			s, other := r.stopAfter(8*n), inPlace.stopAfter(8*n)
			if s.Duplicates < 8*n || s.dropped() != 0 || other.Duplicates < 8*n || other.dropped() != 0 {
				t.Errorf("%+v; in place %+v", s, other)
			}
			if c.interfaces[0] == "any" {
				// Where a VLAN is a pair of interfaces, both ends see packets without a tag.
				if s.Reasons["vlan"] == 0 {
					t.Errorf("reasons %v", s.Reasons)
				}
				delete(s.Reasons, "vlan")
				s.differ(t, "interface")
			} else {
				s.differ(t, "interface", "vlan")
			}
			r.checkCopies(&s, func(kept, removed *sighting) bool {
				return kept.at != removed.at && kept.hops == removed.hops && kept.addresses == removed.addresses
			})
		})
	}
}
