// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"math"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// decodeCommon describes a frame in h as readFrame does, if only common headers precede its IP
// header: Ethernet, Linux cooked captures, loopback interfaces or nothing, then VLAN tags,
// MPLS labels and PPPoE. It returns false for all other frames, and then h has no meaning. It
// takes a third of the time, since it makes no walk.
func decodeCommon(h *Header, link capture.LinkType, d []byte, wireLen uint32) bool {
	*h = Header{}
	typ, o := commonLink(h, link, d)
	if isCooked(link) {
		for end := cookedTags(d, typ, o, wireLen); o < end; o += 4 {
			h.addTag(d, o)
			typ = binary.BigEndian.Uint16(d[o+2:])
		}
	}
	return h.common(d, typ, o, wireLen)
}

// common describes the IP header that an ethertype leads to, whose header begins at offset
// o. It returns false if there is none, or if that is not known. On the wire, d ends at end.
func (h *Header) common(d []byte, typ uint16, o int, end uint32) bool {
	for range commonTypes {
		switch typ {
		case iana.TypeIPv4:
			return h.ip4(d, o)
		case iana.TypeIPv6:
			return h.ip6(d, o)
		case iana.TypeVLAN, iana.TypeQinQ, iana.TypeQinQOld, iana.TypeQinQOld2:
			if len(d) < o+4 {
				return false
			}
			h.addTag(d, o)
			typ, o = binary.BigEndian.Uint16(d[o+2:]), o+4
		case iana.TypeMPLS, iana.TypeMPLSUp:
			typ, o = belowLabels(d, o, end)
		case iana.TypePPPoE:
			typ, o = insidePPPoE(d, o)
		default:
			return false
		}
	}
	return false
}

// common takes the place of run behind the header of a tunnel, for the headers that
// Header.common knows and without notes. If it returns false, the caller calls run.
func (w *walk) common(s step) bool {
	typ, o := w.typ, w.o
	switch {
	case s == atEther || s == atType && typ == iana.TypeBridging:
		if w.left() < 14 || o > math.MaxUint16-6 {
			return false
		}
		w.frame = o
		w.h.Dst, w.h.Src, w.h.Flags = uint16(o), uint16(o+6), FlagDst|FlagSrc
		typ, o = w.be16(12), o+14
	case s == atIP:
		typ = typeByVersion(w.d, o)
	case s == atIP4:
		typ = iana.TypeIPv4
	case s == atIP6:
		typ = iana.TypeIPv6
	case s != atType:
		return false
	}
	if w.h.common(w.d, typ, o, w.end) {
		return true
	}
	*w.h = Header{}
	return false
}

// commonLink reads a link header. It returns the ethertype of the next header, 0 if unknown,
// and its offset.
func commonLink(h *Header, link capture.LinkType, d []byte) (typ uint16, o int) {
	switch link {
	case capture.LinkEthernet:
		if len(d) >= 14 {
			h.Src, h.Flags = 6, FlagDst|FlagSrc
			return binary.BigEndian.Uint16(d[12:]), 14
		}
	case capture.LinkLinuxSLL:
		if len(d) >= 16 && !netlink(d[2:]) {
			h.cookedSource(int(binary.BigEndian.Uint16(d[4:])), 6)
			return binary.BigEndian.Uint16(d[14:]), 16
		}
	case capture.LinkLinuxSLL2:
		if len(d) >= 20 && !netlink(d[8:]) {
			h.cookedSource(int(d[11]), 12)
			return binary.BigEndian.Uint16(d), 20
		}
	case capture.LinkRawDLT12, capture.LinkRawDLT14, capture.LinkRaw:
		return typeByVersion(d, 0), 0
	case capture.LinkIPv4:
		return iana.TypeIPv4, 0
	case capture.LinkIPv6:
		return iana.TypeIPv6, 0
	case capture.LinkNull, capture.LinkLoop:
		if len(d) >= 4 {
			return typeByFamily(addressFamily(link, d)), 4
		}
	}
	return 0, 0
}

// PlaceIP moves the start of each message, which is a frame of a link type, to 14 bytes before
// its IP header, where the rules Untyped of asm/headers expect it. It sets the length of a
// message without IP behind its link header to 0, so that the message takes the slow path. buf
// holds the messages. PlaceIP takes constant time for each message.
func PlaceIP(msgs []digest.Message, link capture.LinkType, buf []byte) {
	for i := range msgs {
		m := &msgs[i]
		d := buf[m.Off:][:m.Len]
		var h Header
		typ, o := commonLink(&h, link, d)
		at := m.Off + uint32(o)
		if typ == 0 || typ != typeByVersion(d, o) || at < beforeIP || isCooked(link) && mayHideTags(d, typ, o) {
			m.Len = 0
			continue
		}
		m.Off, m.Len = at-beforeIP, m.Len-uint32(o)+beforeIP
	}
}

// netlink reports whether the hardware type at the start of d is netlink, whose messages have
// no ethertype.
func netlink(d []byte) bool { return binary.BigEndian.Uint16(d) == hardwareNetlink }

// cookedSource records the hardware address of a cooked header.
func (h *Header) cookedSource(length int, src uint16) {
	if length == 6 {
		h.Src, h.Flags = src, FlagSrc
	}
}

// typeByVersion returns the ethertype of the IP header at offset o, or 0.
func typeByVersion(d []byte, o int) uint16 {
	if o < len(d) {
		switch d[o] >> 4 {
		case 4:
			return iana.TypeIPv4
		case 6:
			return iana.TypeIPv6
		}
	}
	return 0
}

// typeByFamily returns the ethertype of an address family, or 0.
func typeByFamily(family uint32) uint16 {
	switch familyStep(family) {
	case atIP4:
		return iana.TypeIPv4
	case atIP6:
		return iana.TypeIPv6
	}
	return 0
}

// commonTypes bounds how many ethertypes in a row common follows. A walk follows more: where common
// went as far, frames with long stacks of tags would be read twice.
const commonTypes = 8

// belowLabels goes to the bottom of the MPLS label stack at offset o. On the wire, d ends at
// end.
func belowLabels(d []byte, o int, end uint32) (typ uint16, at int) {
	if at = bottomOf(d, o); at > o && d[at-2]&1 != 0 {
		return underLabels(d, at, end)
	}
	return 0, at
}

// bottomOf returns the offset behind the MPLS label stack at offset o, or behind its last entry that
// was captured whole.
func bottomOf(d []byte, o int) int {
	for o+4 <= len(d) {
		if o += 4; d[o-2]&1 != 0 {
			break
		}
	}
	return o
}

// insidePPPoE reads the PPPoE and the PPP header at offset o.
func insidePPPoE(d []byte, o int) (typ uint16, end int) {
	const header = 6 + 2
	if len(d) < o+header {
		return 0, o
	}
	switch binary.BigEndian.Uint16(d[o+6:]) {
	case pppIPv4:
		typ = iana.TypeIPv4
	case pppIPv6:
		typ = iana.TypeIPv6
	case pppMPLS:
		typ = iana.TypeMPLS
	}
	return typ, o + header
}

// addTag records the VLAN tag at offset o.
func (h *Header) addTag(d []byte, o int) {
	switch {
	case h.Flags&FlagVLAN == 0:
		h.Flags |= FlagVLAN
		h.VLAN = binary.BigEndian.Uint16(d[o:]) & 0xfff
		if o <= math.MaxUint16 {
			h.Tag, h.Tags = uint16(o), 1
		}
	case h.Tags > 0 && h.Tags < math.MaxUint8 && o == int(h.Tag)+4*int(h.Tags):
		h.Tags++
	}
}
