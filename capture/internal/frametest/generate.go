// SPDX-License-Identifier: Apache-2.0

package frametest

import (
	"encoding/binary"
	"math/rand/v2"
	"net"

	"github.com/flowdedup/flowdedup/capture/internal/iana"
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// generated is a random stack of layers, and what it should decode to.
type generated struct {
	Layers []gopacket.SerializableLayer
	Want   described
}

// described has the fields of headers.Header, which this package cannot import: tests of
// headers do so themselves. It converts to a Header.
type described struct {
	Start, End, L4, Wire uint32
	SrcPort, DstPort     uint16
	VLAN                 uint16
	Dst, Src             uint16
	Tag                  uint16
	Version, Proto       uint8
	Tags, Flags          uint8
}

// Flags as in headers.
const (
	flagVLAN = 1 << iota
	flagDst
	flagSrc
	flagFragment
)

func (g *generated) add(l gopacket.SerializableLayer) { g.Layers = append(g.Layers, l) }

// Generate makes a frame with VLAN tags, MPLS labels, IPv4 options, IPv6
// extension headers and fragments as the generator draws them.
func Generate(r *rand.Rand) *generated {
	g := &generated{}
	g.Want.Flags = flagDst | flagSrc
	g.Want.Src = 6
	version := 4 + 2*uint8(r.IntN(2))
	typ := layers.EthernetType(iana.TypeIPv4)
	if version == 6 {
		typ = iana.TypeIPv6
	}
	tags, labels := r.IntN(4), r.IntN(3)
	inner := typ
	if labels > 0 {
		inner = iana.TypeMPLS
	}
	first := inner
	if tags > 0 {
		first = []layers.EthernetType{iana.TypeVLAN, iana.TypeQinQ}[r.IntN(2)]
	}
	g.add(&layers.Ethernet{DstMAC: net.HardwareAddr(MAC(1)), SrcMAC: net.HardwareAddr(MAC(2)), EthernetType: first})
	for i := range tags {
		next := layers.EthernetType(iana.TypeVLAN)
		if i == tags-1 {
			next = inner
		}
		id := uint16(r.IntN(4096))
		if i == 0 {
			g.Want.VLAN, g.Want.Tag, g.Want.Flags = id, 14, g.Want.Flags|flagVLAN
		}
		g.add(&layers.Dot1Q{VLANIdentifier: id, Type: next})
	}
	g.Want.Tags = uint8(tags)
	for i := range labels {
		g.add(&layers.MPLS{Label: r.Uint32N(1 << 20), StackBottom: i == labels-1, TTL: 64})
	}
	g.Want.Start = uint32(14 + 4*tags + 4*labels)
	g.Want.Version = version
	if version == 4 {
		g.ip4(r)
	} else {
		g.ip6(r)
	}
	return g
}

func (g *generated) ip4(r *rand.Rand) {
	ip := &layers.IPv4{Version: 4, TTL: 64, SrcIP: net.IP{10, 0, 0, 1}, DstIP: net.IP{10, 0, 0, 2}}
	header := uint32(20)
	if r.IntN(3) == 0 {
		ip.Options = []layers.IPv4Option{{OptionType: 1}, {OptionType: 1}, {OptionType: 1}, {OptionType: 1}}
		header += 4
	}
	first := true
	switch r.IntN(5) {
	case 0:
		ip.FragOffset, first = uint16(1+r.IntN(100)), false
		g.Want.Flags |= flagFragment
	case 1:
		ip.Flags = layers.IPv4MoreFragments
		g.Want.Flags |= flagFragment
	}
	g.add(ip)
	ip.Protocol = g.upper(r, g.Want.Start+header, first)
}

func (g *generated) ip6(r *rand.Rand) {
	ip := &layers.IPv6{Version: 6, HopLimit: 64, SrcIP: net.IP(Packet6[8:24]), DstIP: net.IP(Packet6[24:40])}
	g.add(ip)
	l4, first := g.Want.Start+40, true
	next := &ip.NextHeader
	for range r.IntN(4) {
		raw := []byte{0, 0, 1, 4, 0, 0, 0, 0} // padding options
		switch r.IntN(3) {
		case 0:
			*next = layers.IPProtocolIPv6Destination
		case 1:
			*next = layers.IPProtocolIPv6HopByHop
			raw = append(raw, make([]byte, 8)...)
			raw[1] = 1
		case 2:
			*next = layers.IPProtocolIPv6Fragment
			raw[2], raw[3] = 0, byte(r.IntN(2))
			if r.IntN(3) == 0 {
				raw[2], first = 7, false
			}
			if binary.BigEndian.Uint16(raw[2:]) != 0 {
				g.Want.Flags |= flagFragment
			}
			copy(raw[4:], "iden")
		}
		g.add(gopacket.Payload(raw))
		l4 += uint32(len(raw))
		next = (*layers.IPProtocol)(&raw[0])
		if !first {
			break
		}
	}
	*next = g.upper(r, l4, first)
}

// upper adds a transport header; first is false for later fragments.
func (g *generated) upper(r *rand.Rand, l4 uint32, first bool) layers.IPProtocol {
	src, dst := uint16(r.Uint32()), uint16(r.Uint32())
	var proto layers.IPProtocol
	switch r.IntN(4) {
	case 0:
		proto = layers.IPProtocolTCP
		g.add(&layers.TCP{SrcPort: layers.TCPPort(src), DstPort: layers.TCPPort(dst)})
	case 1:
		proto = layers.IPProtocolUDP
		g.add(&layers.UDP{SrcPort: layers.UDPPort(src), DstPort: layers.UDPPort(dst)})
	case 2:
		proto = layers.IPProtocolSCTP
		g.add(&layers.SCTP{SrcPort: layers.SCTPPort(src), DstPort: layers.SCTPPort(dst)})
	case 3:
		proto = layers.IPProtocolICMPv4
		g.add(&layers.ICMPv4{TypeCode: 0x0800})
		src, dst = 0, 0
	}
	g.add(gopacket.Payload(make([]byte, 46+r.IntN(60)))) // enough to need no padding
	g.Want.Proto = uint8(proto)
	if first {
		g.Want.L4, g.Want.SrcPort, g.Want.DstPort = l4, src, dst
	}
	return proto
}
