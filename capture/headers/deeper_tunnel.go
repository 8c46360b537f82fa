// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"

	kernels "github.com/flowdedup/flowdedup/asm/headers"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// The functions of this file read tunnels of the usual shapes without a walk. They return the
// ethertype of the packet inside and its offset, which counts from the header above the outer IP
// header. For other shapes the ethertype is 0, and a walk reads them.

// inTunnel returns where the IP header in a tunnel begins, and where the packet ends at the
// latest. upper is the header above the outer IP header and all behind it; p is of its ports. ok is
// false for other shapes, and if there is no IP header.
func (p *tunnelPort) inTunnel(proto uint8, upper []byte) (ip, end int, ok bool) {
	typ, o, end := uint16(0), 0, len(upper)
	switch proto {
	case iana.ProtoUDP:
		typ, o, end = p.behindUDP(upper)
	case iana.ProtoGRE:
		o, typ = kernels.BehindGRE(upper)
	case iana.ProtoIPv4:
		typ = iana.TypeIPv4
	case iana.ProtoIPv6:
		typ = iana.TypeIPv6
	}
	if typ == iana.TypeBridging {
		typ, o = behindEthernet(upper[:end], o)
	}
	return o, end, o < end && typeOfNibble[upper[o]>>4] == typ
}

// Plain returns the kind and the identifier of the tunnel before the IP header at offset start
// of an Ethernet frame, as Layers does. ok is false if there may be a further header that has an
// identifier, if the outer IP header has options or extension headers, and if the tunnel is of an
// unusual shape.
func (t *Tunnels) Plain(frame []byte, start uint32) (kind LayerKind, id uint32, ok bool) {
	const ethernet, least4, least6 = 14, 20, 40
	if uint32(len(frame)) <= start || start < ethernet+least4 {
		return 0, 0, false
	}
	proto, o := frame[ethernet+9], ethernet+least4
	switch typ := binary.BigEndian.Uint16(frame[12:]); {
	case typ == iana.TypeIPv6 && start >= ethernet+least6:
		proto, o = frame[ethernet+6], ethernet+least6
	case typ != iana.TypeIPv4 || frame[ethernet] != 0x45:
		return 0, 0, false
	}
	upper := frame[o:]
	typ, at := uint16(0), 0
	switch proto {
	case iana.ProtoUDP:
		if len(upper) < udpHeaderSize {
			break
		}
		to := t.or().ofUDP(upper)
		if typ, at, _ = to.behindUDP(upper); typ != 0 {
			kind, id = to.kind, binary.BigEndian.Uint32(upper[udpHeaderSize+4:])
		}
		if kind != LayerGTPU {
			id >>= 8
		}
	case iana.ProtoGRE:
		if at, typ = kernels.BehindGRE(upper); typ != 0 && at <= len(upper) {
			kind, id = plainGRE(upper, at)
		}
	case iana.ProtoIPv4, iana.ProtoIPv6:
		if kind, typ = LayerIPinIP, iana.TypeIPv4; proto == iana.ProtoIPv6 {
			typ = iana.TypeIPv6
		}
	}
	if at += o; typ == iana.TypeBridging {
		at += ethernet
		typ = binary.BigEndian.Uint16(frame[min(at, len(frame))-2:])
	}
	return kind, id, at == int(start) && typ == typeOfNibble[frame[start]>>4]
}

// plainGRE returns the kind and the identifier of a header that BehindGRE has read. The packet
// inside begins at offset o.
func plainGRE(d []byte, o int) (LayerKind, uint32) {
	const erspan = 8
	flags, typ := binary.BigEndian.Uint16(d), binary.BigEndian.Uint16(d[2:])
	switch {
	case typ != iana.TypeERSPAN2:
		return greKind(d, flags, typ)
	case flags&greSequence == 0:
		return LayerERSPAN, 0
	}
	return LayerERSPAN, uint32(binary.BigEndian.Uint16(d[o-erspan+2:]) & 0x3ff)
}

// behindEthernet reads the header at an offset, and up to four VLAN tags behind it.
func behindEthernet(d []byte, o int) (typ uint16, at int) {
	const header, tag, tags = 14, 4, 4
	o += header
	for last := o + tags*tag; o <= min(len(d), last); o += tag {
		if typ = binary.BigEndian.Uint16(d[o-2:]); !iana.IsVLAN(typ) {
			return typ, o
		}
	}
	return 0, o
}

// behindUDP is for the tunnels over UDP that are certain by their port. Their datagrams end where
// UDP says.
func (p *tunnelPort) behindUDP(upper []byte) (typ uint16, o, end int) {
	const header = 8 // of each of these tunnels, too
	if len(upper) < udpHeaderSize+header {
		return 0, 0, 0
	}
	end = len(upper)
	switch length := int(binary.BigEndian.Uint16(upper[4:])); {
	case length >= udpHeaderSize:
		end = min(end, length)
	case length != 0:
		return 0, 0, 0
	}
	switch d := upper[udpHeaderSize:]; p.kind {
	case LayerVXLAN:
		const validID = 0x08
		if (d[0]&validID != 0 || p.told) && !p.generic {
			return iana.TypeBridging, udpHeaderSize + header, end
		}
	case LayerGENEVE:
		const version, control, words = 0xc0, 0x80, 0x3f
		if d[0]&version|d[1]&control == 0 {
			return binary.BigEndian.Uint16(d[2:]), udpHeaderSize + header + 4*int(d[0]&words), end
		}
	case LayerGTPU:
		typ, o, length := behindGTP(d)
		if o > header && length+udpHeaderSize != int(binary.BigEndian.Uint16(upper[4:])) { // a walk weighs it
			return 0, 0, 0
		}
		return typ, udpHeaderSize + o, min(end, udpHeaderSize+length)
	}
	return 0, 0, 0
}

// behindGTP reads a GTP-U header as walk.gtp does. length is where the packet ends.
func behindGTP(d []byte) (typ uint16, o, length int) {
	const header, optional, userPacket = 8, 4, 255
	const anyOptional, hasExtension = 0x07, 0x04
	if d[0]>>4 != 3 || d[1] != userPacket {
		return 0, 0, 0
	}
	o = header
	if d[0]&anyOptional != 0 {
		o += optional
	}
	for more := d[0] & hasExtension; more != 0; {
		if o >= len(d) || d[o-1] == 0 {
			break
		}
		n := 4 * int(d[o])
		if n == 0 || o+n > len(d) {
			return 0, 0, 0
		}
		o += n
	}
	if o >= len(d) {
		return 0, 0, 0
	}
	return typeOfNibble[d[o]>>4], o, header + int(binary.BigEndian.Uint16(d[2:]))
}
