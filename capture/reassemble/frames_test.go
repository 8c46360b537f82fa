// SPDX-License-Identifier: Apache-2.0

package reassemble

import (
	"encoding/binary"
	"io"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/fragments"
)

// tunnelled is a datagram with a tunnel, over IPv4 or IPv6.
type tunnelled struct {
	version int
	proto   byte
	host    byte // the source
	id      uint32
	payload []byte // behind the IP header
}

// packet returns the frame of an inner packet of n bytes or more.
func packet(rng *rand.Rand, n int) []byte {
	p := make([]byte, max(n, 64))
	for i := range p {
		p[i] = byte(rng.Uint32())
	}
	copy(p[12:], "\x08\x00\x45\x00")
	binary.BigEndian.PutUint16(p[16:], uint16(len(p)-14))
	copy(p[20:], "\x00\x00\x40\x06\x00\x00")
	binary.BigEndian.PutUint16(p[24:], ^fragments.Sum(p[14:34]))
	return p
}

// vxlan, over UDP, and gre return a datagram with a frame.
func vxlan(version int, host byte, id uint32, frame []byte) tunnelled {
	p := binary.BigEndian.AppendUint32(nil, 9999<<16|4789)
	p = binary.BigEndian.AppendUint32(p, uint32(16+len(frame))<<16)
	p = append(p, 8, 0, 0, 0, 0, 0, 7, 0)
	return tunnelled{version, 17, host, id, append(p, frame...)}
}

func gre(version int, host byte, id uint32, frame []byte) tunnelled {
	return tunnelled{version, 47, host, id, append([]byte{0, 0, 0x65, 0x58}, frame...)}
}

// whole returns the frame with the whole datagram.
func (d *tunnelled) whole() []byte { return d.fragment(0, len(d.payload)) }

// fragment returns the frame with bytes from to to-1 of the datagram.
func (d *tunnelled) fragment(from, to int) []byte {
	more, n := uint16(0), to-from
	if to < len(d.payload) {
		more = 1
	}
	p := []byte("\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02")
	if d.version == 6 {
		p = append(p, 0x86, 0xdd, 0x60, 0, 0, 0)
		if n < len(d.payload) {
			p = binary.BigEndian.AppendUint16(p, uint16(n+8))
			p = append(p, 44, 64)
		} else {
			p = binary.BigEndian.AppendUint16(p, uint16(n))
			p = append(p, d.proto, 64)
		}
		p = append(p, 0x20, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, d.host, 0x20, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 99)
		if n < len(d.payload) {
			p = append(p, d.proto, 0)
			p = binary.BigEndian.AppendUint16(p, uint16(from)|more)
			p = binary.BigEndian.AppendUint32(p, d.id)
		}
		return append(p, d.payload[from:to]...)
	}
	p = append(p, 8, 0, 0x45, 0)
	p = binary.BigEndian.AppendUint16(p, uint16(20+n))
	p = binary.BigEndian.AppendUint16(p, uint16(d.id))
	p = binary.BigEndian.AppendUint16(p, more<<13|uint16(from/8))
	p = append(p, 64, d.proto, 0, 0, 10, 0, 0, d.host, 10, 0, 0, 99)
	binary.BigEndian.PutUint16(p[24:], ^fragments.Sum(p[14:34]))
	return append(p, d.payload[from:to]...)
}

// fragments returns all fragments over an MTU.
func (d *tunnelled) fragments(mtu int) (all [][]byte) {
	step := (mtu - 20) &^ 7
	if d.version == 6 {
		step = (mtu - 48) &^ 7
	}
	for from := 0; from < len(d.payload); from += step {
		all = append(all, d.fragment(from, min(from+step, len(d.payload))))
	}
	return all
}

// seen is a packet of a stream.
type seen struct {
	time int64
	data string
}

// stream is a source of packets, in batches of a size.
type stream struct {
	capture.Source
	frames []seen
	wire   uint32 // of truncated packets, or 0
	size   int
	tables capture.Batch
}

func (s *stream) Next(b *capture.Batch) error {
	b.Reset()
	if len(s.tables.Interfaces) == 0 {
		b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet, Name: "a"})
		s.tables = *b
	}
	b.Interfaces, b.Sections = s.tables.Interfaces, s.tables.Sections
	if len(s.frames) == 0 && len(b.Blocks) == 0 {
		b.Reset()
		return io.EOF
	}
	n := min(s.size, len(s.frames))
	for _, f := range s.frames[:n] {
		b.Append(capture.Frame{Time: f.time, WireLen: s.wire}, []byte(f.data))
	}
	s.frames = s.frames[n:]
	return nil
}

// at gives packets their times.
func at(packets ...[]byte) (all []seen) {
	for i, p := range packets {
		all = append(all, seen{int64(i+1) * 1000, string(p)})
	}
	return all
}
