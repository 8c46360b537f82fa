package flow

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture"
)

// Config says how frames are decoded.
type Config struct {
	// Inner opens tunnels and yields the innermost IP header. The Header then
	// describes the frame as if the tunnels had not been there: hardware
	// addresses and VLAN tags are those of the innermost Ethernet frame.
	Inner bool
}

// Decoder finds IP headers. It has no state and may be used concurrently.
type Decoder struct {
	inner bool
}

// NewDecoder returns a decoder.
func NewDecoder(cfg Config) *Decoder { return &Decoder{inner: cfg.Inner} }

// Decode describes frames from to from+len(h)-1 of b in h. It keeps no
// reference to either, and panics if b has fewer frames than that.
func (d *Decoder) Decode(h []Header, b *capture.Batch, from int) {
	frames := b.Frames[from : from+len(h)]
	var link capture.LinkType
	var bigEndian bool
	known := uint32(1<<32 - 1) // the interface that link and bigEndian belong to
	for i := range frames {
		f := &frames[i]
		if f.Interface != known {
			known = f.Interface
			link = b.Interfaces[known].LinkType
			bigEndian = b.Sections[b.Interfaces[known].Section].BigEndian
		}
		data := b.Data(from + i)
		if link != capture.LinkEthernet || !plainEthernet(&h[i], data) {
			decodeLink(&h[i], data, link, bigEndian, f.WireLen)
		}
		if d.inner && mayTunnel[h[i].Proto] {
			openTunnels(&h[i], data, f.WireLen)
		}
	}
}

// decodeLink is the general way: any link type, anything between it and IP.
func decodeLink(h *Header, data []byte, link capture.LinkType, bigEndian bool, wireLen uint32) {
	*h = Header{}
	w := walk{d: data, h: h, link: link, bigEndian: bigEndian, frame: -1}
	w.run(atLink)
	if h.Version == 0 {
		h.Start, h.End, h.Wire = 0, uint32(len(data)), wireLen
	}
}

// plainEthernet decodes what nearly all frames are: Ethernet, up to two VLAN
// tags, IPv4 without options or IPv6 without extension headers, neither
// fragmented nor cut before the ports. It reports whether the frame was such.
func plainEthernet(h *Header, d []byte) bool {
	const minimum = 14 + 20 + 4
	if len(d) < minimum {
		return false
	}
	typ := binary.BigEndian.Uint16(d[12:])
	o := 14
	var vlan, tag uint16
	var tags, flags uint8 = 0, FlagDst | FlagSrc
	if isVLAN(typ) {
		vlan = binary.BigEndian.Uint16(d[14:]) & 0xfff
		typ = binary.BigEndian.Uint16(d[16:])
		o, tag, tags, flags = 18, 14, 1, flags|FlagVLAN
		if isVLAN(typ) {
			typ = binary.BigEndian.Uint16(d[20:])
			o, tags = 22, 2
		}
	}
	var l4, end int
	var proto, version uint8
	switch {
	case typ == typeIPv4 && len(d) >= o+24:
		ip := d[o : o+24 : o+24]
		total := int(binary.BigEndian.Uint16(ip[2:]))
		fragment := binary.BigEndian.Uint16(ip[6:]) & 0x3fff
		if ip[0] != 0x45 || total < 24 || fragment != 0 {
			return false
		}
		version, proto, l4, end = 4, ip[9], o+20, o+total
	case typ == typeIPv6 && len(d) >= o+44:
		ip := d[o : o+44 : o+44]
		payload := int(binary.BigEndian.Uint16(ip[4:]))
		if ip[0]>>4 != 6 || payload < 4 || isExtension[ip[6]] {
			return false
		}
		version, proto, l4, end = 6, ip[6], o+40, o+40+payload
	default:
		return false
	}
	ports := binary.BigEndian.Uint32(d[l4:]) & portMask[proto]
	// Field by field: a literal would be built elsewhere and copied.
	h.Start, h.End, h.L4, h.Wire = uint32(o), uint32(min(end, len(d))), uint32(l4), 0
	h.SrcPort, h.DstPort = uint16(ports>>16), uint16(ports)
	h.VLAN, h.Dst, h.Src, h.Tag, h.Tags = vlan, 0, 6, tag, tags
	h.Version, h.Proto, h.Flags = version, proto, flags
	return true
}
