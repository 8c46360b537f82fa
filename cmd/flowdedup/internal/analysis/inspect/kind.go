// SPDX-License-Identifier: Apache-2.0

package inspect

import "strings"

// difference says how a copy differs from its original: a set of the bits below.
type difference uint16

// The differences of copies.
const (
	vlanKind      difference = 1 << iota // VLAN tags
	macKind                              // hardware addresses
	ttlKind                              // time to live, or hop limit
	classKind                            // type of service, or traffic class
	interfaceKind                        // the capture point
	tunnelKind                           // the tunnel, or whether there is one
	truncatedKind                        // how much was captured
	checksumKind                         // of the transport protocol, where a network card was to fill it in
	paddingKind                          // bytes behind the packet in its frame
	linkKind                             // other headers before the packet
	lanKind                              // the path through a redundant network
	natKind                              // addresses, or addresses and ports, by translation
	dfKind                               // "don't fragment" of IPv4
	mssKind                              // the maximum segment size of TCP, and so the checksum
	relayKind                            // addresses and ports, by a relay or a second line
	numberKind                           // the identification of IPv4
	allKinds      = iota
)

var kindNames = [allKinds]string{"vlan", "mac", "ttl", "class", "interface", "tunnel", "truncated", "checksum", "padding", "link", "lan", "nat", "df", "mss", "relay", "ip-id"}

// String returns the names of the bits, joined by plus signs, or "identical".
func (k difference) String() string {
	if k == 0 {
		return "identical"
	}
	var names []string
	for i, name := range kindNames {
		if k>>i&1 != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, "+")
}

// kindOf compares two sightings of one packet.
func kindOf(a, b *sighting) (k difference) {
	if *a == *b {
		return 0
	}
	inTunnel := (a.flags | b.flags) & tunneled
	for _, d := range [...]struct {
		differ bool
		kind   difference
	}{
		{a.vlan != b.vlan, vlanKind},
		{a.mac != b.mac, macKind},
		{a.hops != b.hops, ttlKind},
		{a.class != b.class, classKind},
		{(a.device^b.device)<<(32-pathShift) != 0, interfaceKind},
		{inTunnel != 0 && (a.labels != b.labels || (a.flags^b.flags)&tunneled != 0), tunnelKind},
		{a.full != b.full, truncatedKind},
		{a.checksum != b.checksum && a.sumEnd == b.sumEnd && !a.isClamped(b), checksumKind},
		{a.isClamped(b), mssKind},
		{(a.flags^b.flags)&dontFragment != 0, dfKind},
		{a.behind != b.behind && a.full == b.full, paddingKind},
		{inTunnel == 0 && (a.labels != b.labels || a.encap != b.encap), linkKind},
		{a.path() != b.path(), lanKind},
	} {
		if d.differ {
			k |= d.kind
		}
	}
	return k
}
