package flow

import "github.com/flowdedup/flowdedup/capture"

// DecoderConfig says how frames are decoded.
type DecoderConfig struct {
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
func NewDecoder(cfg DecoderConfig) *Decoder { return &Decoder{inner: cfg.Inner} }

// Decode describes frames from to from+len(h)-1 of b in h. It keeps no
// reference to either, and panics if b has fewer frames than that.
func (d *Decoder) Decode(h []Header, b *capture.Batch, from int) {
	frames := b.Frames[from : from+len(h)]
	for i := 0; i < len(h); {
		ethernet := i + ethernetFrames(frames[i:], b.Interfaces)
		for i < ethernet {
			i += decodeFast(h[i:ethernet], frames[i:ethernet], b.Buf)
			if i < ethernet {
				decodeSlow(&h[i], b, from+i)
				i++
			}
		}
		if i < len(h) {
			decodeSlow(&h[i], b, from+i)
			i++
		}
	}
	if !d.inner {
		return
	}
	for i := range h {
		if mayTunnel[h[i].Proto] {
			openTunnels(&h[i], b.Data(from+i), frames[i].WireLen)
		}
	}
}

// decodeSlow decodes frame i of b the general way: any link type, anything
// between it and IP.
func decodeSlow(h *Header, b *capture.Batch, i int) {
	f := &b.Frames[i]
	iface, data := &b.Interfaces[f.Interface], b.Data(i)
	*h = Header{}
	w := walk{d: data, h: h, link: iface.LinkType, bigEndian: b.Sections[iface.Section].BigEndian, frame: -1}
	w.run(atLink)
	if h.Version == 0 {
		h.Start, h.End, h.Wire = 0, f.CapLen, f.WireLen
	}
}

// slowProtocols returns the protocols, by version, that d looks into for others.
func (d *Decoder) slowProtocols() *[2][256]bool {
	rare := [2][256]bool{1: isExtension}
	if d.inner {
		for number, may := range mayTunnel {
			rare[0][number] = may
			rare[1][number] = may || isExtension[number]
		}
	}
	return &rare
}
