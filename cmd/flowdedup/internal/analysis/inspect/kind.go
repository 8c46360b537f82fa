// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"strings"

	"github.com/flowdedup/flowdedup/capture/identity"
)

// difference says how a copy differs from its original: a set of the bits below.
type difference uint16

// The differences of copies.
const (
	vlanKind      difference = 1 << iota // VLAN tags
	macKind                              // hardware addresses
	ttlKind                              // time to live, or hop limit
	classKind                            // type of service, or traffic class
	interfaceKind                        // the capture point
	tunnelKind                           // the tunnel, or its absence
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

// kindOf compares two sightings of a packet.
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

// Checksums count the copies at a point by the checksum of TCP, UDP or ICMP, as
// identity.IntegrityOf judges it: first sightings there, and copies. A packet counts once for
// each copy. Packets without a checksum that can be verified do not count.
type Checksums struct {
	FirstValid uint64 `json:"first_valid"`
	FirstWrong uint64 `json:"first_wrong"`
	CopyValid  uint64 `json:"copy_valid"`
	CopyWrong  uint64 `json:"copy_wrong"`
}

// verify notes whether the checksum is right.
func (s *sighting) verify(integrity identity.Integrity) {
	switch integrity {
	case identity.ValidChecksum:
		s.flags |= validSum
	case identity.WrongChecksum:
		s.flags |= wrongSum
	case identity.Truncated:
		s.flags |= truncated
	}
}

// checksums has the counts of all points, by their numbers.
type checksums []Checksums

// add counts a copy that stands for weight copies.
func (c *checksums) add(first, copied *sighting, weight uint64) {
	for int(max(first.point, copied.point)) >= len(*c) {
		*c = append(*c, Checksums{})
	}
	at := &(*c)[first.point]
	at.FirstValid += weight * count(first.flags&validSum != 0)
	at.FirstWrong += weight * count(first.flags&wrongSum != 0)
	at = &(*c)[copied.point]
	at.CopyValid += weight * count(copied.flags&validSum != 0)
	at.CopyWrong += weight * count(copied.flags&wrongSum != 0)
}

// report returns the counts of the points that have any.
func (c checksums) report(name func(point uint32) string) map[string]Checksums {
	all := map[string]Checksums{}
	for i, n := range c {
		if n != (Checksums{}) {
			one := all[name(uint32(i))]
			one.FirstValid, one.FirstWrong = one.FirstValid+n.FirstValid, one.FirstWrong+n.FirstWrong
			one.CopyValid, one.CopyWrong = one.CopyValid+n.CopyValid, one.CopyWrong+n.CopyWrong
			all[name(uint32(i))] = one
		}
	}
	return all
}
