// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/traits"
)

// seed is the seed of all hashes, which are compared within one process only.
var seed = maphash.MakeSeed()

// sighting holds where and when a packet was seen, and the traits in which copies may differ.
// Hashes have 32 bits: different traits have equal hashes once in 2^32.
type sighting struct {
	number uint64 // in the stream, from 1 on
	time   int64
	full   uint32 // part of the digest of the whole identity
	vlan   uint32 // hash of the VLAN tags
	labels uint32 // hash of the identifiers of other headers before IP
	mac    uint32 // hash of the hardware addresses
	outer  uint32 // hash of the headers around the packet in a tunnel, 0 without
	behind uint32 // hash of the bytes behind the packet in its frame, 0 for none
	bytes  uint32 // captured bytes of the packet
	device uint32 // of the capture point, without VLAN and tunnel: see Inspector.deviceOf
	point  uint16 // its number
	// sequence is the number that the sender gave the frame on both paths of a redundant
	// network. It means something only with a path.
	sequence uint16
	proto    headers.Protocol
	// checksum is the transport checksum, folded to 16 bits, 0 without. It ends sumEnd bytes behind
	// the start of the packet, at most 255, 0 without.
	checksum    uint16
	sumEnd      uint8
	encap       uint16 // hash of the headers before the packet that have no identifier
	hops, class uint8
	flags       uint16
	tcp         uint8  // its flags
	payload     uint16 // captured bytes behind the header of TCP, at most 65535
	mss         uint16 // of a segment with SYN, 0 without
}

// isRewrapped reports whether two sightings of one packet differ in what tunnels add, or in a
// tunnel in what forwarders change, so that only identity inner finds them equal.
func (s *sighting) isRewrapped(o *sighting) bool {
	either := s.flags ^ o.flags
	if s.outer != o.outer || either&tunneled != 0 {
		return true
	}
	changed := s.hops != o.hops || s.class != o.class || s.checksum != o.checksum || either&dontFragment != 0
	return s.flags&tunneled != 0 && changed
}

// Bits of sighting.flags.
const (
	unfilled     = 1 << iota // the checksum was left to a network card
	numbered                 // the sender numbers its packets: IPv4 with an identification
	truncated                // not all of the packet was captured
	tunneled                 // a tunnel was opened
	backward                 // the packet goes to the lower end of its conversation
	stacked                  // the first VLAN tag is of 802.1ad
	multicast                // the frame is on a path, and goes to several stations
	validSum                 // the checksum of TCP, UDP or ICMP is right
	wrongSum                 // it is wrong
	dontFragment             // DF of IPv4
	toGroup                  // the packet goes to a group of hosts

	// unfit packets do not stand for others in filters: see dedup.Config.Intact.
	unfit = truncated | wrongSum
)

// origin has further traits of a packet in its batch, as hashes.
type origin struct {
	place        uint64 // all that makes a point
	at           traits.CapturePoint
	tags         uint64 // the part of it that is in the packet: VLANs and tunnels
	conversation uint64 // both ends and the protocol, 0 for packets of none
	start        uint32 // where the packet begins in its frame
}

// noKey leaves the hashes without a secret that sighting.manner is made of. Of its 16 bits
// some are equal by chance, and a stream has the same report each time.
const noKey = 0

// describer describes packets. It keeps its memory, and is for one goroutine at a time.
type describer struct {
	decoder *headers.Decoder
	seed    uint64
	stack   traits.Stack
	stamped bool // the frame has the time header of an Arista switch
	scratch []byte
}

// describe fills the parts of s and o that follow from frame i of b by itself. h is the header
// of the frame.
func (d *describer) describe(s *sighting, o *origin, b *capture.Batch, i int, h *headers.Header) {
	data, iface := b.Data(i), &b.Interfaces[b.Frames[i].Interface]
	*s = sighting{bytes: h.End - h.Start, mac: uint32(traits.SumAddresses(data, h, noKey)), encap: 1}
	d.stamped = false
	sums, at, end := traits.Sums{Tags: d.seed}, traits.CapturePoint{Interface: iface.CapturePoint}, len(data)
	if iface.LinkType != capture.LinkEthernet || h.Version == 0 || h.Start != ethernetLen || !headers.IsPlainEthernet(data) {
		sums, at, end = d.link(s, b, i, h)
	}
	// A literal would be copied in wider words than it was made of, and a CPU waits for these.
	o.place, o.at, o.tags, o.conversation, o.start = sums.Point(at), at, sums.Tags, 0, h.Start
	if rest := data[h.End:end]; len(rest) > 0 {
		s.behind = uint32(maphash.Bytes(seed, rest)) | 1
	}
	s.network(data[h.Start:h.End], h)
	s.verify(identity.IntegrityOf(h, b, i))
	if h.Version != 0 && (h.Flags&headers.FlagFragment == 0 || h.L4 != 0) {
		o.conversation = d.conversation(data[h.Start:h.End], h, s.flags&backward != 0)
	}
}

// link describes the headers before a packet, unless they are nothing but an Ethernet header. It returns
// where the trailers behind the packet begin.
func (d *describer) link(s *sighting, b *capture.Batch, i int, h *headers.Header) (sums traits.Sums, at traits.CapturePoint, end int) {
	data := b.Data(i)
	d.stack.Read(d.decoder, b, i, h)
	sums, at = d.stack.Sum(data, noKey, d.seed), traits.CapturePointOf(b, i)
	s.vlan, s.labels = uint32(sums.VLAN), uint32(sums.Labels)
	if !d.stack.Plain {
		d.around(s, b, i, h)
		s.encap = uint16(traits.Mix(uint64(b.Interfaces[b.Frames[i].Interface].LinkType), 2))
	}
	if isStacked(data, h) {
		s.flags |= stacked
	}
	return sums, at, s.readPath(b, i, int(h.End), at.Path)
}

// conversation hashes both ends of a packet, the lower one first, and the protocol. A CPU cannot predict
// directions, so there is no branch for them.
func (d *describer) conversation(ip []byte, h *headers.Header, backward bool) uint64 {
	low, high, length := uint32(12), uint32(16), uint32(4)
	if h.Version == 6 {
		low, high, length = 8, 24, 16
	}
	mask := -uint32(count(backward))
	swapped, ports := (low^high)&mask, uint32(h.SrcPort^h.DstPort)&mask
	low, high = low^swapped, high^swapped
	sum := traits.Mix(d.seed^uint64(uint32(h.SrcPort)^ports)<<32^uint64(uint32(h.DstPort)^ports)<<16^uint64(h.Proto), uint64(length))
	for end := low + length; low < end; low, high = low+4, high+4 {
		sum = traits.Mix(uint64(binary.LittleEndian.Uint32(ip[low:]))<<32|uint64(binary.LittleEndian.Uint32(ip[high:])), sum)
	}
	return max(sum, 1)
}

// around adds the headers around a packet that is not plain.
func (d *describer) around(s *sighting, b *capture.Batch, i int, h *headers.Header) {
	outer := -1
	for _, l := range d.stack.Layers {
		d.stamped = d.stamped || l.Kind == headers.LayerArista
		if l.Kind == headers.LayerIP && outer < 0 {
			outer = int(l.Start)
		}
	}
	if h.Flags&headers.FlagInner == 0 {
		return
	}
	s.flags |= tunneled
	if outer < 0 || outer >= int(h.Start) {
		outer = 0
	}
	d.scratch = append(d.scratch[:0], b.Data(i)[outer:h.Start]...)
	traits.ClearRouted(d.scratch)
	s.outer = uint32(maphash.Bytes(seed, d.scratch)) | 1
}

// network adds the traits of the IP header and the header behind it. ip is the packet.
func (s *sighting) network(ip []byte, h *headers.Header) {
	if h.Version == 0 {
		s.proto = headers.NonIP
		return
	}
	routed := traits.RoutedOf(ip)
	s.hops, s.class = routed.Hops, routed.Class
	if h.Version == 4 && ip[4]|ip[5] != 0 {
		s.flags |= numbered
	}
	if routed.DF {
		s.flags |= dontFragment
	}
	s.proto = headers.Protocol(h.Proto)
	s.transport(ip, h)
}

// transport adds the checksum, and whether it was filled in.
func (s *sighting) transport(ip []byte, h *headers.Header) {
	s.flags |= backward * isBackward(ip, h)
	at, ok := checksumAt(h.Proto)
	if !ok || h.L4 == 0 {
		return
	}
	l4 := int(h.L4 - h.Start)
	if h.Proto == protoSCTP {
		if l4+at+4 <= len(ip) {
			s.checksum, s.sumEnd = uint16(traits.Mix(uint64(binary.BigEndian.Uint32(ip[l4+at:])), 13)), uint8(min(l4+at+4, 255))
		}
		return
	}
	if l4+at+2 > len(ip) {
		return
	}
	s.checksum, s.sumEnd = binary.BigEndian.Uint16(ip[l4+at:]), uint8(min(l4+at+2, 255))
	if h.Proto == protoTCP {
		s.tcp = ip[l4+13]
		s.mss = identity.MSSOf(ip[l4:])
		s.payload = uint16(min(max(len(ip)-l4-int(ip[l4+12]>>4)*4, 0), 0xffff))
	}
	if h.Proto == protoTCP || h.Proto == protoUDP {
		if s.checksum == pseudo(ip, h, l4) || s.checksum == 0 && h.Proto == protoUDP {
			s.flags |= unfilled
		}
	}
}

const (
	protoICMP   = 1
	protoTCP    = 6
	protoUDP    = 17
	protoDCCP   = 33
	protoICMPv6 = 58
	protoSCTP   = 132
	protoLite   = 136 // UDP-Lite
)

// checksumAt returns where a transport header has its checksum.
func checksumAt(proto uint8) (at int, ok bool) {
	switch proto {
	case protoTCP:
		return 16, true
	case protoUDP, protoLite, protoDCCP:
		return 6, true
	case protoICMP, protoICMPv6:
		return 2, true
	case protoSCTP:
		return 8, true
	}
	return 0, false
}

// pseudo returns the sum of the pseudo header (RFC 9293, section 3.1), which a sender
// leaves in the place of a checksum that its network card is to fill in.
func pseudo(ip []byte, h *headers.Header, l4 int) uint16 {
	length, ends := int(binary.BigEndian.Uint16(ip[2:]))-l4, ip[12:20]
	if h.Version == 6 {
		length, ends = int(binary.BigEndian.Uint16(ip[4:]))+40-l4, ip[8:40]
	}
	sum := uint64(h.Proto) + uint64(max(length, 0))
	for ; len(ends) >= 8; ends = ends[8:] {
		word := binary.BigEndian.Uint64(ends)
		sum += word>>32 + word&0xffffffff
	}
	sum = sum>>32 + sum&0xffffffff
	sum = sum>>16 + sum&0xffff
	sum = sum>>16 + sum&0xffff
	return uint16(sum>>16 + sum)
}

// isBackward returns 1 if the source of a packet is the greater end of its conversation, else 0.
func isBackward(ip []byte, h *headers.Header) uint16 {
	src, dst := addressesOf(ip)
	_, borrow := bits.Sub64(uint64(h.DstPort), uint64(h.SrcPort), 0)
	if len(src) == 4 {
		_, borrow = bits.Sub64(uint64(binary.BigEndian.Uint32(dst)), uint64(binary.BigEndian.Uint32(src)), borrow)
		return uint16(borrow)
	}
	_, borrow = bits.Sub64(binary.BigEndian.Uint64(dst[8:]), binary.BigEndian.Uint64(src[8:]), borrow)
	_, borrow = bits.Sub64(binary.BigEndian.Uint64(dst), binary.BigEndian.Uint64(src), borrow)
	return uint16(borrow)
}
