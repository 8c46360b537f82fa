// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// ReadIP describes in h the datagram that ip begins with, and reports whether there is a datagram. h
// is zero before. Offsets count from the start of ip.
func (h *Header) ReadIP(ip []byte) bool { return h.ip4(ip, 0) || h.ip6(ip, 0) }

// ip4 describes the IPv4 header (RFC 791) at offset o, and reports whether it found it.
func (h *Header) ip4(d []byte, o int) bool {
	if len(d)-o < 20 {
		return false
	}
	ip := d[o:]
	length, total := int(ip[0]&15)*4, int(binary.BigEndian.Uint16(ip[2:]))
	if ip[0]>>4 != 4 || length < 20 || total != 0 && total < length {
		return false
	}
	if total == 0 || total > len(ip) {
		total = len(ip)
	}
	h.Version, h.Proto = 4, ip[9]
	h.Start, h.End = uint32(o), uint32(o+total)
	fragment := binary.BigEndian.Uint16(ip[6:])
	if fragment&0x3fff != 0 {
		h.Flags |= FlagFragment
	}
	if fragment&0x1fff == 0 {
		h.upper(d, o+length)
	}
	return true
}

// ip6 describes the IPv6 header (RFC 8200) at offset o and the extension headers after it.
// It reports whether it found an IPv6 header.
func (h *Header) ip6(d []byte, o int) bool {
	if len(d)-o < 40 || d[o]>>4 != 6 {
		return false
	}
	ip := d[o:]
	end := len(ip)
	if payload := int(binary.BigEndian.Uint16(ip[4:])); payload != 0 {
		end = min(end, 40+payload)
	}
	h.Version = 6
	h.Start, h.End = uint32(o), uint32(o+end)
	proto, at, found := h.extensions(ip[:end])
	h.Proto = proto
	if found {
		h.upper(d, o+at)
	}
	return true
}

// extensions follows the extension headers of an IPv6 datagram. It returns the last
// protocol number, the offset of its header, and whether this is the upper-layer header.
// It is not if the headers were truncated or the datagram is a later fragment.
func (h *Header) extensions(ip []byte) (proto uint8, o int, found bool) {
	proto, o = ip[6], 40
	for iana.IsExtension[proto] {
		if o+2 > len(ip) {
			return proto, o, false
		}
		next, length := ip[o], 8*(1+int(ip[o+1]))
		switch proto {
		case iana.ProtoAH:
			length = 8 + 4*int(ip[o+1]) // RFC 4302, section 2.2
		case iana.ProtoFragment:
			if o+8 > len(ip) {
				return proto, o, false
			}
			length = 8
			fragment := binary.BigEndian.Uint16(ip[o+2:])
			if fragment&^6 != 0 { // an offset, or more fragments to come
				h.Flags |= FlagFragment
			}
			if fragment>>3 != 0 {
				return next, o + length, false
			}
		}
		proto, o = next, o+length
	}
	return proto, o, true
}

// upper describes the header after IP, which begins at offset o of the frame d.
func (h *Header) upper(d []byte, o int) {
	if o > int(h.End) {
		return
	}
	h.L4 = uint32(o)
	if o+4 <= int(h.End) {
		ports := binary.BigEndian.Uint32(d[o:]) & iana.PortMask[h.Proto]
		h.SrcPort, h.DstPort = uint16(ports>>16), uint16(ports)
	}
}
