// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// The plain form of identities: the bytes that count are copied, field by field.

// copyOf returns what counts of frame i of b, which has h.
func (g *Identity) copyOf(b *capture.Batch, i int, h *headers.Header) message {
	start, end, tweak := h.Start, h.End, uint64(tweakL3)
	switch {
	case g.kind == Frame:
		start, end = headers.CaptureHeader(b, i), b.Frames[i].CapLen
		tweak = tweakFrame | uint64(b.Frames[i].WireLen-start-g.tagBytes(h))
	case h.Version == 0:
		tweak = tweakFrame | uint64(h.Wire-g.tagBytes(h))
	}
	src := b.Data(i)[start:end]
	v := view{h: h, base: start}
	if g.kind == Frame || h.Version == 0 {
		v = g.view(b, i, h, start)
	}
	dst := make([]byte, uint32(len(src))-v.tagEnd+v.tag)
	v.copy(dst, src)
	if g.kind == Frame || h.Version == 0 {
		v.clearLink(dst, g.ignore)
	}
	v.clearIP(dst, b.Data(i), g)
	if (g.kind == Frame || h.Version == 0) && g.ignore&MAC != 0 && v.beginsWithAddresses() {
		dst = dst[:min(uint64(len(dst)), uint64(g.limit))]
		return message{string(dst[min(len(dst), linkAddresses):]), tweakBare | uint64(uint32(tweak))}
	}
	if g.short && h.Version != 0 {
		return shorten(dst, h.Version, g)
	}
	return message{string(dst[:min(uint64(len(dst)), uint64(g.limit))]), tweak}
}

// shorten moves the first bytes of a datagram into the tweak.
func shorten(dst []byte, version uint8, g *Identity) message {
	var m digest.Message
	h := headers.Header{End: uint32(len(dst)), Version: version}
	zeroCopyDatagram(&m, dst, 0, &h, &g.layouts)
	return messageOf(dst, m)
}

// view maps offsets in a frame to offsets in its copy, which lacks the VLAN tags.
type view struct {
	h    *headers.Header
	base uint32 // offset of the frame that is copied
	// Offsets from base: the start and the end of the tags, and the ethertype that
	// announces them.
	tag, tagEnd, typ uint32
}

func (g *Identity) view(b *capture.Batch, i int, h *headers.Header, base uint32) view {
	v := view{h: h, base: base}
	if cut := g.tagBytes(h); cut > 0 {
		v.tag = uint32(h.Tag) - base
		v.tagEnd = v.tag + cut
		v.typ = headers.TypeOffset(b.Interfaces[b.Frames[i].Interface].LinkType, v.tag)
	}
	return v
}

// beginsWithAddresses reports whether the frame begins like Ethernet's.
func (v *view) beginsWithAddresses() bool {
	return v.h.Flags&headers.FlagDst != 0 && v.h.Flags&headers.FlagSrc != 0 && uint32(v.h.Dst) == v.base && uint32(v.h.Src) == v.base+6
}

// copy copies src without the tags, as far as dst has room. A tag is two bytes of control
// information and the type of the next header. So the type in the last tag replaces the type
// that announced the first one.
func (v *view) copy(dst, src []byte) {
	if v.tagEnd == 0 {
		copy(dst, src)
		return
	}
	n := copy(dst, src[:v.tag])
	copy(dst[n:], src[v.tagEnd:])
	if int(v.typ) < n {
		copy(dst[v.typ:n], src[v.tagEnd-2:v.tagEnd])
	}
}

// clear zeroes, in the copy, the n bytes at offset at of the original, as far as they
// were captured.
func (v *view) clear(dst []byte, at, n uint32) {
	first := uint64(at - v.base)
	if first >= uint64(v.tagEnd) {
		first -= uint64(v.tagEnd - v.tag)
	}
	first = min(first, uint64(len(dst)))
	clear(dst[first:min(first+uint64(n), uint64(len(dst)))])
}

// clearLink zeroes the hardware addresses if they are ignored.
func (v *view) clearLink(dst []byte, ignore Fields) {
	if ignore&MAC == 0 {
		return
	}
	if v.h.Flags&headers.FlagDst != 0 {
		v.clear(dst, uint32(v.h.Dst), 6)
	}
	if v.h.Flags&headers.FlagSrc != 0 {
		v.clear(dst, uint32(v.h.Src), 6)
	}
}

// clearIP zeroes the ignored fields of IP and of the header after it.
func (v *view) clearIP(dst, frame []byte, g *Identity) {
	if v.h.Version == 0 {
		return
	}
	first := v.h.Start - v.base
	if first >= v.tagEnd {
		first -= v.tagEnd - v.tag
	}
	g.ipMasks.apply(dst[min(first, uint32(len(dst))):], v.h.Version)
	v.clearPacket(dst, frame, g.ignore)
}

// clearPacket zeroes the ignored fields that the masks of IP do not reach.
func (v *view) clearPacket(dst, frame []byte, ignore Fields) {
	if ignore&NAT != 0 {
		at, n := uint32(12), uint32(2*4)
		if v.h.Version == 6 {
			at, n = 8, 2*16
		}
		v.clear(dst, v.h.Start+at, n)
	}
	if v.h.L4 == 0 {
		return
	}
	if ignore&NAT != 0 {
		v.clearPorts(dst, frame)
	}
	v.clearUpper(dst, frame, ignore)
}

// clearPorts zeroes the fields other than addresses that address translation changes: ports, or the
// identifier of an ICMP query (RFC 4787; RFC 5508, section 3.1).
func (v *view) clearPorts(dst, frame []byte) {
	const echoReply, echo = 0, 8
	switch {
	case iana.PortMask[v.h.Proto] != 0:
		v.clear(dst, v.h.L4, 4)
	case v.h.Proto == iana.ProtoICMP && v.h.L4 < v.h.End && (frame[v.h.L4] == echo || frame[v.h.L4] == echoReply):
		v.clear(dst, v.h.L4+4, 2)
	}
}

// clearUpper zeroes the ignored fields of the header after IP.
func (v *view) clearUpper(dst, frame []byte, ignore Fields) {
	renumbered := ignore&TCPSeq != 0 && v.h.Proto == iana.ProtoTCP
	if renumbered || ignore&(L4Checksum|NAT) != 0 {
		offset, n := checksumAt(v.h.Proto)
		v.clear(dst, v.h.L4+offset, n)
	}
	if renumbered {
		v.clearSequence(dst, frame[v.h.L4:v.h.End])
	}
}

// clearSequence zeroes the sequence and acknowledgment numbers of a TCP header, including
// those in SACK blocks (RFC 2018).
func (v *view) clearSequence(dst, tcp []byte) {
	const numbers, size, options = 4, 8, 20
	const endOfList, noOperation, sack = 0, 1, 5
	v.clear(dst, v.h.L4+numbers, size)
	if len(tcp) < options {
		return
	}
	end := min(int(tcp[12]>>4)*4, len(tcp))
	for o := options; o+2 <= end && tcp[o] != endOfList; {
		if tcp[o] == noOperation {
			o++
			continue
		}
		n := int(tcp[o+1])
		if n < 2 || o+n > end {
			return
		}
		if tcp[o] == sack {
			v.clear(dst, v.h.L4+uint32(o)+2, uint32(n)-2)
		}
		o += n
	}
}

// apply masks the start of an IP header.
func (m *ipMasks) apply(ip []byte, version uint8) {
	words := m.v4
	if version == 6 {
		words = [2]uint64{m.v6[0], ^uint64(0)}
	}
	for i := range min(len(ip), 16) {
		ip[i] &= byte(words[i/8] >> (i % 8 * 8))
	}
}
