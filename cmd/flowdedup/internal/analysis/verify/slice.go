// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// Slice says how much an output has of each packet. The zero value is all.
type Slice struct {
	// Bytes is how many bytes of a packet were kept. With Payload they are counted from the
	// end of the innermost TCP, UDP, SCTP, DCCP or ICMP header, or of the IP header if
	// none of these follows. A frame without IP was kept whole then.
	Bytes   uint32
	Payload bool
}

// cutter knows how long the packets of an output are.
type cutter struct {
	slice   Slice
	decoder *headers.Decoder
	headers [1]headers.Header
}

// newCutter returns nil for packets that were not cut.
func newCutter(s Slice, tunnels *headers.Tunnels) *cutter {
	if s == (Slice{}) {
		return nil
	}
	return &cutter{slice: s, decoder: headers.NewDecoder(headers.DecoderConfig{Inner: true, Tunnels: tunnels})}
}

// left returns how many captured bytes of packet i of b an output has.
func (c *cutter) left(b *capture.Batch, i int) int {
	whole := len(b.Data(i))
	if c == nil || isSimple(b, i) {
		return whole
	}
	head := 0
	if c.slice.Payload {
		c.decoder.Decode(c.headers[:], b, i)
		h := &c.headers[0]
		if h.Version == 0 {
			return whole
		}
		head = headOf(h, b.Data(i))
	}
	return min(whole, head+int(c.slice.Bytes))
}

// isSimple reports whether packet i is a simple packet block, which cannot say that it was
// cut.
func isSimple(b *capture.Batch, i int) bool {
	s, r := sectionOf(b, i), b.Record(i)
	if s.Format != capture.FormatPcapNG || len(r) < 4 {
		return false
	}
	kind := binary.LittleEndian.Uint32(r)
	if s.BigEndian {
		kind = binary.BigEndian.Uint32(r)
	}
	return kind == capture.BlockSimplePacket
}

// headOf returns how many bytes of a packet are before its payload.
func headOf(h *headers.Header, d []byte) int {
	at := func(offset int, otherwise byte) byte {
		if offset < len(d) {
			return d[offset]
		}
		return otherwise
	}
	ip, l4 := int(h.Start), int(h.L4)
	if l4 == 0 {
		switch {
		case h.Version == 4:
			return ip + max(4*int(at(ip, 0x45)&15), 20)
		case h.Flags&headers.FlagFragment != 0:
			return ip + 40 + 8
		}
		return ip + 40
	}
	switch h.Proto {
	case 6: // TCP
		return l4 + max(4*int(at(l4+12, 0x50)>>4), 20)
	case 17, 136, 1, 58: // UDP, UDP-Lite, ICMP and ICMPv6
		return l4 + 8
	case 132: // SCTP
		return l4 + 12
	case 33: // DCCP
		return l4 + max(4*int(at(l4+4, 3)), 12)
	}
	return l4
}
