// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/netip"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

// parser holds the layers of one packet.
type parser struct {
	layers   *gopacket.DecodingLayerParser
	decoded  []gopacket.LayerType
	ethernet layers.Ethernet
	tag      layers.Dot1Q
	ip4      layers.IPv4
	ip6      layers.IPv6
	tcp      layers.TCP
	udp      layers.UDP

	network   gopacket.LayerType // IPv4 or IPv6
	transport gopacket.LayerType // TCP, UDP, or none of them
}

func newParser() *parser {
	p := &parser{}
	p.layers = gopacket.NewDecodingLayerParser(layers.LayerTypeEthernet,
		&p.ethernet, &p.tag, &p.ip4, &p.ip6, &p.tcp, &p.udp)
	p.layers.IgnoreUnsupported = true
	return p
}

// parse reports whether a frame holds an IP packet. Undecodable bytes behind its header
// do not matter.
func (p *parser) parse(frame []byte) bool {
	_ = p.layers.DecodeLayers(frame, &p.decoded)
	p.network, p.transport = gopacket.LayerTypeZero, gopacket.LayerTypeZero
	for _, layer := range p.decoded {
		switch layer {
		case layers.LayerTypeIPv4, layers.LayerTypeIPv6:
			p.network = layer
		case layers.LayerTypeTCP, layers.LayerTypeUDP:
			p.transport = layer
		}
	}
	return p.network != gopacket.LayerTypeZero
}

// flow is a five-tuple.
type flow struct {
	src, dst     netip.Addr
	sport, dport uint16
	protocol     uint8
}

// flow returns the packet's five-tuple.
func (p *parser) flow() flow {
	var f flow
	if p.network == layers.LayerTypeIPv4 {
		f.src, _ = netip.AddrFromSlice(p.ip4.SrcIP)
		f.dst, _ = netip.AddrFromSlice(p.ip4.DstIP)
		f.protocol = uint8(p.ip4.Protocol)
	} else {
		f.src, _ = netip.AddrFromSlice(p.ip6.SrcIP)
		f.dst, _ = netip.AddrFromSlice(p.ip6.DstIP)
		f.protocol = uint8(p.ip6.NextHeader)
	}
	switch p.transport {
	case layers.LayerTypeTCP:
		f.sport, f.dport = uint16(p.tcp.SrcPort), uint16(p.tcp.DstPort)
	case layers.LayerTypeUDP:
		f.sport, f.dport = uint16(p.udp.SrcPort), uint16(p.udp.DstPort)
	}
	return f
}
