// SPDX-License-Identifier: Apache-2.0

package headers

import "encoding/binary"

// labels says how IP is found behind MPLS label stacks and PPPoE sessions. The kernel in assembly
// knows its layout.
type labels struct {
	// types are the ethertypes of stacks and of sessions, as the kernel reads them.
	types [3]uint64
	// usual has a bit for each usual value of an IPv6 header below labels: next header, and the
	// first bytes of the source and of the destination address.
	usual [3][4]uint64
}

const (
	typeMPLS, typeMPLSUp, typePPPoE = 0x8847, 0x8848, 0x8864

	labelEntry    = 4
	pppoeHeaders  = 6 + 2 // PPPoE's and PPP's
	labelledLeast = 24    // of IP that was captured
)

// noLabels follows no type.
var noLabels = labels{types: [3]uint64{^uint64(0), ^uint64(0), ^uint64(0)}}

// Labelled returns the rule that also steps over a stack of MPLS labels or a PPPoE session, behind
// up to two VLAN tags. Messages need the length of the frame on the wire in the lower half of the
// tweak, and take the slow path if they do not lie in the buffer.
//
// A stack does not name the protocol below it. The rule takes packets that are IP without doubt:
// IPv4 whose checksum is right, or IPv6 with a hop limit and with values that next, src and dst mark
// as usual: its next header, and the first bytes of its addresses. The datagram must not be longer than the
// frame, and no ethertype of IP or of a tag may stand where an Ethernet frame below the labels
// would have one.
func (d *Datagrams) Labelled(next, src, dst *[256]bool) *Datagrams {
	labelled := *d
	for i, typ := range []uint16{typeMPLS, typeMPLSUp, typePPPoE} {
		labelled.labels.types[i] = uint64(swap16(typ))
	}
	for i, is := range []*[256]bool{next, src, dst} {
		all := protocolBits(&[2][256]bool{*is})
		labelled.labels.usual[i] = [4]uint64(all[:4])
	}
	return &labelled
}

// behind returns where IP begins behind a header with the ethertype typ, which ends at offset o of
// a frame that has wire bytes on the wire, and its version: 0 for IPv4 and 1 for IPv6.
func (l *labels) behind(frame []byte, o int, typ uint16, wire uint32) (at, version int, ok bool) {
	switch uint64(swap16(typ)) {
	case l.types[0], l.types[1]:
		for bottom := byte(0); bottom == 0; o += labelEntry {
			if len(frame) < o+labelEntry+labelledLeast {
				return 0, 0, false
			}
			bottom = frame[o+2] & 1
		}
		version, ok = l.surelyIP(frame[o:], int64(max(wire, uint32(len(frame))))-int64(o))
		return o, version, ok
	case l.types[2]:
		if len(frame) < o+pppoeHeaders+labelledLeast {
			return 0, 0, false
		}
		protocol := binary.BigEndian.Uint16(frame[o+6:])
		o += pppoeHeaders
		switch nibble := frame[o] >> 4; {
		case protocol == 0x21 && nibble == 4:
			return o, 0, true
		case protocol == 0x57 && nibble == 6:
			return o, 1, true
		}
	}
	return 0, 0, false
}

// surelyIP reports whether IP, without options, lies below labels: see Labelled. It has left bytes
// on the wire.
func (l *labels) surelyIP(ip []byte, left int64) (version int, is bool) {
	if beginsType[ip[12]] && isType(binary.BigEndian.Uint16(ip[12:])) {
		return 0, false
	}
	if ip[0] == 0x45 {
		return 0, int64(binary.BigEndian.Uint16(ip[2:])) <= left && isMultiple(headerSum((*[brokenReach]byte)(ip)))
	}
	const least = 40 + 4
	if ip[0]>>4 != 6 || len(ip) < least || 40+int64(binary.BigEndian.Uint16(ip[4:])) > left || ip[7] == 0 {
		return 0, false
	}
	usual := uint64(1)
	for i, b := range [3]byte{ip[6], ip[8], ip[24]} {
		usual &= l.usual[i][b>>6] >> (b & 63)
	}
	return 1, usual == 1
}

// isType reports whether t is the ethertype of IP or of a VLAN tag.
func isType(t uint16) bool {
	switch t {
	case 0x0800, 0x86dd, 0x8100, 0x88a8, 0x9100, 0x9200:
		return true
	}
	return false
}

// beginsType has the first bytes of these types.
var beginsType = [256]bool{0x08: true, 0x86: true, 0x81: true, 0x88: true, 0x91: true, 0x92: true}
