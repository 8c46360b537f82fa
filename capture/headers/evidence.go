// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// Some headers do not say what lies behind them: label stacks, and tunnels at ports that other
// programs may use. The weight of all evidence decides: each field of a possible packet adds to
// its weight or takes from it, and no field decides alone.

// weight says how much speaks for a reading of bytes. A field adds n if its value stands 2^n times
// as often in packets of this reading as in random bytes. So random bytes reach a weight of n at
// most once in 2^n, and of two readings the heavier is more likely. Values that other data
// often have, such as zeros, weigh less.
//
//	IPv4: version                                  4
//	header length 20; longer                       4; -5
//	fragment word 0 or DF; a first fragment        14; 6
//	another fragment; the reserved bit             -4; -8
//	checksum right; 0; wrong                       15; 4; -4
//	source or destination of no host, each         -3
//	IPv6: version                                  4
//	flow label 0; another                          6; -1
//	source or destination of a usual block, each   2; otherwise -2
//	both: traffic class 0; another                 6; -1
//	length equals; padded; fits                    15; 8; 1
//	length exceeds by slicing; up to jumbo; more   2; -4; -8
//	TCP, UDP, ICMP; another known protocol; none   6; 0; -7
//	TTL or hop limit 0                             -3
//	UDP: length agrees; 0; not                     15; 0; -4
//	TCP: header sound; not                         3; -5
//	ICMP: known type and code; not                 7; -4
//	Ethernet: destination broadcast; known group   20; 12
//	one station; another group                     1; -1
//	source one station; a group                    1; -2
//	type IPv4, IPv6; 802.1Q; other tags            15, 14; 13; 9
//	ARP; LLDP; another known type; unknown         12; 10; 6; -7
//	what types of IP lead to                       as above
//	ARP for IPv4 on Ethernet; else                 30; -12
//	802.3 length equals or is padded; fits         11; -1
//	802.3 length exceeds; below 3                  -2; -6
//	802.2 unnumbered with equal SAPs; known; not   14; 2; -3
type weight int16

const (
	impossible weight = -1000 // of a reading against the rules
	// leastBelowLabels and leastInTunnel are the least weights that are believed: below a label stack, and
	// in a tunnel that its port does not make certain, together with the header of the tunnel.
	leastBelowLabels weight = 3
	leastInTunnel    weight = 16
)

// weighIP weighs that ip is a datagram of the version in its first bits, of which left bytes lie
// there on the wire. It takes constant time.
func weighIP(ip []byte, left int64) weight {
	if len(ip) > 0 {
		switch ip[0] >> 4 {
		case 4:
			return weighIPv4(ip, left)
		case 6:
			return weighIPv6(ip, left)
		}
	}
	return impossible
}

const weightVersion weight = 4

func weighIPv4(ip []byte, left int64) weight {
	header := int(ip[0]&15) * 4
	w := weightVersion + choose(header == 20, 4, -5)
	if header < 20 {
		return impossible
	}
	if len(ip) < 20 {
		return w
	}
	total := int64(binary.BigEndian.Uint16(ip[2:]))
	if total != 0 && total < int64(header) {
		return impossible
	}
	fragment := binary.BigEndian.Uint16(ip[6:])
	w += weighClass(ip[1]) + weighLength(total, left) + weighFragment(fragment) + weighTTL(ip[8]) + weighProtocol(ip[9], 4)
	if len(ip) >= header {
		w += weighSum(ip[:header])
	}
	w += choose(ip[12] == 0 && ip[13]|ip[14]|ip[15] != 0 || ip[12] >= 224, -3, 0)
	w += choose(ip[16] == 0 || ip[16] >= 240 && ip[16] != 255, -3, 0)
	if fragment&0x3fff == 0 && len(ip) > header {
		w += weighUpper(ip[9], ip[header:], total-int64(header))
	}
	return w
}

func weighIPv6(ip []byte, left int64) weight {
	const header = 40
	if len(ip) < header {
		return weightVersion
	}
	word := binary.BigEndian.Uint32(ip)
	w := weightVersion + weighClass(uint8(word>>20)) + choose(word<<12 == 0, 6, -1)
	length := int64(binary.BigEndian.Uint16(ip[4:]))
	w += weighLength(length, left-header) + weighProtocol(ip[6], 6) + weighTTL(ip[7])
	w += choose(usualSource[ip[8]], 2, -2) + choose(usualDestination[ip[24]], 2, -2)
	return w + weighUpper(ip[6], ip[header:], length)
}

func choose(is bool, then, otherwise weight) weight {
	if is {
		return then
	}
	return otherwise
}

func weighClass(class uint8) weight { return choose(class == 0, 6, -1) }

func weighTTL(ttl uint8) weight { return choose(ttl == 0, -3, 0) }

// weighLength weighs the length that a packet states where left bytes lie on the wire. A length of 0
// has weight 0: a network card is to segment the packet.
func weighLength(stated, left int64) weight {
	const sliced, jumbo = 1500, 9216
	switch more := left - stated; {
	case stated == 0:
		return 0
	case more == 0:
		return 15
	case more > 0:
		return choose(more <= minPayload, 8, 1)
	case stated <= sliced:
		return 2
	}
	return choose(stated <= jumbo, -4, -8)
}

func weighFragment(word uint16) weight {
	const reserved, dontFragment, more = 0x8000, 0x4000, 0x2000
	switch {
	case word&^dontFragment == 0:
		return 14
	case word&reserved != 0:
		return -8
	}
	return choose(word == more, 6, -4)
}

func weighProtocol(protocol, version uint8) weight {
	switch protocol {
	case iana.ProtoTCP, iana.ProtoUDP, iana.ProtoICMP, iana.ProtoICMPv6:
		return 6
	case iana.ProtoIGMP, iana.ProtoAH:
		return 0
	}
	return choose(usualNext[protocol] && (version == 6 || !iana.IsExtension[protocol]), 0, -7)
}

func weighSum(header []byte) weight {
	if headerSum(header) == 0xffff {
		return 15
	}
	return choose(header[10]|header[11] == 0, 4, -4)
}

// weighUpper weighs the header above IP, whose datagram states size bytes for it, or 0 or less if
// that is not known.
func weighUpper(protocol uint8, d []byte, size int64) weight {
	switch {
	case protocol == iana.ProtoUDP && len(d) >= udpHeaderSize:
		length := int64(binary.BigEndian.Uint16(d[4:]))
		if length == 0 || size <= 0 {
			return 0
		}
		return choose(length == size, 15, -4)
	case protocol == iana.ProtoTCP && len(d) >= 14:
		header := int64(d[12]>>4) * 4
		return choose(header < 20 || size > 0 && header > size || d[12]&0x0e != 0, -5, 3)
	case protocol == iana.ProtoICMP && len(d) >= 2:
		return choose(d[0] <= 18 && d[1] <= 15, 7, -4)
	case protocol == iana.ProtoICMPv6 && len(d) >= 2:
		return choose((d[0] <= 4 || d[0] >= 128 && d[0] <= 161) && d[1] <= 7, 7, -4)
	}
	return 0
}

// weighFrame weighs that an Ethernet frame lies at offset o of d, which ends at end on the wire.
// ip is the offset of the IP header whose weight is part of it, or 0. It takes constant time.
func weighFrame(d []byte, o int, end int64) (w weight, ip int) {
	const tags = 4
	if len(d) < o+14 {
		return impossible, 0
	}
	w = weighStations(d[o:])
	typ, at := binary.BigEndian.Uint16(d[o+12:]), o+14
	for n := 0; n < tags && iana.IsVLAN(typ) && len(d) >= at+4; n++ {
		w += choose(typ == iana.TypeVLAN, 13, 9)
		typ, at = binary.BigEndian.Uint16(d[at+2:]), at+4
	}
	body, left := d[at:], end-int64(at)
	switch {
	case typ <= maxLength:
		return w + weighSized(int64(typ), body, left), 0
	case typ != iana.TypeIPv4 && typ != iana.TypeIPv6:
		return w + weighType(typ, body), 0
	}
	if w += choose(typ == iana.TypeIPv4, 15, 14); len(body) > 0 {
		inside := impossible
		if typ == typeOfNibble[body[0]>>4] {
			inside = weighIP(body, left)
		}
		return w + inside, at
	}
	return w, 0
}

// stationGroups are the first three bytes of group addresses that protocols have: of bridges, of
// IPv4, of Cisco, of IEC 61850 and of PTP.
var stationGroups = [...]uint32{0x0180c2, 0x01005e, 0x01000c, 0x010ccd, 0x011b19}

func weighStations(d []byte) (w weight) {
	const broadcast, group6, group = 1<<48 - 1, 0x3333, 1
	w = choose(d[6]&group != 0, -2, 1)
	dst := binary.BigEndian.Uint64(d) >> 16
	if d[0]&group == 0 {
		return w + 1
	}
	if dst == broadcast {
		return w + 20
	}
	known := dst>>32 == group6
	for _, first := range stationGroups {
		known = known || uint32(dst>>24) == first
	}
	return w + choose(known, 12, -1)
}

// weighType weighs an ethertype other than of IP, and the payload that it announces.
func weighType(typ uint16, body []byte) weight {
	const lldp = 0x88cc
	switch {
	case typ == iana.TypeARP && len(body) < 8:
		return 12
	case typ == iana.TypeARP:
		return 12 + choose(isARP(body), 30, -12)
	case typ == lldp:
		return 10
	case iana.IsVLAN(typ):
		return 9
	}
	return choose(leadsOn(typ) || plainType(typ), 6, -7)
}

// weighSized weighs the length field of IEEE 802.3, and the 802.2 header behind it.
func weighSized(length int64, body []byte, left int64) (w weight) {
	const unnumbered, fcs = 3, 4
	padded := length < minPayload && left >= minPayload && left <= minPayload+fcs
	switch {
	case length < 3:
		return -6
	case length == left || padded:
		w = 11
	default:
		w = choose(length > left, -2, -1)
	}
	switch {
	case len(body) < 3:
	case body[0] != sapSNAP && !plainSAP(body[0]):
		w -= 3
	default:
		w += choose((body[0]^body[1])&^1 == 0 && body[2] == unnumbered, 14, 2)
	}
	return w
}
