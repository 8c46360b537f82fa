// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture"
)

// newBatch returns a batch of frames of one link type.
func newBatch(link capture.LinkType, frames ...[]byte) *capture.Batch {
	b := &capture.Batch{
		Interfaces: []capture.Interface{{LinkType: link}},
		Sections:   []capture.Section{{}},
	}
	for _, data := range frames {
		at := uint32(len(b.Buf))
		n := uint32(len(data))
		b.Buf = append(b.Buf, data...)
		b.Frames = append(b.Frames, capture.Frame{Data: at, CapLen: n, WireLen: n, Record: at, RecordLen: n})
	}
	return b
}

func be16(v int) []byte { return binary.BigEndian.AppendUint16(nil, uint16(v)) }

func be32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }

func le16(v int) []byte { return binary.LittleEndian.AppendUint16(nil, uint16(v)) }

func le32(v int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(v)) }

// join concatenates; strings stand for their bytes.
func join(parts ...any) []byte {
	var out []byte
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			out = append(out, p...)
		case []byte:
			out = append(out, p...)
		}
	}
	return out
}

// ip4 is an IPv4 packet from 10.0.0.n to 10.0.1.n.
func ip4(n byte, proto int, payload []byte) []byte {
	return summed(join("\x45\x00", be16(20+len(payload)), be16(0x1200+int(n)), "\x00\x00\x40", string([]byte{byte(proto)}), "\x00\x00",
		[]byte{10, 0, 0, n, 10, 0, 1, n}, payload))
}

// summed sets the checksum of an IPv4 header (RFC 791), word by word.
func summed(ip []byte) []byte {
	sum := 0
	for o := 0; o < int(ip[0]&15)*4; o += 2 {
		if o != 10 {
			sum += int(ip[o])<<8 | int(ip[o+1])
		}
	}
	sum = sum%0xffff ^ 0xffff
	copy(ip[10:], be16(sum))
	return ip
}

// ip6 is an IPv6 packet from 2001:db8::n to 2001:db8:1::n.
func ip6(n byte, next int, payload []byte) []byte {
	prefix := []byte{0x20, 0x01, 0x0d, 0xb8}
	return join("\x60\x00\x00\x00", be16(len(payload)), []byte{byte(next), 64},
		prefix, make([]byte, 11), []byte{n}, prefix, "\x00\x01", make([]byte, 9), []byte{n}, payload)
}

func udp(src, dst int, payload []byte) []byte {
	return join(be16(src), be16(dst), be16(8+len(payload)), "\x5a\x5a", payload)
}

func tcp(src, dst int, payload []byte) []byte {
	return join(be16(src), be16(dst), be32(1), be32(2), "\x50\x10\x20\x00\x77\x88\x00\x00", payload)
}

// mac is an address of its own for each n.
func mac(n byte) []byte { return []byte{2, 0, 0, 0, 0, n} }

// ether is a frame from station 2 to station 1.
func ether(typ int, payload []byte) []byte { return join(mac(1), mac(2), be16(typ), payload) }

// snap is an 802.2 header that announces an ethertype.
func snap(typ int, payload []byte) []byte {
	return join("\xaa\xaa\x03\x00\x00\x00", be16(typ), payload)
}

// packet4 and packet6 are the datagrams that most tests wrap.
var (
	packet4 = ip4(1, protoUDP, udp(1000, 53, []byte("question")))
	packet6 = ip6(1, protoTCP, tcp(1000, 80, []byte("request")))
)
