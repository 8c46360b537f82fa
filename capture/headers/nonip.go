// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// NonIPParts locates the parts of a frame without an IP header, whether a tunnel carries it
// or not. Header.Start and Header.End delimit the frame. All offsets are in bytes from
// Header.Start, and every part lies between Header.Start and Header.End. Padding, a frame
// check sequence, and the trailers of switches and of PRP belong to no part.
type NonIPParts struct {
	// Typed reports that the frame has known addresses, an ethertype and a payload. Without
	// it the payload is the whole frame that was on the wire or in the air, behind the
	// header of the capture.
	Typed bool
	Type  uint16 // ethertype; 0 for 802.2, and unless Typed
	// Dst and Src are the offsets of the innermost hardware addresses, of 6 bytes each; -1
	// for an address that the frame lacks. Without Typed it has both or lacks both.
	Dst, Src int
	// Payload is the offset of the payload. Size bytes of it were captured; on the wire it
	// has Wire bytes. Neither counts the gap.
	Payload, Size, Wire uint32
	// The gap is padding within the payload: GapLen bytes, Gap bytes behind its start.
	Gap, GapLen uint32
}

// Read locates the parts of frame i of b, which h describes without an IP header. It returns
// false if the frame has neither known addresses and a payload nor a header of the capture
// before it: such frames can only be compared as a whole. Read takes time linear in the
// length of the frame. It panics if b has no frame i.
func (p *NonIPParts) Read(b *capture.Batch, i int, h *Header) bool {
	var header Header
	if h.Flags&FlagInner == 0 {
		w := readFrame(&header, b, i, nil)
		return p.walked(&w, b, i, h)
	}
	w := walk{d: b.Data(i)[h.Start:h.End], end: h.Wire, h: &header, frame: -1}
	w.run(atEther)
	return p.walked(&w, b, i, h)
}

// walked is Read after w has walked the frame that h describes.
func (p *NonIPParts) walked(w *walk, b *capture.Batch, i int, h *Header) bool {
	n := &w.nonIP
	typed := n.known && n.body != 0 && n.body <= len(w.d)
	if !typed && (!n.behind || int64(n.start) > int64(len(w.d))) {
		return false
	}
	if n.fcs == 0 && h.Flags&FlagInner == 0 {
		n.fcs = uint8(b.FCSLen(i))
	}
	if n.fcs == 0 && (n.mayHaveFCS || typed && h.Flags&FlagInner == 0 && w.mayEndInFCS()) {
		n.fcs = checkSequence(b.Data(i), int(n.start), h.Wire)
	}
	end := max(int64(h.Wire), int64(len(w.d)))
	if !typed {
		*p = w.carriedFrame(end)
		return true
	}
	payload, wire := w.payload(end)
	*p = NonIPParts{
		Typed: true, Type: w.typ, Dst: n.dst, Src: n.src, Payload: uint32(n.body), Size: uint32(len(payload)), Wire: uint32(wire),
	}
	return true
}

// mayEndInFCS reports whether an Ethernet frame may have a check sequence that the capture does not
// mention, where nothing else states the end of its payload.
func (w *walk) mayEndInFCS() bool {
	stated := w.nonIP.exact && w.nonIP.end > 0 || statedSize(w.typ, w.d[w.nonIP.body:]) > 0
	return w.link == capture.LinkEthernet && !stated
}

// carriedFrame locates the frame that was on the wire, where it ends at end.
func (w *walk) carriedFrame(end int64) NonIPParts {
	n := &w.nonIP
	end = max(end-int64(n.fcs), int64(n.start))
	data := w.d[n.start:min(end, int64(len(w.d)))]
	p := NonIPParts{Dst: none, Src: none, Payload: n.start, Size: uint32(len(data)), Wire: uint32(end) - n.start}
	if gapEnd := int(n.gap) + int(n.gapLen); n.gapLen > 0 && gapEnd <= len(data) {
		p.Gap, p.GapLen = uint32(n.gap), uint32(n.gapLen)
		p.Size -= p.GapLen
		p.Wire -= p.GapLen
	}
	if n.known && min(n.dst, n.src) >= int(n.start) {
		p.Dst, p.Src = n.dst, n.src
	}
	return p
}

// minPayload is the length up to which senders pad payloads. Without its check sequence,
// a frame has at least 60 bytes, or 64 with a VLAN tag (IEEE 802.3, 3.2.8).
const minPayload = 46

// payload returns the captured bytes of the payload and its length on the wire, if the
// frame ends at the given offset.
func (w *walk) payload(end int64) (payload []byte, wire int64) {
	p := &w.nonIP
	end -= int64(p.fcs) + int64(p.trailer)
	if p.end > 0 && int64(p.end) <= end {
		end = int64(p.end)
	} else {
		p.exact = false // the length field states more than there is
	}
	if n := statedSize(w.typ, w.d[p.body:]); n > 0 && int64(p.body+n) <= end {
		end, p.exact = int64(p.body+n), true
	}
	wire = max(end-int64(p.body), 0)
	payload = w.d[p.body:]
	if int64(len(payload)) < wire {
		return payload, wire // truncated: its end is unknown
	}
	payload = payload[:wire]
	if !p.exact {
		payload = withoutPadding(withoutTrailer(payload))
	}
	return payload, int64(len(payload))
}

// withoutTrailer removes PRP's trailer from a payload.
func withoutTrailer(payload []byte) []byte {
	if lan, _ := trailerOf(payload); lan == 0 {
		return payload
	}
	return payload[:len(payload)-trailerLen]
}

// withoutPadding removes the zeros at the end of a payload that may be padded. Some of them
// may be the sender's own: no station behind a switch can distinguish them.
func withoutPadding(payload []byte) []byte {
	if len(payload) > minPayload {
		return payload
	}
	n := len(payload)
	for n > 0 && payload[n-1] == 0 {
		n--
	}
	return payload[:n]
}

// nonIP is the record of a walk from which NonIPParts follows. Addresses,
// ethertype and payload are of the innermost frame that the walk has reached. Offsets are
// offsets of the walk.
type nonIP struct {
	dst, src int // offsets of the addresses, or none
	body     int // start of the payload that walk.typ announces; 0 if there is none
	end      int // upper bound of its end; 0 if unknown
	// start is where the frame begins that was on the wire, if behind is set. gapLen bytes behind
	// start+gap are not part of that frame.
	start       uint32
	gap, gapLen uint8
	behind      bool
	fcs         uint8 // bytes of frame check sequence at the end of the frame
	mayHaveFCS  bool  // a sequence of four bytes may be at the end of a frame that is not of Ethernet
	known       bool  // whether the addresses are known, or known to be absent
	exact       bool  // the end comes from a length field
	trailer     byte  // bytes before the check sequence that are not of the payload
}

// none is the offset of an address that a link header does not have.
const none = -1

// addresses records where addresses lie, counted from the offset of the walk; negative
// means none.
func (p *nonIP) addresses(w *walk, dst, src int) {
	p.dst, p.src, p.exact = none, none, false
	if dst >= 0 {
		p.dst = w.o + dst
	}
	if src >= 0 {
		p.src = w.o + src
	}
	p.known = max(p.dst, p.src)+6 <= len(w.d)
}

// limit records that the payload ends at end or before.
func (p *nonIP) limit(end int) {
	if p.end == 0 || end < p.end {
		p.end = end
	}
}

// sized records that the payload begins at body and has the given length (IEEE 802.3,
// 3.2.6). It ignores a length without room for an 802.2 header.
func (p *nonIP) sized(body, length int) {
	if length >= 3 {
		p.limit(body + length)
		p.exact = true
	}
}

// statedSize returns the length that the header of a protocol states for the payload of a
// frame; 0 for other ethertypes, and for an impossible length. Bytes behind it are padding, or
// the trailer of a switch.
func statedSize(typ uint16, payload []byte) int {
	switch typ {
	case iana.TypeARP, iana.TypeRARP:
		return arpSize(payload)
	case iana.TypeGOOSE, iana.TypeGSE, iana.TypeSamples: // IEC 61850-8-1, annex C; IEC 61850-9-2, annex A
		return sizeAt(payload, 8)
	case iana.TypePTP: // IEEE 1588, 13.3
		return sizeAt(payload, 34)
	case iana.TypeLLDP:
		return lldpSize(payload)
	}
	return 0
}

// arpSize is statedSize for ARP (RFC 826).
func arpSize(payload []byte) int {
	const header = 8
	if len(payload) < header {
		return 0
	}
	return header + 2*(int(payload[4])+int(payload[5]))
}

// sizeAt is statedSize for headers of the given length whose second word of 16 bits has the
// length of all.
func sizeAt(payload []byte, header int) int {
	if len(payload) < 4 {
		return 0
	}
	n := int(binary.BigEndian.Uint16(payload[2:]))
	if n < header {
		return 0
	}
	return n
}

// lldpSize is statedSize for LLDP, whose last element has type and length 0 (IEEE 802.1AB,
// 8.5.1). An element begins with 7 bits of type and 9 of length.
func lldpSize(payload []byte) int {
	for o := 0; o+2 <= len(payload); {
		head := int(binary.BigEndian.Uint16(payload[o:]))
		o += 2 + head&0x1ff
		if head == 0 {
			return o
		}
	}
	return 0
}
