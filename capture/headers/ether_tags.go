// SPDX-License-Identifier: Apache-2.0

package headers

import "github.com/flowdedup/flowdedup/capture/internal/iana"

// Headers of switches and bridges between an Ethernet header and its payload.

// typeOrLength reads the type field at the offset: an ethertype, or a length (IEEE 802.3,
// 3.2.6).
func (w *walk) typeOrLength() step {
	if w.left() < 2 {
		return stop
	}
	if t := w.be16(0); t <= maxLength {
		return w.sized(2, t)
	}
	return w.ethertypeAt(0)
}

// arista reads the header in which switches of Arista put the time of a frame: subtype,
// version, time, and the type field that the header has displaced (tcpdump, print-arista.c;
// Wireshark, packet-arista.c). The upper byte of the version names the time scale.
func (w *walk) arista() step {
	const head, timestamp = 4, 1
	const bits64, bits48 = 0x10, 0x20
	if w.left() < head {
		w.noteUnread(LayerArista)
		return stop
	}
	n := head
	switch version := w.be16(2) & 0xff; {
	case w.be16(0) != timestamp:
		return w.unknown(unopenedType, iana.TypeArista)
	case version == bits64:
		n += 8 // seconds and nanoseconds
	case version == bits48:
		n += 6 // the low 16 bits of the seconds
	default:
		return w.unknown(unopenedType, iana.TypeArista)
	}
	if w.left() < n+2 {
		w.noteUnread(LayerArista)
		return stop
	}
	w.note(LayerArista, 0, n+2, 0)
	w.o += n
	return w.typeOrLength()
}

// macsec reads the security tag of IEEE 802.1AE, clause 9: control information, a length that
// only short frames have, a packet number, and an identifier of the channel if a bit says so.
// Frames that are not encrypted lead on; an integrity check value follows them.
func (w *walk) macsec() step {
	const header, identifier, check = 6, 8, 16
	const hasIdentifier, encrypted, changed = 0x20, 0x08, 0x04
	if w.left() < header {
		return stop
	}
	control, length := w.d[w.o], int(w.d[w.o+1]&0x3f)
	if control&(encrypted|changed) != 0 {
		return w.unknown(unopenedMACsec, 0)
	}
	w.o += header
	if control&hasIdentifier != 0 {
		w.o += identifier
	}
	if length == 0 {
		w.nonIP.trailer += check
		return w.typeOrLength()
	}
	w.nonIP.limit(w.o + length)
	w.nonIP.exact = true
	return w.typeOrLength()
}

// trill reads the header of TRILL (RFC 6325, section 3): version, flags and the number of
// words of options in 16 bits, and two nicknames.
func (w *walk) trill() step {
	const header = 6
	if w.left() < header {
		return stop
	}
	first := w.be16(0)
	if version := first >> 14; version != 0 {
		return w.unknown(unopenedType, iana.TypeTRILL)
	}
	return w.goTo(header+4*int(first>>6&0x1f), atEther)
}

// batman reads the header of B.A.T.M.A.N. advanced (Linux, batadv_packet.h). It goes on where packets of
// version 15 carry a whole frame.
func (w *walk) batman() step {
	const version = 15
	const broadcast, unicast, fragment, fourAddresses, coded = 0x01, 0x40, 0x41, 0x42, 0x02
	switch {
	case w.left() < 2:
		return stop
	case w.d[w.o+1] != version:
		return w.unknown(unopenedType, iana.TypeBATMAN)
	}
	switch w.d[w.o] {
	case broadcast:
		return w.goTo(14, atEther)
	case unicast:
		return w.goTo(10, atEther)
	case fourAddresses:
		return w.goTo(18, atEther)
	case fragment, coded:
		return w.unknown(unopenedType, iana.TypeBATMAN)
	}
	return stop // of the mesh itself
}

// realtek reads the tag that switches of Realtek put before the type field. Its first bits say
// how long it is (Linux, net/dsa/tag_rtl4_a.c and tag_rtl8_4.c), or that the frame is of a
// management protocol of Realtek.
func (w *walk) realtek() step {
	const fourBytes, eightBytes = 0xa0, 0x04
	switch {
	case w.left() < 1:
		return stop
	case w.d[w.o]&0xf0 == fourBytes:
		w.o += 2
	case w.d[w.o] == eightBytes:
		w.o += 6
	default:
		return stop
	}
	return w.typeOrLength()
}

// switchTag reads an Ethernet header with a tag of n bytes between addresses and type field.
func (w *walk) switchTag(n int) step {
	const addresses = 12
	if w.left() < addresses+n+2 {
		return stop
	}
	w.addresses(0, 6)
	w.o += addresses + n
	return w.typeOrLength()
}
