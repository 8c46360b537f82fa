// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"slices"

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
// that announced the first tag.
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
	if ignore&IPOptions != 0 {
		v.clearWritten(dst, frame[v.h.Start:v.h.End])
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
	if ignore&(L4Checksum|NAT) != 0 {
		offset, n := checksumAt(v.h.Proto)
		v.clear(dst, v.h.L4+offset, n)
	}
	if v.h.Proto != iana.ProtoTCP {
		return
	}
	tcp := frame[v.h.L4:max(v.h.L4, v.h.End)]
	if ignore&TCPSeq != 0 {
		v.clear(dst, v.h.L4+16, 2)
		v.clearSequence(dst, tcp)
	}
	if opens := len(tcp) > 13 && tcp[13]&2 != 0; ignore&MSS != 0 && opens {
		v.clear(dst, v.h.L4+16, 2)
		v.clearOptions(dst, tcp, 2)
	}
	if ignore&TCPHeader != 0 {
		size := uint32(20)
		if len(tcp) > 20 {
			size = max(size, uint32(min(int(tcp[12]>>4)*4, len(tcp))))
		}
		v.clear(dst, v.h.L4+14, size-14)
		v.keep(dst, v.h.L4+12, 0xf0)
		v.keep(dst, v.h.L4+13, 0x1f)
	}
}

// keep keeps some bits of a byte at an offset of the original.
func (v *view) keep(dst []byte, at uint32, bits byte) {
	first := at - v.base
	if first >= v.tagEnd {
		first -= v.tagEnd - v.tag
	}
	if int(first) < len(dst) {
		dst[first] &= bits
	}
}

// clearWritten zeroes what routers write into options of a datagram.
func (v *view) clearWritten(dst, ip []byte) {
	if v.h.Version == 4 {
		for o := 20; o+1 < min(int(ip[0]&15)*4, len(ip)) && ip[o] != 0; {
			n := max(int(ip[o+1]), 2)
			if ip[o] == 1 {
				n = 1
			} else if ip[o+1] < 2 || o+n > min(int(ip[0]&15)*4, len(ip)) {
				return
			}
			if slices.Contains([]byte{7, 68, 82, 131, 137}, ip[o]) {
				v.clear(dst, v.h.Start+uint32(o)+2, uint32(n)-2)
			}
			o += n
		}
		return
	}
	at, next := 40, ip[6]
	for slices.Contains([]byte{0, 43, 60}, next) && at+8 <= len(ip) {
		size := min(8+8*int(ip[at+1]), len(ip)-at)
		if next == 43 && ip[at+2] == 4 {
			v.clear(dst, v.h.Start+uint32(at)+3, 1)
		}
		for o := 2; next != 43 && o+1 < size; o++ {
			if ip[at+o] == 0 {
				continue
			}
			n := int(ip[at+o+1])
			if o+2+n > size {
				break
			}
			if ip[at+o]>>5&1 == 1 {
				v.clear(dst, v.h.Start+uint32(at+o)+2, uint32(n))
			}
			o += 1 + n
		}
		next, at = ip[at], at+size
	}
}

// clearSequence zeroes the sequence and acknowledgment numbers of a TCP header, including
// those in SACK blocks (RFC 2018).
func (v *view) clearSequence(dst, tcp []byte) {
	const numbers, size, sack = 4, 8, 5
	v.clear(dst, v.h.L4+numbers, size)
	v.clearOptions(dst, tcp, sack)
}

// clearOptions zeroes the content of TCP options of a kind.
func (v *view) clearOptions(dst, tcp []byte, kind byte) {
	const options, endOfList, noOperation = 20, 0, 1
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
		if tcp[o] == kind {
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
