// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// datagram says where the parts of a datagram lie in Batch.Buf.
type datagram struct {
	ip, end        uint32 // of its header; of all of it
	upper          uint32 // the header after IP, or 0
	version, proto uint8
}

// datagramOf returns the datagram that h describes, of the frame at data.
func datagramOf(h *headers.Header, data uint32) datagram {
	d := datagram{ip: data + h.Start, end: data + h.End, version: h.Version, proto: h.Proto}
	if h.L4 != 0 {
		d.upper = data + h.L4
	}
	return d
}

// above returns the bytes from the header after IP on.
func (d *datagram) above(buf []byte) []byte { return buf[d.upper:max(d.upper, d.end)] }

// isEcho reports whether a datagram is an ICMP echo or its reply.
func (d *datagram) isEcho(buf []byte) bool {
	const echoReply, echo = 0, 8
	return d.proto == iana.ProtoICMP && d.upper != 0 && d.upper < d.end && (buf[d.upper] == echo || buf[d.upper] == echoReply)
}

// eraser leaves out bits of one message: in a mask, or in a copy.
type eraser struct {
	off  uint32 // of the message in Batch.Buf; if copy has two parts of it, of the second one
	mask digest.Mask
	copy []byte
	far  bool // there is no copy, and some bits lie behind the mask
}

// drop leaves out the same bits of n bytes from offset at of Batch.Buf on, as far as they are part of
// the message.
func (e *eraser) drop(at, n uint32, bits byte) {
	for end := at + n; at != end; at++ {
		switch i := at - e.off; {
		case at < e.off:
		case e.copy != nil:
			if int(i) < len(e.copy) {
				e.copy[i] &^= bits
			}
		case i < digest.MaskSize:
			e.mask.Drop(i, bits)
		default:
			e.far = true
		}
	}
}

// dropDatagram leaves out what does not count of a datagram.
func (g *Identity) dropDatagram(e *eraser, d *datagram, buf []byte) {
	if !g.short {
		g.dropIP(e, d)
	}
	if g.ignore&NAT != 0 {
		at, n := uint32(12), uint32(2*4)
		if d.version == 6 {
			at, n = 8, 2*16
		}
		e.drop(d.ip+at, n, 0xff)
	}
	if g.ignore&IPOptions != 0 {
		dropWritten(e, d, buf)
	}
	if d.upper == 0 {
		return
	}
	if g.ignore&NAT != 0 {
		dropPorts(e, d, buf)
	}
	if g.ignore&(L4Checksum|NAT) != 0 || d.proto == iana.ProtoTCP && g.ignore.leavesSum(d.above(buf)) {
		offset, n := checksumAt(d.proto)
		e.drop(d.upper+offset, n, 0xff)
	}
	if d.proto == iana.ProtoTCP {
		g.dropTCP(e, d, buf)
	}
}

// dropIP leaves out fields of the IP header, but addresses.
func (g *Identity) dropIP(e *eraser, d *datagram) {
	words := g.ipMasks.v4[:]
	if d.version == 6 {
		words = g.ipMasks.v6[:]
	}
	for i, keep := range words {
		for b := range uint32(8) {
			if gone := ^byte(keep >> (8 * b)); gone != 0 {
				e.drop(d.ip+8*uint32(i)+b, 1, gone)
			}
		}
	}
}

// dropPorts leaves out the fields other than addresses that address translation changes: ports, or
// the identifier of an ICMP query (RFC 4787; RFC 5508, section 3.1).
func dropPorts(e *eraser, d *datagram, buf []byte) {
	switch {
	case iana.PortMask[d.proto] != 0:
		e.drop(d.upper, 4, 0xff)
	case d.isEcho(buf):
		e.drop(d.upper+4, 2, 0xff)
	}
}

func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
