// SPDX-License-Identifier: Apache-2.0

// Package frametest builds frames for tests, byte by byte, and lists cases of link types and
// tunnels. It does not import the packages that it tests.
package frametest

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// NewBatch returns a batch of frames of one link type.
func NewBatch(link capture.LinkType, frames ...[]byte) *capture.Batch {
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

// Decode decodes all frames of a batch. H is headers.Header.
func Decode[H any](d interface {
	Decode(h []H, b *capture.Batch, from int)
}, b *capture.Batch) []H {
	h := make([]H, len(b.Frames))
	d.Decode(h, b, 0)
	return h
}

func BE16(v int) []byte { return binary.BigEndian.AppendUint16(nil, uint16(v)) }

func BE32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }

func LE16(v int) []byte { return binary.LittleEndian.AppendUint16(nil, uint16(v)) }

func LE32(v int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(v)) }

// Join concatenates; strings stand for their bytes.
func Join(parts ...any) []byte {
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

// IP4 is an IPv4 packet from 10.0.0.n to 10.0.1.n.
func IP4(n byte, proto int, payload []byte) []byte {
	return Summed(Join("\x45\x00", BE16(20+len(payload)), BE16(0x1200+int(n)), "\x00\x00\x40", string([]byte{byte(proto)}), "\x00\x00",
		[]byte{10, 0, 0, n, 10, 0, 1, n}, payload))
}

// Summed sets the checksum of an IPv4 header (RFC 791), word by word.
func Summed(ip []byte) []byte {
	sum := 0
	for o := 0; o < int(ip[0]&15)*4; o += 2 {
		if o != 10 {
			sum += int(ip[o])<<8 | int(ip[o+1])
		}
	}
	sum = sum%0xffff ^ 0xffff
	copy(ip[10:], BE16(sum))
	return ip
}

// IP6 is an IPv6 packet from 2001:db8::n to 2001:db8:1::n.
func IP6(n byte, next int, payload []byte) []byte {
	prefix := []byte{0x20, 0x01, 0x0d, 0xb8}
	return Join("\x60\x00\x00\x00", BE16(len(payload)), []byte{byte(next), 64},
		prefix, make([]byte, 11), []byte{n}, prefix, "\x00\x01", make([]byte, 9), []byte{n}, payload)
}

func UDP(src, dst int, payload []byte) []byte {
	return Join(BE16(src), BE16(dst), BE16(8+len(payload)), "\x5a\x5a", payload)
}

func TCP(src, dst int, payload []byte) []byte {
	return Join(BE16(src), BE16(dst), BE32(1), BE32(2), "\x50\x10\x20\x00\x77\x88\x00\x00", payload)
}

// MAC is an address of its own for each n.
func MAC(n byte) []byte { return []byte{2, 0, 0, 0, 0, n} }

// Ether is a frame from station 2 to station 1.
func Ether(typ int, payload []byte) []byte { return Join(MAC(1), MAC(2), BE16(typ), payload) }

// Snap is an 802.2 header that announces an ethertype.
func Snap(typ int, payload []byte) []byte {
	return Join("\xaa\xaa\x03\x00\x00\x00", BE16(typ), payload)
}

// Packet4 and packet6 are the datagrams that most tests wrap.
var (
	Packet4 = IP4(1, iana.ProtoUDP, UDP(1000, 53, []byte("question")))
	Packet6 = IP6(1, iana.ProtoTCP, TCP(1000, 80, []byte("request")))
)
