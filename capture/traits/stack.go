// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

const (
	ethernetLen = 14
	tagLen      = 4
	typeLen     = 2 // of the ethertype at the end of the Ethernet header and of tags
)

// Stack lists the headers of one frame before its packet. It keeps its memory from frame to
// frame. One goroutine at a time may use it.
type Stack struct {
	Layers []headers.Layer
	// Plain is set if nothing but an Ethernet header and VLAN tags precedes an IP packet.
	// Layers has the tags then, and no LayerEthernet or LayerIP.
	Plain bool
}

// Read lists the headers of frame i of b, which h describes. d decoded h. A plain frame is
// not walked a second time.
func (s *Stack) Read(d *headers.Decoder, b *capture.Batch, i int, h *headers.Header) {
	s.Layers = s.Layers[:0]
	end := ethernetLen + tagLen*uint32(h.Tags)
	s.Plain = h.Version != 0 && h.Start == end && b.Interfaces[b.Frames[i].Interface].LinkType == capture.LinkEthernet
	if !s.Plain {
		s.Layers = d.Layers(s.Layers, b, i)
		return
	}
	data := b.Data(i)
	for at := uint32(ethernetLen); at < end; at += tagLen {
		id := uint32(binary.BigEndian.Uint16(data[at:])) & 0xfff
		s.Layers = append(s.Layers, headers.Layer{Kind: headers.LayerVLAN, Start: at, End: at + tagLen, ID: id})
	}
}

// Sums are hashes of a Stack.
type Sums struct {
	VLAN   uint64 // of the VLAN tags with their priorities, 0 without any
	Labels uint64 // of the identifiers of all other headers, 0 without any
	Tags   uint64 // of the VLANs and tunnels that make a point
}

// Sum hashes the headers of a frame that has these bytes. key is the secret of VLAN and
// Labels, seed of Tags.
func (s *Stack) Sum(data []byte, key, seed uint64) Sums {
	sums := Sums{Tags: seed}
	for _, l := range s.Layers {
		id := uint64(l.Kind)<<32 | uint64(l.ID)
		switch {
		case l.Kind == headers.LayerVLAN:
			if l.End >= l.Start+2 {
				control := uint64(binary.BigEndian.Uint16(data[l.Start:]))
				sums.VLAN = Mix(control|1<<16, sums.VLAN^key) | 1
			}
			if l.ID != 0 { // 0 is none (IEEE 802.1Q, table 9-2)
				sums.Tags = Mix(id, sums.Tags)
			}
		case l.Kind.HasID():
			sums.Labels = Mix(id, sums.Labels^key) | 1
			if layerFields[l.Kind] == PointVNI {
				sums.Tags = Mix(id, sums.Tags)
			}
		}
	}
	return sums
}

// Point returns the hash of the point at which a packet with these headers was seen.
func (s Sums) Point(at CapturePoint) uint64 {
	sum := Mix(uint64(at.Interface)<<32|uint64(at.Index), s.Tags)
	if at.Path != headers.NoPath {
		sum = Mix(uint64(at.Path), sum)
	}
	return sum
}

// addressLen is the length of a hardware address.
const addressLen = 6

// addresses returns the hardware addresses in the first bytes of a frame: the receiver's and
// the sender's, each nil where unknown.
func addresses(data []byte, h *headers.Header) (all [2][]byte) {
	for i, a := range [2]struct {
		flag uint8
		at   uint16
	}{{headers.FlagDst, h.Dst}, {headers.FlagSrc, h.Src}} {
		if end := int(a.at) + addressLen; h.Flags&a.flag != 0 && end <= len(data) {
			all[i] = data[a.at:end]
		}
	}
	return all
}

// SumAddresses returns the hash of the hardware addresses of a frame under a secret, 0
// without any.
func SumAddresses(data []byte, h *headers.Header, key uint64) (sum uint64) {
	if end := int(h.Dst) + addressLen; h.Flags&headers.FlagDst != 0 && end <= len(data) {
		sum = sumAddress(data[h.Dst:end], 1, key)
	}
	if end := int(h.Src) + addressLen; h.Flags&headers.FlagSrc != 0 && end <= len(data) {
		sum = sumAddress(data[h.Src:end], 2, sum^key)
	}
	return sum
}

// sumAddress hashes an address, which is the receiver's for 1 and the sender's for 2.
func sumAddress(a []byte, whose, key uint64) uint64 {
	return Mix(uint64(binary.LittleEndian.Uint32(a))|uint64(binary.LittleEndian.Uint16(a[4:]))<<32|whose<<48, key) | 1
}

// Routed are the fields of an IP header that routers change.
type Routed struct {
	Hops  uint8  // IPv4 time to live, or IPv6 hop limit
	Class uint8  // IPv4 type of service, or IPv6 traffic class
	Sum   uint16 // checksum of an IPv4 header
	DF    bool   // "don't fragment" of IPv4
}

const dontFragment = 0x40 // in byte 6

// RoutedOf reads the fields of an IP packet. It returns zeros unless its header was captured.
func RoutedOf(ip []byte) Routed {
	switch {
	case len(ip) >= 20 && ip[0]>>4 == 4:
		return Routed{Hops: ip[8], Class: ip[1], Sum: binary.BigEndian.Uint16(ip[10:]), DF: ip[6]&dontFragment != 0}
	case len(ip) >= 40 && ip[0]>>4 == 6:
		return Routed{Hops: ip[7], Class: ip[0]<<4 | ip[1]>>4}
	}
	return Routed{}
}

// ClearRouted clears the fields.
func ClearRouted(ip []byte) {
	switch {
	case len(ip) >= 20 && ip[0]>>4 == 4:
		ip[1], ip[6], ip[8], ip[10], ip[11] = 0, ip[6]&^dontFragment, 0, 0, 0
	case len(ip) >= 40 && ip[0]>>4 == 6:
		ip[0], ip[1], ip[7] = ip[0]&0xf0, ip[1]&0x0f, 0
	}
}
