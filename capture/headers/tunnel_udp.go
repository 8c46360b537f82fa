// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"errors"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// vxlan reads a VXLAN header (RFC 7348). Some senders leave out the bit that says that
// there is an identifier. As Wireshark does, the identifier is then taken as it is.
func (w *walk) vxlan() step {
	const header = 8
	if w.left() < header {
		return stop
	}
	w.believeVXLAN()
	w.note(LayerVXLAN, 0, header, w.id24())
	return w.goTo(header, atEther)
}

// id24 returns the number in the upper 24 bits of the second word after the offset: the
// VNI of VXLAN and GENEVE.
func (w *walk) id24() uint32 { return binary.BigEndian.Uint32(w.d[w.o+4:]) >> 8 }

// vxlanGPE reads the generic protocol extension of VXLAN
// (draft-ietf-nvo3-vxlan-gpe).
func (w *walk) vxlanGPE() step {
	const header, hasProtocol, control = 8, 0x04, 0x01
	switch {
	case w.left() < header:
		return stop
	case w.d[w.o]&control != 0:
		return w.control()
	case w.d[w.o]&hasProtocol == 0:
		return w.vxlan()
	}
	w.believeGPE()
	w.note(LayerVXLAN, 0, header, w.id24())
	next := w.d[w.o+3]
	w.o += header
	return w.nextProtocol(LayerVXLAN, next)
}

// nextProtocol reads the packet that the next protocol field of VXLAN-GPE announces. LISP-GPE
// has the field, too (RFC 9305, section 4).
func (w *walk) nextProtocol(kind LayerKind, next uint8) step {
	switch next {
	case 1:
		return atIP4
	case 2:
		return atIP6
	case 3:
		return atEther
	case 4:
		return w.nsh()
	case 5:
		return atMPLS
	}
	return w.unknown(unopenedTunnel, uint32(kind))
}

// geneve reads a GENEVE header and skips its options (RFC 8926).
func (w *walk) geneve() step {
	const header, control = 8, 0x80
	switch {
	case w.left() < header:
		return stop
	case w.d[w.o]>>6 != 0:
		return w.unknown(unopenedTunnel, uint32(LayerGENEVE))
	case w.d[w.o+1]&control != 0:
		return w.control()
	}
	w.typ = w.be16(2)
	length := header + 4*int(w.d[w.o]&0x3f)
	w.believeGENEVE()
	w.note(LayerGENEVE, 0, min(length, w.left()), w.id24())
	return w.goTo(length, atType)
}

// gtp reads a GTP-U header with its optional fields and extension headers (3GPP TS
// 29.281, section 5). Only G-PDUs, which carry the packet of a user, lead on. The length
// counts from the start of the header. With optional fields, it has to be size, the payload of
// UDP, or the packet is weighed.
func (w *walk) gtp(size int) (s step, length int) {
	const header, optional, userPacket = 8, 4, 255
	const anyOptional, hasExtension = 0x07, 0x04
	switch {
	case w.left() < header:
		return stop, 0
	case w.d[w.o]>>4 != 3:
		return w.unknown(unopenedTunnel, uint32(LayerGTPU)), 0
	case w.d[w.o+1] != userPacket:
		return w.control(), 0
	}
	flags, length := w.d[w.o], header+int(w.be16(2))
	start, id := w.o, binary.BigEndian.Uint32(w.d[w.o+4:])
	w.o += header
	if flags&anyOptional == 0 {
		w.note(LayerGTPU, -header, header, id)
		return atIP, length
	}
	if w.left() < optional {
		return stop, 0
	}
	if length != size {
		w.doubt = ofAll
	}
	next := w.d[w.o+3]
	w.o += optional
	for flags&hasExtension != 0 && next != 0 {
		if w.left() < 1 || w.d[w.o] == 0 {
			return stop, 0
		}
		n := 4 * int(w.d[w.o])
		if w.left() < n {
			return stop, 0
		}
		next = w.d[w.o+n-1]
		w.o += n
	}
	w.noteBehind(LayerGTPU, start, id)
	return atIP, length
}

// l2tp reads the header of an L2TP data message of version 2 (RFC 2661, section 3.1), or of
// version 3. The length counts from the start of the header. The identifier of version 2 has the
// tunnel in its upper and the session in its lower half.
func (w *walk) l2tp() (s step, length int) {
	const control, hasLength, hasSequence, hasOffset = 0x8000, 0x4000, 0x0800, 0x0200
	const reserved, version = 0x34f0, 2
	w.doubt, w.belief = ofAll, 15 // a few values of the flags, and of a protocol that leads to IP
	if w.left() < 2 {
		return stop, 0
	}
	start, flags := w.o, w.be16(0)
	if flags == version+1 {
		return w.l2tpv3UDP(), 1 << 16
	}
	switch {
	case flags&control != 0 && flags&15 >= version && flags&15 <= version+1:
		return w.control(), 0
	case flags&(control|reserved) != 0 || flags&15 != version:
		return stop, 0
	}
	w.o += 2
	length = 1 << 16 // without a length field, the length of UDP
	if flags&hasLength != 0 && w.left() >= 2 {
		length = int(w.be16(0))
		w.o += 2
	}
	if w.left() < 4 {
		return stop, 0
	}
	id := binary.BigEndian.Uint32(w.d[w.o:])
	w.o += 4
	if flags&hasSequence != 0 {
		w.o += 4
	}
	if flags&hasOffset != 0 && w.left() >= 2 {
		w.o += 2 + int(w.be16(0))
	}
	if w.left() < 0 {
		return stop, 0
	}
	w.noteBehind(LayerL2TP, start, id)
	return atPPP, length
}

// lisp reads the header of a LISP data packet (RFC 9300, section 5.1). With the bit of
// RFC 9305, section 3, the last byte of its first word names a protocol.
func (w *walk) lisp() step {
	const header, hasInstance, hasProtocol = 8, 0x08, 0x04
	w.doubt = ofAll
	if w.left() < header {
		return stop
	}
	w.belief = int8(choose(w.d[w.o]&0x03 == 0, 2, -4)) // flags that have no use
	id, next := uint32(0), w.d[w.o+3]
	if w.d[w.o]&hasInstance != 0 {
		id = w.id24()
	}
	w.note(LayerLISP, 0, header, id)
	named := w.d[w.o]&hasProtocol != 0
	w.o += header
	if named {
		return w.nextProtocol(LayerLISP, next)
	}
	return atIP
}

// jmirror reads the header that Juniper's routers put before the packets that they mirror
// to a mediation device: the identifiers of an intercept and of a session, of four bytes
// each (Junos OS, "Packet header for mirrored traffic"; Wireshark's packet-jmirror.c).
func (w *walk) jmirror() step {
	const header = 8
	w.doubt = ofAll
	if w.left() < header {
		return stop
	}
	w.note(LayerJMirror, 0, header, binary.BigEndian.Uint32(w.d[w.o:]))
	return w.goTo(header, atIP)
}

// tzsp reads the header of TZSP.
func (w *walk) tzsp() step {
	in, err := ReadTZSP(w.d[w.o:])
	if err != nil {
		w.doubt = ofAll
		if errors.Is(err, ErrTunnelControl) {
			return w.control()
		}
		return stop
	}
	w.note(LayerTZSP, 0, in.At, 0)
	if in.Link == capture.LinkEthernet {
		return w.goTo(in.At, atEther)
	}
	w.link = in.Link
	return w.goTo(in.At, atLink)
}

// teredo reads the indications before an IPv6 packet of Teredo (RFC 4380, section 5.1.1).
// An address of Teredo speaks for the packet.
func (w *walk) teredo() step {
	const authentication, origin = 1, 0
	const clientAndKey, nonceAndConfirmation, originIndication = 4, 9, 8
	w.doubt = ofAll
	start := w.o
	if w.left() >= clientAndKey && w.be16(0) == authentication {
		w.o += clientAndKey + int(w.d[w.o+2]) + int(w.d[w.o+3]) + nonceAndConfirmation
	}
	if w.left() >= originIndication && w.be16(0) == origin {
		w.o += originIndication
	}
	if d := w.d[min(w.o, len(w.d)):]; len(d) >= 40 && (isTeredo(d[8:]) || isTeredo(d[24:])) {
		w.belief = 24
	}
	w.noteBehind(LayerTeredo, start, 0)
	return atIP6
}

// isTeredo reports whether an address has the prefix of Teredo (RFC 4380, section 2.6).
func isTeredo(address []byte) bool { return binary.BigEndian.Uint32(address) == 0x2001_0000 }

// gue reads the header of generic UDP encapsulation (draft-ietf-intarea-gue-09, sections 3 and
// 4). Of variant 0, data messages lead on to the IP protocol that they name. Variant 1 is IP
// itself. The length is as of ipTunnel, from the start of the header on.
func (w *walk) gue() (s step, length int) {
	const header, control = 4, 0x20
	w.doubt = ofAll
	if w.left() < header {
		return stop, -1
	}
	first, proto := w.d[w.o], w.d[w.o+1]
	switch {
	case first>>6 == 1:
		w.note(LayerGUE, 0, 0, 0)
		return atIP, -1
	case first>>6 != 0:
		return w.unknown(unopenedTunnel, uint32(LayerGUE)), -1
	case first&control != 0:
		return w.control(), -1
	}
	w.belief = int8(choose(w.be16(2) == 0, 6, 0) + choose(kindOfProtocol(proto) != 0, 4, 0)) // flags, and few protocols
	size := header + 4*int(first&0x1f)
	w.note(LayerGUE, 0, min(size, w.left()), 0)
	w.o += size
	if proto == iana.ProtoUDP || w.left() < 0 {
		return stop, -1
	}
	if s, length = w.ipTunnel(proto); length >= 0 {
		length += size
	}
	return s, length
}

// skipped steps over a header of a length that a user has named. Ethernet or IP follows.
func (w *walk) skipped(length int) step {
	w.note(LayerSkip, 0, min(length, w.left()), 0)
	w.o += length
	if w.left() < 1 {
		return stop
	}
	s, _ := w.frameOrIP(w.o)
	return s
}
