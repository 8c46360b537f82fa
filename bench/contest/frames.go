// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/google/gopacket/layers"
)

const (
	hopLimit  = 64
	minFrame  = 60 // of Ethernet, without its check sequence
	tcpHeader = 20
	udpHeader = 8
)

// datagram is an IP packet as its sender made it.
type datagram struct {
	src, dst netip.Addr
	protocol layers.IPProtocol
	id       uint16 // of IPv4, or of fragments; 0 for atomic datagrams (RFC 6864)
	body     []byte // a TCP or UDP header and payload, or a part of it
	offset   int    // of the part, in bytes
	more     bool   // whether parts follow
}

// tcpSegment returns a TCP header and payload with the right checksum.
func tcpSegment(src, dst netip.AddrPort, seq, ack uint32, flags byte, payload []byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, src.Port())
	b = binary.BigEndian.AppendUint16(b, dst.Port())
	b = binary.BigEndian.AppendUint32(b, seq)
	b = binary.BigEndian.AppendUint32(b, ack)
	b = append(b, 5<<4, flags, 0xFF, 0xFF, 0, 0, 0, 0)
	b = append(b, payload...)
	binary.BigEndian.PutUint16(b[16:], ^ones(b, pseudo(src.Addr(), dst.Addr(), layers.IPProtocolTCP, len(b))))
	return b
}

// udpDatagram returns a UDP header and payload with the right checksum.
func udpDatagram(src, dst netip.AddrPort, payload []byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, src.Port())
	b = binary.BigEndian.AppendUint16(b, dst.Port())
	b = binary.BigEndian.AppendUint16(b, uint16(udpHeader+len(payload)))
	b = append(append(b, 0, 0), payload...)
	sum := ^ones(b, pseudo(src.Addr(), dst.Addr(), layers.IPProtocolUDP, len(b)))
	if sum == 0 {
		sum = 0xFFFF // 0 would mean that there is none (RFC 768)
	}
	binary.BigEndian.PutUint16(b[6:], sum)
	return b
}

// leaveToCard returns the datagram with the checksum of TCP or UDP as Linux leaves it to
// the network card: the sum of the pseudo header.
func (d datagram) leaveToCard() datagram {
	at := map[layers.IPProtocol]int{layers.IPProtocolTCP: 16, layers.IPProtocolUDP: 6}[d.protocol]
	d.body = slices.Clone(d.body)
	binary.BigEndian.PutUint16(d.body[at:], ones(nil, pseudo(d.src, d.dst, d.protocol, len(d.body))))
	return d
}

// packet returns the datagram in IP behind some routers.
func (d datagram) packet(routers int) []byte {
	if d.src.Is4() {
		return d.ipv4(routers)
	}
	return d.ipv6(routers)
}

func (d *datagram) ipv4(routers int) []byte {
	fragment := d.offset / 8
	if d.more {
		fragment |= 0x2000
	}
	if d.id == 0 {
		fragment |= 0x4000 // it must not be cut
	}
	b := []byte{0x45, 0}
	b = binary.BigEndian.AppendUint16(b, uint16(20+len(d.body)))
	b = binary.BigEndian.AppendUint16(b, d.id)
	b = binary.BigEndian.AppendUint16(b, uint16(fragment))
	b = append(b, byte(hopLimit-routers), byte(d.protocol), 0, 0)
	b = append(append(b, d.src.AsSlice()...), d.dst.AsSlice()...)
	binary.BigEndian.PutUint16(b[10:], ^ones(b, 0))
	return append(b, d.body...)
}

func (d *datagram) ipv6(routers int) []byte {
	var extension []byte
	next := d.protocol
	if d.offset > 0 || d.more {
		fragment := d.offset
		if d.more {
			fragment |= 1
		}
		extension = []byte{byte(next), 0}
		extension = binary.BigEndian.AppendUint16(extension, uint16(fragment))
		extension = binary.BigEndian.AppendUint32(extension, uint32(d.id))
		next = layers.IPProtocolIPv6Fragment
	}
	b := []byte{0x60, 0, 0, 0}
	b = binary.BigEndian.AppendUint16(b, uint16(len(extension)+len(d.body)))
	b = append(b, byte(next), byte(hopLimit-routers))
	b = append(append(b, d.src.AsSlice()...), d.dst.AsSlice()...)
	return append(append(b, extension...), d.body...)
}

// ethernet puts an IP packet into a frame between two stations, behind VLAN tags.
func ethernet(from, to byte, packet []byte, vlans ...uint16) []byte {
	b := []byte{2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from}
	for _, id := range vlans {
		b = binary.BigEndian.AppendUint16(append(b, 0x81, 0), id)
	}
	kind := layers.EthernetTypeIPv4
	if packet[0]>>4 == 6 {
		kind = layers.EthernetTypeIPv6
	}
	b = append(binary.BigEndian.AppendUint16(b, uint16(kind)), packet...)
	for len(b) < minFrame {
		b = append(b, 0)
	}
	return b
}

// vxlan returns a VXLAN header (RFC 7348) with a frame behind it.
func vxlan(vni uint32, frame []byte) []byte {
	b := binary.BigEndian.AppendUint32([]byte{8, 0, 0, 0}, vni<<8)
	return append(b, frame...)
}

// geneve returns a GENEVE header (RFC 8926) with one option and a frame behind it.
func geneve(vni uint32, frame []byte) []byte {
	b := binary.BigEndian.AppendUint32([]byte{2, 0, 0x65, 0x58}, vni<<8)
	b = append(b, 1, 8, 1, 1, 0xC0, 0xDE, 0, byte(vni)) // class, type, length in words, data
	return append(b, frame...)
}

// gre returns a GRE header (RFC 2784) with an IP packet behind it.
func gre(packet []byte) []byte {
	if packet[0]>>4 == 6 {
		return append([]byte{0, 0, 0x86, 0xDD}, packet...)
	}
	return append([]byte{0, 0, 8, 0}, packet...)
}

// prp adds the trailer of PRP (IEC 62439-3) for LAN 0xA or 0xB to an untagged frame.
func prp(frame []byte, lan, sequence uint16) []byte {
	const addresses, trailer = 12, 6
	b := binary.BigEndian.AppendUint16(slices.Clone(frame), sequence)
	b = binary.BigEndian.AppendUint16(b, lan<<12|uint16(len(frame)-addresses-2+trailer))
	return append(b, 0x88, 0xFB)
}

// pseudo returns the sum of a pseudo header's words.
func pseudo(src, dst netip.Addr, protocol layers.IPProtocol, length int) uint32 {
	sum := uint32(protocol) + uint32(length)
	for _, address := range [][]byte{src.AsSlice(), dst.AsSlice()} {
		sum += uint32(ones(address, 0))
	}
	return sum
}

// ones returns the ones' complement sum of b and of a sum before (RFC 1071).
func ones(b []byte, sum uint32) uint16 {
	for ; len(b) > 1; b = b[2:] {
		sum += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		sum += uint32(b[0]) << 8
	}
	for sum > 0xFFFF {
		sum = sum>>16 + sum&0xFFFF
	}
	return uint16(sum)
}
