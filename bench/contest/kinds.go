// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/google/gopacket/layers"
)

// kind is a sort of capture, with the flags that flowdedup's manual recommends for it.
type kind struct {
	name   string
	what   string
	points int      // interfaces: with more than one the capture is pcapng
	flags  []string // of the manual for such a capture; none where the defaults do
	film   func(s *scene, n int)
}

// kinds are all captures that are made here. n is about the number of packets that hosts
// send.
var kinds = []kind{
	{"span-vlans", "SPAN of two VLANs with a router between them", 1, nil, spanVLANs},
	{"router", "both sides of a router", 1, nil, routerSides},
	{"headers", "both sides of a router, 96 bytes a packet", 1, nil, headersOnly},
	{"taps", "two taps of one link: each loses 2 % and is up to 0.3 ms late", 2, []string{"--across"}, twoTaps},
	{"far-taps", "the same, and the second tap's clock is 20 ms behind", 2, []string{"--across", "--window", "50ms"}, farTaps},
	{"unsorted", "two interfaces, written in turn every 20 ms as dumpcap does", 2, nil, unsorted},
	{"vxlan", "a cloud's mirror of both ends in VXLAN; senders leave checksums to the card", 1, offload, cloud(4789, vxlan)},
	{"geneve", "the same in GENEVE", 1, offload, cloud(6081, geneve)},
	{"tunnel", "before a GRE tunnel, and inside it", 1, []string{"--identity", "inner"}, tunnel},
	{"prp", "both LANs of PRP", 1, nil, bothLANs},
	{"stay", "both sides of a router; retransmissions, probes and keepalives that must stay", 1, nil, mustStay},
	{"twins", "two interfaces; one UDP datagram in four is sent twice within 0.3 ms, and both must stay", 2, []string{"--across"}, twins},
	{"dupacks", "both sides of a router; receivers acknowledge three times within 0.2 ms, in IPv6 byte for byte, and all must stay", 1, nil, duplicateAcks},
	{"fragments", "both sides of a router, datagrams in three fragments", 1, nil, fragments},
}

var offload = []string{"--identity", "inner", "--ignore", "l4-checksum"}

// Stations on either side of a router.
const client, routerLeft, routerRight, server = 1, 2, 3, 4

// before and after return the frame on the sender's side of the router, and the frame on
// the other side.
func (p *sent) before(vlans ...uint16) []byte {
	if p.forward {
		return ethernet(client, routerLeft, p.datagram.packet(0), vlans...)
	}
	return ethernet(server, routerRight, p.datagram.packet(0), vlans...)
}

func (p *sent) after(vlans ...uint16) []byte {
	if p.forward {
		return ethernet(routerRight, server, p.datagram.packet(1), vlans...)
	}
	return ethernet(routerLeft, client, p.datagram.packet(1), vlans...)
}

// routed shows a packet on both sides of the router.
func (s *scene) routed(p sent) {
	s.show(p.at, 0, p.packet, "routed", p.before())
	s.show(p.at+p.delay, 0, p.packet, "routed", p.after())
}

func routerSides(s *scene, n int) { s.traffic(n, s.routed) }

func spanVLANs(s *scene, n int) {
	s.traffic(n, func(p sent) {
		near, far := uint16(10), uint16(20)
		if !p.forward {
			near, far = far, near
		}
		s.show(p.at, 0, p.packet, "routed", p.before(near))
		s.show(p.at+p.delay, 0, p.packet, "routed", p.after(far))
	})
}

func headersOnly(s *scene, n int) {
	const cut = 96
	s.traffic(n, s.routed)
	for i := range s.records {
		r := &s.records[i]
		r.frame = r.frame[:min(cut, len(r.frame))]
	}
}

func twoTaps(s *scene, n int) { s.taps(n, 0) }

func farTaps(s *scene, n int) { s.taps(n, 20_000) }

// taps shows a link at two points; the second is later by behind.
func (s *scene) taps(n int, behind int64) {
	const loss, late = 0.02, 300
	s.traffic(n, func(p sent) {
		for tap := range 2 {
			if !s.lose(loss) {
				s.show(p.at+int64(tap)*behind+s.between(0, late), tap, p.packet, "exact", p.before())
			}
		}
	})
}

func unsorted(s *scene, n int) {
	const turn = 20_000
	s.traffic(n, func(p sent) {
		s.show(p.at, 0, p.packet, "routed", p.before())
		s.show(p.at+p.delay, 1, p.packet, "routed", p.after())
	})
	for i := range s.records {
		r := &s.records[i]
		r.filed = r.time/turn*turn + int64(r.point*turn/2)
	}
}

// cloud mirrors the packets at both ends of a conversation, each in its own network.
func cloud(port uint16, wrap func(vni uint32, frame []byte) []byte) func(*scene, int) {
	return func(s *scene, n int) {
		id := uint16(0)
		collector := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 9}), port)
		mirror := func(end uint32, frame []byte) []byte {
			id++
			from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(end)}), 50_000)
			outer := datagram{src: from.Addr(), dst: collector.Addr(), protocol: layers.IPProtocolUDP, id: id}
			outer.body = udpDatagram(from, collector, wrap(7000+end, frame))
			return ethernet(5, 6, outer.packet(0))
		}
		s.traffic(n, func(p sent) {
			near, far := uint32(1), uint32(2)
			if !p.forward {
				near, far = far, near
			}
			left := p
			left.datagram = p.leaveToCard()
			s.show(p.at, 0, p.packet, "routed", mirror(near, left.before()))
			s.show(p.at+p.delay, 0, p.packet, "routed", mirror(far, p.after()))
		})
	}
}

func tunnel(s *scene, n int) {
	id := uint16(0)
	ends := [2]netip.Addr{netip.AddrFrom4([4]byte{198, 51, 100, 1}), netip.AddrFrom4([4]byte{198, 51, 100, 2})}
	s.traffic(n, func(p sent) {
		id++
		outer := datagram{src: ends[0], dst: ends[1], protocol: layers.IPProtocolGRE, id: id}
		if !p.forward {
			outer.src, outer.dst = outer.dst, outer.src
		}
		outer.body = gre(p.datagram.packet(1))
		bare, wrapped := p.before(), ethernet(7, 8, outer.packet(0))
		if !p.forward { // it comes out of the tunnel
			outer.body = gre(p.datagram.packet(0))
			wrapped, bare = ethernet(8, 7, outer.packet(0)), p.after()
			s.show(p.at, 0, p.packet, "tunnel", wrapped)
			s.show(p.at+p.delay, 0, p.packet, "tunnel", bare)
			return
		}
		s.show(p.at, 0, p.packet, "tunnel", bare)
		s.show(p.at+p.delay, 0, p.packet, "tunnel", wrapped)
	})
}

func bothLANs(s *scene, n int) {
	const loss = 0.02
	sequence := uint16(0)
	s.traffic(n, func(p sent) {
		sequence++
		for i, lan := range []uint16{0xA, 0xB} {
			if !s.lose(loss) {
				s.show(p.at+int64(i)*p.delay, 0, p.packet, "lan", prp(p.before(), lan, sequence))
			}
		}
	})
}

// mustStay adds packets that TCP sends again: after a timeout; within the window, as a
// tail loss probe, with another IP identification; and keepalives one byte back, which
// follow after milliseconds.
func mustStay(s *scene, n int) {
	s.traffic(n, func(p sent) {
		s.routed(p)
		if p.protocol != layers.IPProtocolTCP {
			return
		}
		again := p
		switch s.random.IntN(12) {
		case 0:
			again.packet, again.at = s.again(p.packet, "retransmission"), p.at+s.between(3000, 200_000)
			again.resend()
			s.routed(again)
		case 1:
			if again.resend(); again.id != p.id {
				again.packet, again.at = s.again(p.packet, "retransmission"), p.at+s.between(250, 700)
				s.routed(again)
			}
		case 2:
			again.body = emptySegment(p, 1)
			again.packet = s.send()
			again.at += 200
			s.routed(again)
			first := again.packet
			for range 3 {
				again.at += s.between(5000, 20_000)
				again.resend()
				again.packet = s.again(first, "keepalive")
				s.routed(again)
			}
		}
	})
}

// duplicateAcks adds acknowledgements that TCP repeats where it misses a segment (RFC
// 5681, section 3.2). From hosts that do not number packets they are equal without
// options, so a copy differs from them only in the hop limit.
func duplicateAcks(s *scene, n int) {
	s.traffic(n, func(p sent) {
		s.routed(p)
		if p.protocol != layers.IPProtocolTCP || len(p.body) == tcpHeader || s.random.IntN(12) > 0 {
			return
		}
		ack := p
		ack.body = emptySegment(p, 0)
		ack.packet = s.send()
		first := ack.packet
		for turn := range 3 {
			ack.at += s.between(20, 60)
			ack.resend()
			if turn > 0 {
				ack.packet = s.again(first, "repeat")
			}
			s.routed(ack)
		}
	})
}

// emptySegment returns a segment without payload, some bytes before a segment.
func emptySegment(p sent, before uint32) []byte {
	be := binary.BigEndian
	from, to := netip.AddrPortFrom(p.src, be.Uint16(p.body)), netip.AddrPortFrom(p.dst, be.Uint16(p.body[2:]))
	const ack = 0x10
	return tcpSegment(from, to, be.Uint32(p.body[4:])-before, be.Uint32(p.body[8:]), ack, nil)
}

func twins(s *scene, n int) {
	both := func(p sent) {
		s.show(p.at, 0, p.packet, "routed", p.before())
		s.show(p.at+p.delay, 1, p.packet, "routed", p.after())
	}
	s.traffic(n, func(p sent) {
		both(p)
		if p.protocol == layers.IPProtocolUDP && s.random.IntN(4) == 0 {
			again := p
			again.packet, again.at = s.again(p.packet, "twin"), p.at+s.between(30, 300)
			again.resend()
			both(again)
		}
	})
}

// fragments cuts large datagrams. Parts of one datagram follow each other at once.
func fragments(s *scene, n int) {
	const part = 400
	parts := map[int][]int{} // by the number of the first
	s.traffic(n, func(p sent) {
		if len(p.body) < 2*part {
			s.routed(p)
			return
		}
		first, whole := p.packet, p.body
		p.id = uint16(first) | 1 // a fragmented packet has a number
		for offset := 0; offset < len(whole); offset += part {
			end := min(offset+part, len(whole))
			p.offset, p.more, p.body = offset, end < len(whole), slices.Clone(whole[offset:end])
			if offset > 0 {
				p.at += 2
				p.packet = s.partOf(first, parts[s.packets[first].of], offset/part)
			}
			parts[first] = append(parts[first], p.packet)
			s.routed(p)
		}
	})
}

// partOf numbers a further part of a packet. If that repeats another, so does the part.
func (s *scene) partOf(first int, earlier []int, number int) int {
	if stays := s.packets[first].stays; stays != "" {
		return s.again(earlier[number], stays)
	}
	return s.send()
}
