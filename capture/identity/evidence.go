// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// Doubt is a packet whose identity has only a part of its bytes, because no more was captured
// or Config.Bytes says so. This part neither numbers the packet nor has a checksum over all of
// it that is wider than 16 bits. So different packets may have equal identities.
type Doubt struct {
	Number uint32 // of the frame in its run
	// Checksum says that the part has a checksum of 16 bits over the payload. Two different
	// packets of the same flow and length have equal checksums once in 2^16.
	Checksum bool
}

// ChecksumError is how often two different packets have the same checksum of 16 bits.
const ChecksumError = 1.0 / (1 << 16)

// Doubts returns the packets that are in doubt, in any order. It is valid as long as m.
func (m *Messages) Doubts() []Doubt { return m.doubts }

// doubt adds frame number i of the run if its evidence is weak.
func (m *Messages) doubt(i int, e evidence) {
	if e != conclusive {
		m.doubts = append(m.doubts, Doubt{Number: uint32(i), Checksum: e == checksummed})
	}
}

// Captured is how many bytes were captured of datagrams that were cut, from the IP header on: the
// least and the most of any, 0 if none was cut. If they differ, equal packets may have been cut in
// different places, and then have different identities.
type Captured struct{ Least, Most uint32 }

// Merge adds the datagrams that others describes.
func (c *Captured) Merge(others Captured) {
	if others.Most > 0 && (c.Most == 0 || others.Least < c.Least) {
		c.Least = others.Least
	}
	c.Most = max(c.Most, others.Most)
}

// Captured describes the datagrams that were cut; it is empty for kind Frame.
func (m *Messages) Captured() Captured { return m.captured }

// Truncated counts the packets of which bytes are missing: padding counts for kind Frame only.
func (m *Messages) Truncated() uint64 { return m.truncated }

// cut notes that n bytes of the datagram in frame f count, and that there are more.
func (g *Identity) cut(f *capture.Frame, n uint32) {
	if g.kind != Frame && f.CapLen < f.WireLen {
		g.out.captured.Merge(Captured{n, n})
	}
}

// doubtFound looks at datagrams that a kernel has found in frames, which are messages from number
// first on.
func (g *Identity) doubtFound(msgs []digest.Message, frames []capture.Frame, buf []byte, first int) {
	for i := range msgs {
		m, f := &msgs[i], &frames[i]
		if g.slow[i/64]>>(i%64)&1 != 0 {
			continue
		}
		skipped := uint32(MessageStart)
		if m.Tweak>>60 == 7 {
			skipped = truncatedStart
		} else if (m.Tweak>>60 == 6 || uint32(uint16(m.Tweak>>32)) == m.Len+MessageStart) && (g.kind != Frame || f.CapLen >= f.WireLen) {
			continue
		}
		g.cut(f, m.Len+skipped)
		at := m.Off - skipped
		ip := buf[at:][:m.Len+skipped]
		if h := (headers.Header{Version: ip[0] >> 4, End: uint32(len(ip))}); isCut(&h, ip, f) || g.kind == Frame && f.CapLen < f.WireLen {
			g.out.truncated++
		}
		g.out.doubt(first+i, g.evidence(ip, 0, wireLeft(f, at-f.Data)))
	}
}

// doubtHeaders looks at messages from number first on, of frames that h describes. It leaves out
// others, the frames without an IP header.
func (g *Identity) doubtHeaders(b *capture.Batch, from, first int, h []headers.Header, others []nonIPFrame) {
	for i := range h {
		if len(others) > 0 && int(others[0].number) == first+i {
			others = others[1:]
			continue
		}
		g.doubtHeader(b, from, first+i, &h[i])
	}
}

// doubtHeader looks at frame from+i, which h describes, and which addNonIP does not have.
func (g *Identity) doubtHeader(b *capture.Batch, from, i int, h *headers.Header) {
	d, f := b.Data(from+i), &b.Frames[from+i]
	end, limit := h.End, uint64(h.Start)+uint64(g.limit)
	if g.kind == Frame {
		limit = uint64(g.limit) + uint64(g.tagBytes(h))
	}
	whole := g.kind != Frame || f.CapLen >= f.WireLen && uint64(len(d)) <= limit
	end = uint32(min(uint64(end), limit))
	if whole && h.Version != 0 && h.WireEnd(d) <= uint64(end) {
		return // nearly every frame
	}
	if g.kind == Frame && f.CapLen < f.WireLen || isTruncated(h, b, from+i) {
		g.out.truncated++
	}
	if h.Version == 0 {
		if h.Wire > end-h.Start {
			g.out.doubt(i, inconclusive)
		}
		return
	}
	full := h.WireEnd(d)
	if full == headers.UnknownEnd {
		full = uint64(h.End)
		if int(h.End) == len(d) {
			full = max(full, uint64(f.WireLen))
		}
	}
	if full > uint64(end) || !whole {
		g.cut(f, end-min(h.Start, end))
		g.out.doubt(i, g.evidence(d[min(h.Start, end):end], int(full)-int(h.Start), wireLeft(f, h.Start)))
	}
}

// wireLeft returns how many bytes of a frame were on the wire from an offset on.
func wireLeft(f *capture.Frame, at uint32) int { return int(max(f.WireLen, f.CapLen)) - int(at) }

// evidence says how far the captured part of a packet identifies the whole.
type evidence uint8

const (
	inconclusive evidence = iota // the next packet of the flow may begin in the same way
	checksummed                  // it has a checksum of 16 bits over the payload
	conclusive                   // it numbers the packet
)

// evidence looks at the beginning of an IP datagram. length is the datagram's length if its header
// does not state it. left is how many bytes it had on the wire, with what followed it there.
func (g *Identity) evidence(ip []byte, length, left int) evidence {
	r := remnant{ignore: g.ignore, left: left, tunnels: g.tunnels}
	if !r.read(ip, length) {
		return inconclusive
	}
	e := r.evidence()
	if e == conclusive || g.kind == Inner || g.tunnels.Announces(&r.h) == 0 {
		return e
	}
	in := r.h
	if g.tunnels.Open(&in, ip, uint32(r.length)); in.Flags&headers.FlagInner == 0 || in.Version == 0 {
		return e
	}
	return max(e, evidenceOf(ip[in.Start:in.End], r.length-int(in.Start), g.tunnels))
}

// evidenceOf looks at a datagram that another datagram carries, and has left bytes for. Identities
// ignore fields of the outer datagram only.
func evidenceOf(ip []byte, left int, tunnels *headers.Tunnels) evidence {
	r := remnant{left: left, tunnels: tunnels}
	if !r.read(ip, len(ip)) {
		return inconclusive
	}
	return r.evidence()
}

// remnant is the beginning of a datagram that was truncated.
type remnant struct {
	ip     []byte
	h      headers.Header // with offsets in ip
	length int            // of all of the datagram
	left   int            // from its start to the end of what carried it

	ignore  Fields
	tunnels *headers.Tunnels
}

func (r *remnant) read(ip []byte, length int) bool {
	r.ip, r.length = ip, length
	if !r.h.ReadIP(ip) {
		return false
	}
	if end := r.h.WireEnd(ip); end != headers.UnknownEnd {
		r.length = int(end)
	}
	return true
}

func (r *remnant) evidence() evidence {
	switch {
	case r.numberedByIP():
		return conclusive
	case r.h.Flags&headers.FlagFragment != 0 || r.h.L4 == 0:
		return inconclusive
	case r.numberedAbove(), r.quoted() == conclusive:
		return conclusive
	case r.checksummed():
		return checksummed
	}
	return r.quoted()
}

// numberedByIP reports whether the IP header or any of its extensions has a number that no other
// packet of the flow has.
func (r *remnant) numberedByIP() bool {
	if r.h.Version == 4 {
		return r.identified()
	}
	for proto, o := r.ip[6], 40; iana.IsExtension[proto] && o+8 <= len(r.ip); {
		next, length := r.ip[o], 8*(1+int(r.ip[o+1]))
		switch proto {
		case iana.ProtoFragment:
			if isNumber(r.ip, o+4) || r.h.Flags&headers.FlagFragment != 0 {
				return isNumber(r.ip, o+4)
			}
			length = 8
		case iana.ProtoAH:
			if isNumber(r.ip, o+8) {
				return true
			}
			length = 8 + 4*int(r.ip[o+1])
		}
		proto, o = next, o+length
	}
	return false
}

// The bytes that identified needs behind the IP header: the numbers of TCP, and in most
// protocols the checksum.
const (
	leastTCP   = 12
	leastOther = 8
)

// identified reports whether the identification of IPv4 numbers the packet. Some senders, such as
// generators of traffic, give all packets the same identification. So some of the payload must be
// there, too. Anonymizers leave the header's checksum wrong, and network cards leave it 0. Where it is
// wrong the header may be damaged, so all lengths must be right then.
func (r *remnant) identified() bool {
	if r.ignore&IPID != 0 || r.ip[4]|r.ip[5] == 0 {
		return false
	}
	size, least := int(r.ip[0]&15)*4, leastOther
	if r.h.Proto == iana.ProtoTCP {
		least = leastTCP
	}
	if size+least > len(r.ip) {
		return false
	}
	return r.ip[10]|r.ip[11] == 0 || foldOnes(onesSum(0, r.ip[:size])) == 0xffff || r.lengthsAgree()
}

// lengthsAgree reports whether the datagram is as long as what carried it, but for padding and
// trailers of Ethernet, and a UDP datagram in it as long as it.
func (r *remnant) lengthsAgree() bool {
	const padded, trailers = 46, 10 // a check sequence, and PRP's trailer
	behind := r.left - r.length
	if behind < 0 || behind > trailers && r.left > padded+trailers {
		return false
	}
	return r.h.Flags&headers.FlagFragment != 0 || r.h.Proto != iana.ProtoUDP || r.fillsUDP(int(r.h.L4))
}

// fillsUDP reports whether the UDP datagram at offset o is as long as its header says.
func (r *remnant) fillsUDP(o int) bool {
	return o+8 <= len(r.ip) && int(binary.BigEndian.Uint16(r.ip[o+4:])) == r.length-o
}

// isNumber reports whether all of a number of 32 bits was captured, and is not 0.
func isNumber(d []byte, at int) bool {
	return at+4 <= len(d) && binary.BigEndian.Uint32(d[at:]) != 0
}

// numberedAbove reports whether the header above IP has a number that no other packet of the flow has.
func (r *remnant) numberedAbove() bool {
	o := int(r.h.L4)
	switch r.h.Proto {
	case iana.ProtoTCP:
		return r.ignore&TCPSeq == 0 && o+12 <= len(r.ip) && r.hasPayload(o)
	case iana.ProtoESP:
		return isNumber(r.ip, o+4) // RFC 4303, section 2
	case iana.ProtoAH:
		return isNumber(r.ip, o+8) // RFC 4302, section 2
	case iana.ProtoSCTP:
		// 32 bits over the whole packet (RFC 9260, section 3.1), 0 if left to the card.
		return r.ignore&(L4Checksum|NAT) == 0 && isNumber(r.ip, o+8)
	case iana.ProtoGRE:
		return r.isSequenced(o)
	}
	return false
}

// hasPayload reports whether the TCP segment at offset o surely carries payload: a segment
// without payload has the numbers of the next.
func (r *remnant) hasPayload(o int) bool {
	const least, most = 20, 60 // of a header
	size := most
	if o+13 <= len(r.ip) {
		size = max(int(r.ip[o+12]>>4)*4, least)
	}
	return r.length > o+size
}

// isSequenced reports whether the GRE header at offset o has a sequence number (RFC 2890).
func (r *remnant) isSequenced(o int) bool {
	const checksum, key, sequence = 0x80, 0x20, 0x10
	if o+4 > len(r.ip) || r.ip[o]&sequence == 0 {
		return false
	}
	at := o + 4
	for _, field := range [...]byte{checksum, key} {
		if r.ip[o]&field != 0 {
			at += 4
		}
	}
	return at+4 <= len(r.ip)
}

// checksummed reports whether the header above IP has a checksum over the payload. A checksum
// that was left to a network card covers nothing, and a UDP checksum covers as many bytes as UDP's
// own length says. A tunnel's checksum is no evidence either: its payload has checksums of its own,
// so packets differ in it only by their addresses and lengths.
func (r *remnant) checksummed() bool {
	switch r.h.Proto {
	case iana.ProtoTCP:
		if r.ignore.leavesSum(r.ip[r.h.L4:]) {
			return false
		}
	case iana.ProtoUDP:
		if r.tunnels.Announces(&r.h) != 0 || !r.fillsUDP(int(r.h.L4)) {
			return false
		}
	case iana.ProtoICMP, iana.ProtoICMPv6:
	default:
		return false
	}
	o := int(r.h.L4)
	offset, size := checksumAt(r.h.Proto)
	at := o + int(offset)
	if r.ignore&(L4Checksum|NAT) != 0 || at+int(size) > len(r.ip) {
		return false
	}
	is := binary.BigEndian.Uint16(r.ip[at:])
	return is != 0 && (r.h.Proto == iana.ProtoICMP || is != r.pseudo(r.length-o) && is != r.pseudo(0))
}

// quoted returns the evidence of the packet that an ICMP error holds.
func (r *remnant) quoted() evidence {
	const header = 8 // RFC 792; RFC 4443, section 3
	o := int(r.h.L4)
	if !r.isError(o) || o+header > len(r.ip) {
		return inconclusive
	}
	return evidenceOf(r.ip[o+header:], 0, r.tunnels) // errors quote as much as they like
}

// isError reports whether the ICMP message at offset o is an error, which holds the packet
// that it is about.
func (r *remnant) isError(o int) bool {
	switch {
	case o >= len(r.ip):
		return false
	case r.h.Proto == iana.ProtoICMPv6:
		return r.ip[o] < 128
	case r.h.Proto == iana.ProtoICMP:
		return slices.Contains([]byte{3, 4, 5, 11, 12}, r.ip[o]) // RFC 792
	}
	return false
}

// pseudo returns the sum of the pseudo header, which a sender leaves in the place of a checksum that
// its network card is to fill in. Senders leave the length out where the card also cuts the segment.
func (r *remnant) pseudo(length int) uint16 {
	return bits.ReverseBytes16(foldOnes(pseudoSum(&r.h, r.ip, uint32(max(length, 0)), 0)))
}
