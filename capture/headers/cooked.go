// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// The kernel takes the first VLAN tag off a received packet, and a cooked header replaces the
// Ethernet header. Since Linux 6.11 (net/packet/af_packet.c, vlan_get_protocol_dgram) its protocol
// is the type behind all tags, though the packet still begins with the second tag: control
// information, and a type. So a cooked header hides tags if they lead to its very protocol, and if
// what follows fits this protocol no worse than the packet does as it stands.

// isCooked reports whether frames of a link type have a cooked header.
func isCooked(link capture.LinkType) bool {
	return link == capture.LinkLinuxSLL || link == capture.LinkLinuxSLL2
}

// mayHideTags reports whether a packet, which a cooked header of protocol typ precedes, may begin
// with tags at offset o that the header hides.
func mayHideTags(d []byte, typ uint16, o int) bool {
	if len(d) < o+4 {
		return false
	}
	next := binary.BigEndian.Uint16(d[o+2:])
	return next == typ || iana.IsVLAN(next)
}

// cookedTags returns where the tags end that begin at offset o, behind a cooked header of protocol
// typ, if typ hides tags. Else it returns o. On the wire, d ends at wireEnd.
func cookedTags(d []byte, typ uint16, o int, wireEnd uint32) int {
	start := o
	for n := 0; n < maxTypes && iana.IsVLAN(typ) && len(d) >= o+4; n++ { // as libpcap inserts the first tag
		typ, o = binary.BigEndian.Uint16(d[o+2:]), o+4
	}
	at := o
	for n := 0; n < maxTypes && mayHideTags(d, typ, at); n++ {
		next := binary.BigEndian.Uint16(d[at+2:])
		if at += 4; next != typ {
			continue
		}
		left := max(int64(wireEnd), int64(len(d))) - int64(o)
		inside := weighTyped(d, typ, at, left-int64(at-o))
		if inside == impossible || inside < weighTyped(d, typ, o, left) {
			return start
		}
		return at
	}
	return start
}

// weighTyped weighs the packet at offset o of d as a packet of type typ with left bytes on the wire. The
// weight is 0 for types that allow every packet.
func weighTyped(d []byte, typ uint16, o int, left int64) weight {
	const version, session = 0x11, 0 // of PPPoE with data
	packet := d[min(o, len(d)):]
	switch {
	case len(packet) == 0:
	case typ == iana.TypeIPv4 || typ == iana.TypeIPv6:
		if typeOfNibble[packet[0]>>4] != typ {
			return impossible
		}
		return weighIP(packet, left)
	case typ == iana.TypePPPoE && len(packet) >= 2:
		return choose(packet[0] == version && packet[1] == session, 8, 0)
	case typ <= maxLength:
		return weighSized(int64(typ), packet, left)
	}
	return 0
}

// cookedTags records the tags up to an offset.
func (w *walk) cookedTags(end int) {
	for w.o < end {
		w.tag(w.o)
		w.typ = w.be16(2)
		w.o += 4
	}
}

// tag records the VLAN tag at offset o.
func (w *walk) tag(o int) {
	w.h.addTag(w.d, o)
	w.note(LayerVLAN, o-w.o, 4, uint32(binary.BigEndian.Uint16(w.d[o:])&0xfff))
}
