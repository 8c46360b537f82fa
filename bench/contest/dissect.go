// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// sums says whether the checksums of a frame's innermost packet are right.
type sums int

const (
	unknown sums = iota // a fragment, a packet that was cut, no TCP or UDP
	right
	wrong
)

// view is an analyzer's view of a frame.
type view struct {
	talk  string // the conversation, equal for both directions; empty for others
	point string // VLANs and network identifiers of tunnels
	side  int    // the direction
	sums  sums
}

// note marks the frame's direction of the conversation that has the key.
func (v *view) note(talks map[string]sides, key string) {
	if v.talk == "" {
		return
	}
	seen := talks[key]
	seen[v.side] = true
	talks[key] = seen
}

// dissect dissects a frame with gopacket, down to the innermost packet.
func dissect(frame []byte) view {
	var v view
	var ip gopacket.NetworkLayer
	packet := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.DecodeOptions{NoCopy: true})
	for _, layer := range packet.Layers() {
		switch l := layer.(type) {
		case *layers.Dot1Q:
			v.point += fmt.Sprintf("vlan %d ", l.VLANIdentifier)
		case *layers.VXLAN:
			v.point += fmt.Sprintf("vxlan %d ", l.VNI)
		case *layers.Geneve:
			v.point += fmt.Sprintf("geneve %d ", l.VNI)
		case *layers.IPv4:
			ip, v.talk, v.sums = l, "", unknown
			if ones(l.Contents, 0) != 0xFFFF {
				v.sums = wrong
			}
		case *layers.IPv6:
			ip, v.talk, v.sums = l, "", unknown
		case *layers.TCP:
			v.transport(ip, l, layers.IPProtocolTCP)
		case *layers.UDP:
			v.transport(ip, l, layers.IPProtocolUDP)
		}
	}
	return v
}

// transport sets the conversation of a TCP or UDP header and its payload, and verifies
// the checksum of a packet that is whole.
func (v *view) transport(ip gopacket.NetworkLayer, l gopacket.TransportLayer, protocol layers.IPProtocol) {
	src, dst := ip.NetworkFlow().Src().String()+" "+l.TransportFlow().Src().String(), ip.NetworkFlow().Dst().String()+" "+l.TransportFlow().Dst().String()
	if v.side = 0; src > dst {
		src, dst, v.side = dst, src, 1
	}
	v.talk = fmt.Sprint(protocol, " ", src, " ", dst)
	length, body := len(l.LayerContents())+len(l.LayerPayload()), ip.LayerPayload()
	if stated(ip) != length || len(body) < length || v.sums == wrong {
		return
	}
	sum := uint32(protocol) + uint32(length)
	for _, end := range []gopacket.Endpoint{ip.NetworkFlow().Src(), ip.NetworkFlow().Dst()} {
		sum += uint32(ones(end.Raw(), 0))
	}
	if v.sums = right; ones(body[:length], sum) != 0xFFFF {
		v.sums = wrong
	}
}

// stated returns the length behind the IP header that the header states.
func stated(ip gopacket.NetworkLayer) int {
	switch l := ip.(type) {
	case *layers.IPv4:
		return int(l.Length) - int(l.IHL)*4
	case *layers.IPv6:
		return int(l.Length)
	}
	return -1
}
