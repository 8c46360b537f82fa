// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// nearCopies returns frames that differ in one bit, in a few bytes or in their length,
// and exact copies of some.
func nearCopies() [][]byte {
	r := rand.New(rand.NewPCG(7, 8))
	long6 := ip6(1, protoUDP, udp(1000, 53, make([]byte, 40)))
	var out [][]byte
	for _, seed := range [][]byte{
		ether(typeIPv4, packet4), ether(typeIPv6, packet6), ether(typeIPv6, long6), arpFrame,
		ether(typeVLAN, join(be16(100), be16(typeIPv6), packet6)),
		ether(typeIPv4, udp4(portVXLAN, join("\x08\x00\x00\x00\x00\x00\x64\x00", ether(typeIPv6, packet6)))),
		ether(typeIPv4, ip4(1, protoIPv6, packet6)),
	} {
		for i := range seed {
			out = append(out, seed[:i])
			for bit := range 8 {
				out = append(out, with(seed, i, string([]byte{seed[i] ^ 1<<bit})))
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

// mixedLinks returns frames of interfaces with several link types, in runs.
func mixedLinks() *capture.Batch {
	b := newBatch(capture.LinkEthernet, nearCopies()[:3000]...)
	b.Interfaces = append(b.Interfaces, capture.Interface{LinkType: capture.LinkRaw}, capture.Interface{LinkType: capture.LinkEthernet})
	for i := range b.Frames {
		b.Frames[i].Interface = uint32(i / 50 % 3)
	}
	return b
}

// mostlyFast returns frames most of which take the fast path.
func mostlyFast() [][]byte {
	var frames [][]byte
	for i := range 1000 {
		n := byte(i)
		typ, ip := typeIPv4, ip4(n, protoTCP, tcp(1000+i, 80, nil))
		switch {
		case i%3 == 0:
			typ, ip = typeIPv6, ip6(n, protoUDP, udp(1000+i, 53, []byte("question")))
		case i%5 == 0:
			ip = ip4(n, protoICMP, []byte("\x08\x00...."))
		}
		frame := ether(typ, ip)
		switch {
		case i%71 == 0:
			frame = arpFrame
		case i%7 == 0:
			frame = ether(typeVLAN, join(be16(0xf000+i), be16(typ), ip))
		case i%11 == 0:
			frame = ether(typeQinQ, join(be16(i), be16(typeVLAN), be16(i+1), be16(typ), ip))
		case i%13 == 0:
			frame = ether(typeVLAN, join(be16(i), be16(typeVLAN), be16(i+1), be16(typeVLAN), be16(i+2), be16(typ), ip))
		}
		frames = append(frames, frame)
	}
	return frames
}

// benchBatch returns 512 frames of the given size, one behind the other as in a pcap
// file.
func benchBatch(size int, ipv6 bool) *capture.Batch {
	var frames [][]byte
	for i := range 512 {
		var p []byte
		if ipv6 {
			p = ip6(byte(i), protoUDP, udp(1000+i, 53, make([]byte, max(size-14-40-8, 0))))
		} else {
			p = ip4(byte(i), protoTCP, tcp(1000+i, 80, make([]byte, size-14-20-20)))
		}
		typ := typeIPv4
		if ipv6 {
			typ = typeIPv6
		}
		frames = append(frames, ether(typ, p))
	}
	return newBatch(capture.LinkEthernet, frames...)
}

func perPacket(b *testing.B, packets int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*packets), "ns/packet")
}

// smallPackets returns a pcap file of n frames of 64 bytes, or more where IPv6 and VLAN
// tags need it. A fifth is IPv6 and one in forty is tagged, in random order.
func smallPackets(n int) []byte {
	r := rand.New(rand.NewPCG(5, 6))
	le := binary.LittleEndian
	out := join("\xd4\xc3\xb2\xa1\x02\x00\x04\x00", make([]byte, 8), le32(1<<16), le32(1))
	for i := range n {
		seed := byte(r.Uint32())
		typ, ip := typeIPv4, ip4(seed, protoTCP, tcp(1000+i%5000, 80, make([]byte, 10)))
		switch r.IntN(10) {
		case 0, 1:
			typ, ip = typeIPv6, ip6(seed, protoTCP, tcp(1000+i%5000, 80, nil))
		case 2, 3:
			ip = ip4(seed, protoUDP, udp(1000+i%5000, 53, make([]byte, 22)))
		}
		data := ether(typ, ip)
		if r.IntN(40) == 0 {
			data = ether(typeVLAN, join(be16(100), be16(typ), ip))
		}
		for _, v := range []int{i / 1e6, i % 1e6, len(data), len(data)} {
			out = le.AppendUint32(out, uint32(v))
		}
		out = append(out, data...)
	}
	return out
}

// addCases adds the cases of link types and tunnels as seeds: a link type, a frame, and its
// length on the wire.
func addCases(f *testing.F) {
	for _, c := range linkCases {
		datagram := c.ip
		if c.ip == nil {
			datagram = packet4
		}
		f.Add(uint32(c.link), join(c.head, datagram), uint32(100))
	}
	for _, c := range tunnelCases {
		f.Add(uint32(capture.LinkRaw), c.outer, uint32(0))
	}
}

// twice returns a batch that has a frame two times.
func twice(link capture.LinkType, data []byte, wireLen uint32) *capture.Batch {
	b := newBatch(link, data, data)
	b.Frames[0].WireLen, b.Frames[1].WireLen = wireLen, wireLen
	b.Interfaces[0].Section = uint32(len(data)) & 1
	b.Sections = []capture.Section{{}, {BigEndian: true}}
	return b
}

// tunnelBatch returns the tunnels of all cases behind Ethernet headers, with and without a
// VLAN tag.
func tunnelBatch() *capture.Batch {
	var frames [][]byte
	for _, c := range tunnelCases {
		frames = append(frames, ether(typeIPv4, c.outer), ether(typeVLAN, join(be16(1), be16(typeIPv4), c.outer)))
	}
	return newBatch(capture.LinkEthernet, frames...)
}
