package flow

import "encoding/binary"

// ip enters the IP header at the offset in the Header, if there is one of the
// version that s asks for.
func (w *walk) ip(s step) {
	if w.left() < 1 {
		return
	}
	switch version := w.d[w.o] >> 4; {
	case version == 4 && s != atIP6:
		w.ip4()
	case version == 6 && s != atIP4:
		w.ip6()
	}
}

// ip4 reads an IPv4 header (RFC 791).
func (w *walk) ip4() {
	if w.left() < 20 {
		return
	}
	ip := w.d[w.o:]
	length := int(ip[0]&15) * 4
	total := int(binary.BigEndian.Uint16(ip[2:]))
	if length < 20 || total != 0 && total < length {
		return
	}
	if total == 0 || total > len(ip) {
		total = len(ip)
	}
	h := w.h
	h.Version, h.Proto = 4, ip[9]
	h.Start, h.End = uint32(w.o), uint32(w.o+total)
	fragment := binary.BigEndian.Uint16(ip[6:])
	if fragment&0x3fff != 0 {
		h.Flags |= FlagFragment
	}
	if fragment&0x1fff == 0 {
		h.upper(w.d, w.o+length)
	}
}

// ip6 reads an IPv6 header (RFC 8200) and the extension headers after it.
func (w *walk) ip6() {
	if w.left() < 40 {
		return
	}
	ip := w.d[w.o:]
	end := len(ip)
	if payload := int(binary.BigEndian.Uint16(ip[4:])); payload != 0 {
		end = min(end, 40+payload)
	}
	h := w.h
	h.Version = 6
	h.Start, h.End = uint32(w.o), uint32(w.o+end)
	proto, o, found := h.extensions(ip[:end])
	h.Proto = proto
	if found {
		h.upper(w.d, w.o+o)
	}
}

// extensions follows the extension headers of an IPv6 datagram. It returns the
// last protocol number met, the offset of what that names, and whether
// this is the upper-layer header: it is not when the headers were cut or
// the datagram is a later fragment.
func (h *Header) extensions(ip []byte) (proto uint8, o int, found bool) {
	proto, o = ip[6], 40
	for isExtension[proto] {
		if o+2 > len(ip) {
			return proto, o, false
		}
		next, length := ip[o], 8*(1+int(ip[o+1]))
		switch proto {
		case protoAH:
			length = 8 + 4*int(ip[o+1]) // RFC 4302, section 2.2
		case protoFragment:
			if o+8 > len(ip) {
				return proto, o, false
			}
			length = 8
			place := binary.BigEndian.Uint16(ip[o+2:])
			if place&^6 != 0 { // all but the reserved bits: an offset, or more to come
				h.Flags |= FlagFragment
			}
			if place>>3 != 0 {
				return next, o + length, false
			}
		}
		proto, o = next, o+length
	}
	return proto, o, true
}

// upper enters the header after IP, which begins at offset o of the frame d.
func (h *Header) upper(d []byte, o int) {
	if o > int(h.End) {
		return
	}
	h.L4 = uint32(o)
	if o+4 <= int(h.End) {
		ports := binary.BigEndian.Uint32(d[o:]) & portMask[h.Proto]
		h.SrcPort, h.DstPort = uint16(ports>>16), uint16(ports)
	}
}
