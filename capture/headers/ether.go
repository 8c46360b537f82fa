// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// maxTypes bounds how many ethertypes in a row are followed. Real frames have at most
// five or so; the bound is for forged frames that hold nothing but tags.
const maxTypes = 32

// maxLength is the largest value of the type field that is a length (IEEE 802.3, 3.2.6).
const maxLength = 1500

// ether reads an Ethernet header.
func (w *walk) ether() step {
	if w.left() < 14 {
		return stop
	}
	if w.frame < 0 {
		w.frame = w.o
	}
	w.note(LayerEthernet, 0, 14, 0)
	d := w.d[w.o:]
	t := binary.BigEndian.Uint16(d[12:])
	if t <= maxLength && d[0]&^2 == 1 && d[1] == 0 && d[2] == 0x0c && d[3] == 0 && d[4] == 0 {
		return w.isl()
	}
	w.addresses(0, 6)
	if t <= maxLength {
		return w.sized(14, t)
	}
	return w.ethertypeAt(12)
}

// isl skips the header of Cisco's ISL, which precedes a whole Ethernet frame with its
// frame check sequence. It has five bytes of a group address, type and priority, a
// source, a length that counts from its own end on, and twelve more bytes.
func (w *walk) isl() step {
	const header, counted, fcs = 26, 14, 4
	if w.left() < header || w.d[w.o+5]>>4 != 0 { // not of type Ethernet
		return stop
	}
	w.nonIP.limit(w.o + counted + int(w.be16(12)) - fcs)
	return w.goTo(header, atEther)
}

// sized moves the offset by n bytes to an 802.2 header, where the part of an 802.3 frame
// begins that the length field counts.
func (w *walk) sized(n int, length uint16) step {
	w.o += n
	w.nonIP.sized(w.o, int(length))
	return atLLC
}

// etherType follows ethertypes until a type leads to another step.
func (w *walk) etherType() step {
	for n := 1; n <= maxTypes; n++ {
		w.nonIP.body = w.o
		switch w.typ {
		case iana.TypeIPv4:
			return atIP4
		case iana.TypeIPv6:
			return atIP6
		case iana.TypeMPLS, iana.TypeMPLSUp:
			return atMPLS
		case iana.TypePPPoE:
			return w.pppoe()
		case iana.TypePBB:
			return w.goTo(4, atEther)
		case iana.TypeBridging:
			return atEther
		case iana.TypeFabricPath:
			return w.goTo(2, atEther)
		case iana.TypeNSH:
			return w.nsh()
		case iana.TypeVLAN, iana.TypeQinQ, iana.TypeQinQOld, iana.TypeQinQOld2:
			d, o := w.d, w.o // of many tags: an offset in memory takes longer than the rest
			for ; len(d) >= o+4; o, n = o+4, n+1 {
				w.tag(o)
				if n == maxTypes || !iana.IsVLAN(binary.BigEndian.Uint16(d[o+2:])) {
					break
				}
			}
			if w.o, w.nonIP.body = o, o; w.left() < 4 {
				w.noteUnread(LayerVLAN)
				return stop
			}
			w.o += 2
		case iana.TypeArista:
			return w.arista()
		case iana.TypeMACsec:
			return w.macsec()
		case iana.TypeTRILL:
			return w.trill()
		case iana.TypeBATMAN:
			return w.batman()
		case iana.TypeRealtek:
			return w.realtek()
		case iana.TypeVNTag, iana.TypeHSR, iana.TypeRTag:
			w.o += 4
		case iana.TypeETag, iana.TypeCMD, iana.TypeEDSA:
			w.o += 6
		default:
			if !plainType(w.typ) {
				return w.unknown(unopenedType, uint32(w.typ))
			}
			return stop
		}
		if w.left() < 2 {
			return stop
		}
		if w.typ = w.be16(0); w.typ <= maxLength {
			return w.sized(2, w.typ)
		}
		w.o += 2
	}
	if iana.IsVLAN(w.typ) {
		w.noteUnread(LayerVLAN)
	}
	return stop
}

// pppoe reads the header of a PPPoE session (RFC 2516, section 4).
func (w *walk) pppoe() step {
	const header = 6
	if w.left() < header {
		w.noteUnread(LayerPPPoE)
		return stop
	}
	w.note(LayerPPPoE, 0, header, uint32(w.be16(2)))
	return w.goTo(header, atPPP)
}

// nsh reads a network service header (RFC 8300, section 2.2). A further one may follow.
func (w *walk) nsh() step {
	const least = 2 // words
	if w.left() < 4 {
		return stop
	}
	words, next := int(w.d[w.o+1]&0x3f), w.d[w.o+3]
	if words < least {
		return stop
	}
	w.o += 4 * words
	switch next {
	case 1:
		return atIP4
	case 2:
		return atIP6
	case 3:
		return atEther
	case 4:
		w.typ = iana.TypeNSH
		return atType
	case 5:
		return atMPLS
	}
	return w.unknown(unopenedNSH, uint32(next))
}

// mpls goes to the bottom of a label stack (RFC 3032), and continues as underLabels says.
func (w *walk) mpls() step {
	from, bottom := w.o, bottomOf(w.d, w.o)
	if w.notes.takes(LayerMPLS) {
		for o := from; o+4 <= bottom; o += 4 {
			w.note(LayerMPLS, o-w.o, 4, binary.BigEndian.Uint32(w.d[o:])>>12)
		}
	}
	if w.o = bottom; bottom == from || w.d[bottom-2]&1 == 0 {
		w.noteUnread(LayerMPLS)
		return stop
	}
	if w.left() < 1 {
		return stop
	}
	typ, at := underLabels(w.d, w.o, w.end)
	switch typ {
	case iana.TypeIPv4:
		return atIP4
	case iana.TypeIPv6:
		return atIP6
	case iana.TypeBridging:
		return w.goTo(at-w.o, atEther)
	}
	return w.unknown(unopenedMPLS, 0)
}

// llc reads an 802.2 header, and a SNAP header if it follows.
func (w *walk) llc() step {
	w.typ = 0
	w.nonIP.body = w.o
	if w.left() < 3 {
		return stop
	}
	d := w.d[w.o:]
	switch {
	case d[0] == 0xaa && d[1]&^1 == 0xaa && d[2] == 3 && len(d) >= 8:
		w.o += 3
		return w.snap()
	case d[0] == 6 && d[1] == 6 && d[2] == 3: // the SAP of IP, RFC 948
		return w.goTo(3, atIP4)
	case d[0] == sapISO && d[1]&^1 == sapISO && d[2] == 3:
		w.o += 3
		return w.nlpid()
	case d[0] != sapSNAP && !plainSAP(d[0]):
		return w.unknown(unopenedSAP, uint32(d[0]))
	}
	return stop
}

// snap reads the five bytes of a SNAP header: an organization, and a protocol number of
// that organization. The caller has checked that they were captured.
func (w *walk) snap() step {
	d := w.d[w.o : w.o+5]
	switch oui := uint32(d[0])<<16 | uint32(d[1])<<8 | uint32(d[2]); oui {
	case 0, 0x0000f8: // RFC 1042; bridge tunnel encapsulation, 802.1H
		w.typ = binary.BigEndian.Uint16(d[3:])
		return w.goTo(5, atType)
	case 0x0080c2: // bridged frames, RFC 2684
		if d[4] != 1 && d[4] != 7 {
			return stop
		}
		if w.bridgePad {
			w.o += 2
		}
		return w.goTo(5, atEther)
	}
	return stop
}
