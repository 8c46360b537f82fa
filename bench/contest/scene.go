// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"

	"github.com/google/gopacket/layers"
)

// scene collects the packets that points see. Times are microseconds from the start, so
// that formats with coarse clocks keep them, and no two records share one: a judge finds
// each record by its time.
type scene struct {
	random  *rand.Rand
	packets []made
	records []record
	used    map[int64]bool
}

// made is a packet that a host sent.
type made struct {
	stays string // how it repeats another, or empty
	of    int    // the other
	first int    // number of the first record, or -1
}

// record shows a packet at a point.
type record struct {
	time   int64
	filed  int64 // records are in the file by this, and by time where it is equal
	point  int
	packet int
	how    string // the difference of a copy from earlier records
	frame  []byte
	length int // of the frame before it was cut
}

func newScene(seed uint64) *scene {
	return &scene{random: rand.New(rand.NewPCG(seed, 0)), used: map[int64]bool{}}
}

// send numbers a packet that a host sends.
func (s *scene) send() int {
	s.packets = append(s.packets, made{of: -1, first: -1})
	return len(s.packets) - 1
}

// again numbers a packet that repeats another and must stay.
func (s *scene) again(of int, stays string) int {
	s.packets = append(s.packets, made{stays: stays, of: of, first: -1})
	return len(s.packets) - 1
}

// show records a frame as soon after a time as the clock allows.
func (s *scene) show(at int64, point, packet int, how string, frame []byte) {
	for s.used[at] {
		at++
	}
	s.used[at] = true
	s.records = append(s.records, record{at, at, point, packet, how, frame, len(frame)})
}

// lose reports whether chance loses a record.
func (s *scene) lose(share float64) bool { return s.random.Float64() < share }

// between draws a number from low to high-1.
func (s *scene) between(low, high int64) int64 { return low + s.random.Int64N(high-low) }

// list sorts the records as they come in the file, and returns a line for each that repeats another.
func (s *scene) list() []line {
	slices.SortFunc(s.records, func(a, b record) int {
		return cmp.Or(cmp.Compare(a.filed, b.filed), cmp.Compare(a.time, b.time))
	})
	var lines []line
	for i, r := range s.records {
		p := &s.packets[r.packet]
		if p.first >= 0 {
			lines = append(lines, line{i, p.first, r.how})
			continue
		}
		p.first = i
		if p.stays != "" {
			lines = append(lines, line{i, max(0, s.packets[p.of].first), p.stays})
		}
	}
	return lines
}

// sent is a datagram on its way.
type sent struct {
	datagram
	at      int64
	packet  int
	forward bool  // from the client
	delay   int64 // until a second point sees it
}

const (
	perPacket    = 20 // microseconds of the capture for each packet
	conversation = 24 // packets, at most
)

// resend makes the packet one that its host sends again. Hosts that number their packets
// give it another number. In IPv6, and as atomic datagrams (RFC 6864), they are equal.
func (p *sent) resend() {
	if p.src.Is4() && p.id != 0 {
		p.id += 0x2000
	}
}

// traffic makes conversations of about n packets in both directions, half of them in IPv6
// and a third in UDP. A quarter of the IPv4 hosts do not number packets. One packet in
// thirty is sent again 20 to 60 ms later. see decides what a point sees of each.
func (s *scene) traffic(n int, see func(sent)) {
	for number, made := 0, 0; made < n; number++ {
		c := s.newConversation(number, int64(n)*perPacket)
		for range s.between(6, conversation) {
			out := c.next()
			out.packet = s.send()
			see(out)
			made++
			if s.random.IntN(30) == 0 {
				copied := out
				copied.packet = s.again(out.packet, "repeat")
				copied.resend()
				copied.at += s.between(20_000, 60_000)
				see(copied)
				made++
			}
		}
	}
}

// talk is a conversation between a client and a server.
type talk struct {
	s              *scene
	client, server netip.AddrPort
	tcp            bool
	now            int64
	delay          int64
	step           int
	sequence       [2]uint32 // of the client and the server
	id             uint16
	atomic         bool // whether packets have no number
}

func (s *scene) newConversation(number int, span int64) *talk {
	c := &talk{s: s, tcp: number%3 != 0, now: s.between(0, span), delay: s.between(40, 200), id: uint16(s.random.Uint32())}
	c.atomic = number%8 == 0
	c.sequence = [2]uint32{s.random.Uint32(), s.random.Uint32()}
	port := uint16(1024 + number%60_000)
	c.client, c.server = address(number%2 == 1, 1, number, port), address(number%2 == 1, 2, number/7, 443)
	return c
}

// address returns the address of a host in the network of clients or of servers.
func address(v6 bool, network byte, host int, port uint16) netip.AddrPort {
	b := binary.BigEndian.AppendUint32(nil, uint32(host))
	if v6 {
		ip := [16]byte{0x20, 0x01, 0x0d, 0xb8, 0, network, 12: b[0], b[1], b[2], b[3]}
		return netip.AddrPortFrom(netip.AddrFrom16(ip), port)
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, network, b[2], b[3]}), port)
}

// next makes the next packet: of TCP first a handshake, then data and acknowledgements.
// Some packets follow in a burst, others after milliseconds.
func (c *talk) next() sent {
	c.now += 12
	if c.step%3 != 2 {
		c.now += c.s.between(400, 12_000)
	}
	out := sent{at: c.now, forward: c.step%2 == 0, delay: c.delay + c.s.between(0, 8)}
	from, to, side := c.client, c.server, 0
	if !out.forward {
		from, to, side = to, from, 1
	}
	if c.id++; c.atomic {
		c.id = 0
	} else if c.id == 0 {
		c.id = 1
	}
	out.src, out.dst, out.id = from.Addr(), to.Addr(), c.id
	payload := c.payload()
	if c.tcp {
		flags := []byte{0x02, 0x12, 0x10, 0x18}[min(c.step, 3)]
		if c.step < 3 {
			payload = nil
		}
		out.protocol = layers.IPProtocolTCP
		out.body = tcpSegment(from, to, c.sequence[side], c.sequence[1-side], flags, payload)
		c.sequence[side] += uint32(len(payload)) + uint32(flags>>1&1)
	} else {
		out.protocol = layers.IPProtocolUDP
		out.body = udpDatagram(from, to, payload)
	}
	c.step++
	return out
}

// payload returns random bytes: mostly few, at times a full packet.
func (c *talk) payload() []byte {
	length := c.s.between(8, 160)
	if c.step%4 == 3 {
		length = 1200
	}
	b := make([]byte, length)
	for i := range b {
		b[i] = byte(c.s.random.Uint32())
	}
	return b
}
