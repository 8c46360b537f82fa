// SPDX-License-Identifier: Apache-2.0

package frametest

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// opening is a segment with SYN and its maximum size.
var opening = With(Join(TCP(1000, 80, nil), "\x02\x04\x05\xb4", "data"), 12, "\x60\x02")

// NearCopies returns frames that differ in one bit, in a few bytes or in their length,
// and exact copies of some.
func NearCopies() [][]byte {
	r := rand.New(rand.NewPCG(7, 8))
	long6 := IP6(1, iana.ProtoUDP, UDP(1000, 53, make([]byte, 40)))
	var out [][]byte
	for _, seed := range [][]byte{
		Ether(iana.TypeIPv4, Packet4), Ether(iana.TypeIPv6, Packet6), Ether(iana.TypeIPv6, long6), ARPFrame,
		Ether(iana.TypeVLAN, Join(BE16(100), BE16(iana.TypeIPv6), Packet6)),
		Ether(iana.TypeIPv4, UDP4(iana.PortVXLAN, Join("\x08\x00\x00\x00\x00\x00\x64\x00", Ether(iana.TypeIPv6, Packet6)))),
		Ether(iana.TypeIPv4, IP4(1, iana.ProtoIPv6, Packet6)),
		Ether(iana.TypeIPv4, With(IP4(1, iana.ProtoTCP, Join("\x07\x07\x08\x0a\x01\x02\x03\x00", opening)), 0, "\x47")),
		Ether(iana.TypeIPv6, IP6(1, iana.ProtoHopByHop, Join([]byte{iana.ProtoTCP}, "\x00\x31\x03\x01\x02\x03\x00", opening))),
	} {
		for i := range seed {
			out = append(out, seed[:i])
			for bit := range 8 {
				out = append(out, With(seed, i, string([]byte{seed[i] ^ 1<<bit})))
			}
		}
		for range 2000 {
			frame := slices.Clone(seed)
			for range 1 + r.IntN(3) {
				frame[14+r.IntN(min(60, len(frame)-14))] = byte(r.IntN(3))
			}
			out = append(out, frame[:len(frame)-r.IntN(2)*r.IntN(20)])
		}
	}
	return out
}

// MixedLinks returns frames of interfaces with several link types, in runs.
func MixedLinks() *capture.Batch {
	b := NewBatch(capture.LinkEthernet, NearCopies()[:3000]...)
	b.Interfaces = append(b.Interfaces, capture.Interface{LinkType: capture.LinkRaw}, capture.Interface{LinkType: capture.LinkEthernet})
	for i := range b.Frames {
		b.Frames[i].Interface = uint32(i / 50 % 3)
	}
	return b
}

// MostlyFast returns frames most of which take the fast path.
func MostlyFast() [][]byte {
	var frames [][]byte
	for i := range 1000 {
		n := byte(i)
		typ, ip := iana.TypeIPv4, IP4(n, iana.ProtoTCP, TCP(1000+i, 80, nil))
		switch {
		case i%3 == 0:
			typ, ip = iana.TypeIPv6, IP6(n, iana.ProtoUDP, UDP(1000+i, 53, []byte("question")))
		case i%5 == 0:
			ip = IP4(n, iana.ProtoICMP, []byte("\x08\x00...."))
		}
		frame := Ether(typ, ip)
		switch {
		case i%71 == 0:
			frame = ARPFrame
		case i%7 == 0:
			frame = Ether(iana.TypeVLAN, Join(BE16(0xf000+i), BE16(typ), ip))
		case i%11 == 0:
			frame = Ether(iana.TypeQinQ, Join(BE16(i), BE16(iana.TypeVLAN), BE16(i+1), BE16(typ), ip))
		case i%13 == 0:
			frame = Ether(iana.TypeVLAN, Join(BE16(i), BE16(iana.TypeVLAN), BE16(i+1), BE16(iana.TypeVLAN), BE16(i+2), BE16(typ), ip))
		}
		frames = append(frames, frame)
	}
	return frames
}

// BenchBatch returns 512 frames of the given size, one behind the other as in a pcap
// file.
func BenchBatch(size int, ipv6 bool) *capture.Batch {
	var frames [][]byte
	for i := range 512 {
		var p []byte
		if ipv6 {
			p = IP6(byte(i), iana.ProtoUDP, UDP(1000+i, 53, make([]byte, max(size-14-40-8, 0))))
		} else {
			p = IP4(byte(i), iana.ProtoTCP, TCP(1000+i, 80, make([]byte, size-14-20-20)))
		}
		typ := iana.TypeIPv4
		if ipv6 {
			typ = iana.TypeIPv6
		}
		frames = append(frames, Ether(typ, p))
	}
	return NewBatch(capture.LinkEthernet, frames...)
}

func PerPacket(b *testing.B, packets int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*packets), "ns/packet")
}

// SmallPackets returns a pcap file of n frames of 64 bytes, or more where IPv6 and VLAN
// tags need it. A fifth is IPv6 and one in forty is tagged, in random order.
func SmallPackets(n int) []byte {
	r := rand.New(rand.NewPCG(5, 6))
	le := binary.LittleEndian
	out := Join("\xd4\xc3\xb2\xa1\x02\x00\x04\x00", make([]byte, 8), LE32(1<<16), LE32(1))
	for i := range n {
		seed := byte(r.Uint32())
		typ, ip := iana.TypeIPv4, IP4(seed, iana.ProtoTCP, TCP(1000+i%5000, 80, make([]byte, 10)))
		switch r.IntN(10) {
		case 0, 1:
			typ, ip = iana.TypeIPv6, IP6(seed, iana.ProtoTCP, TCP(1000+i%5000, 80, nil))
		case 2, 3:
			ip = IP4(seed, iana.ProtoUDP, UDP(1000+i%5000, 53, make([]byte, 22)))
		}
		data := Ether(typ, ip)
		if r.IntN(40) == 0 {
			data = Ether(iana.TypeVLAN, Join(BE16(100), BE16(typ), ip))
		}
		for _, v := range []int{i / 1e6, i % 1e6, len(data), len(data)} {
			out = le.AppendUint32(out, uint32(v))
		}
		out = append(out, data...)
	}
	return out
}

// AddCases adds the cases of link types and tunnels as seeds: a link type, a frame, and its
// length on the wire.
func AddCases(f *testing.F) {
	for _, c := range LinkCases {
		datagram := c.Ip
		if c.Ip == nil {
			datagram = Packet4
		}
		f.Add(uint32(c.Link), Join(c.Head, datagram), uint32(100))
	}
	for _, c := range TunnelCases {
		f.Add(uint32(capture.LinkRaw), c.Outer, uint32(0))
	}
}

// Twice returns a batch that has a frame two times.
func Twice(link capture.LinkType, data []byte, wireLen uint32) *capture.Batch {
	b := NewBatch(link, data, data)
	b.Frames[0].WireLen, b.Frames[1].WireLen = wireLen, wireLen
	b.Interfaces[0].Section = uint32(len(data)) & 1
	b.Sections = []capture.Section{{}, {BigEndian: true}}
	return b
}

// TunnelBatch returns the tunnels of all cases behind Ethernet headers, with and without a
// VLAN tag.
func TunnelBatch() *capture.Batch {
	var frames [][]byte
	for _, c := range TunnelCases {
		frames = append(frames, Ether(iana.TypeIPv4, c.Outer), Ether(iana.TypeVLAN, Join(BE16(1), BE16(iana.TypeIPv4), c.Outer)))
	}
	return NewBatch(capture.LinkEthernet, frames...)
}
