// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"math"

	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// maxTunnels is how many nested tunnels are opened.
const maxTunnels = 8

const udpHeaderSize = 8

// IsTunnelPort reports whether UDP packets to a port may belong to a tunnel. Packets from the
// port of L2TP may, too.
func IsTunnelPort(port uint16) bool { return tunnelOfPorts(0, port) != 0 }

// tunnelOfPorts returns the tunnel that UDP ports stand for, or 0. An L2TP server answers
// from its port to any port (RFC 2661, section 8.1); all other tunnels go to their port.
func tunnelOfPorts(src, dst uint16) (kind LayerKind) {
	if src == iana.PortL2TP {
		kind = LayerL2TP
	}
	if to := &tunnelPorts[dst%256]; to.port == dst && to.kind != 0 {
		kind = to.kind
	}
	return kind
}

// tunnelPorts is indexed by the low byte of a port, in which all differ. So no branch depends on
// a port.
var tunnelPorts = [256]struct {
	port uint16
	kind LayerKind
}{
	iana.PortVXLAN % 256:    {iana.PortVXLAN, LayerVXLAN},
	iana.PortVXLANOld % 256: {iana.PortVXLANOld, LayerVXLAN},
	iana.PortVXLANGPE % 256: {iana.PortVXLANGPE, LayerVXLAN},
	iana.PortGENEVE % 256:   {iana.PortGENEVE, LayerGENEVE},
	iana.PortGTPU % 256:     {iana.PortGTPU, LayerGTPU},
	iana.PortL2TP % 256:     {iana.PortL2TP, LayerL2TP},
	iana.PortLISP % 256:     {iana.PortLISP, LayerLISP},
	iana.PortMPLS % 256:     {iana.PortMPLS, LayerMPLSinIP},
	iana.PortJMirror % 256:  {iana.PortJMirror, LayerJMirror},
	iana.PortTZSP % 256:     {iana.PortTZSP, LayerTZSP},
}

// mayTunnel marks the protocols that can carry other packets.
var mayTunnel = [256]bool{
	iana.ProtoIPv4: true, iana.ProtoIPv6: true, iana.ProtoUDP: true, iana.ProtoGRE: true,
	iana.ProtoAH: true, iana.ProtoEtherIP: true, iana.ProtoMPLS: true, iana.ProtoEthernet: true,
}

// OpenTunnels makes h, which describes frame d, describe the IP header or the frame without
// IP in the innermost tunnel, as Decode does with DecoderConfig.Inner. wireLen is the length
// of the frame on the wire.
func (h *Header) OpenTunnels(d []byte, wireLen uint32) {
	if mayTunnel[h.Proto] {
		openTunnels(h, d, wireLen, nil)
	}
}

// openTunnels replaces the header of frame d by the one inside the innermost tunnel. It
// does not open fragments. It leaves h as it is if the tunnel holds nothing that can be
// read. It notes the headers, unless n is nil. It returns what it did not open, of the last tunnel
// or of the frame in it.
func openTunnels(h *Header, d []byte, wireLen uint32, n *notes) (what Unopened) {
	end := max(uint64(wireLen), uint64(len(d))) // of the frame, on the wire
	stated := uint64(UnknownEnd)                // where the headers say that it ended before it was sliced
	for range maxTunnels {
		if h.Announces() == 0 || h.Flags&FlagFragment != 0 || h.L4 == 0 {
			n.begin()
			n.closed(h, d)
			return what
		}
		stated = min(stated, h.WireEnd(d))
		end = min(end, stated)
		in := Header{}
		var w walk // filled field by field: a literal would be copied
		w.d, w.o, w.h, w.frame, w.notes = d[:h.End:h.End], int(h.L4), &in, -1, n
		n.begin()
		s, length := w.tunnel(h)
		if length >= 0 {
			stated = min(stated, uint64(h.L4)+uint64(length))
			end = min(end, stated)
			w.d = d[:min(end, uint64(h.End))]
		}
		if w.end = uint32(min(end, math.MaxUint32)); stated != UnknownEnd {
			w.end = uint32(stated)
		}
		if n != nil || !w.common(s) {
			w.run(s)
		}
		n.end(&w, end)
		what = Unopened{}
		switch {
		case !w.believed():
			n.disbelieved(h, d)
			return h.close(d, &w, true)
		case in.Version == 0 && (w.frame < 0 || w.noIP):
			n.closed(h, d)
			return h.close(d, &w, false)
		case in.Version == 0:
			what = w.unopened
			in.Start, in.End = uint32(w.frame), uint32(len(w.d))
			in.Wire = uint32(min(end-uint64(w.frame), 1<<32-1))
			if uint32(in.Tag) < in.Start { // a tag between the tunnel and the frame is not part of the frame
				in.Tags = 0
			}
		case w.frame < 0:
			h.inheritLink(&in)
		}
		in.Flags |= FlagInner
		*h = in
	}
	return what
}

// WireEnd returns the offset in frame d at which the datagram ends by its own length field,
// and UnknownEnd if that field is 0. h describes an IP header.
func (h *Header) WireEnd(d []byte) uint64 {
	ip := d[h.Start:]
	length := uint64(binary.BigEndian.Uint16(ip[2:]))
	if h.Version == 6 {
		if length = uint64(binary.BigEndian.Uint16(ip[4:])); length != 0 {
			length += 40
		}
	}
	if length == 0 {
		return UnknownEnd
	}
	return uint64(h.Start) + length
}

// UnknownEnd is the WireEnd of a datagram that does not state its length.
const UnknownEnd = 1<<64 - 1

// inheritLink copies the description of the link header from h to in. Tunnels without a
// link header of their own need it.
func (h *Header) inheritLink(in *Header) {
	in.Flags |= h.Flags & linkFlags
	in.VLAN, in.Dst, in.Src, in.Tag, in.Tags = h.VLAN, h.Dst, h.Src, h.Tag, h.Tags
}

// tunnel reads the tunnel header at the start of the payload of h. It returns the step
// behind it, and the length of the payload from h.L4 on, or -1 if the tunnel does not
// say.
func (w *walk) tunnel(h *Header) (s step, length int) {
	switch h.Proto {
	case iana.ProtoUDP:
		return w.udpTunnel(h)
	case iana.ProtoAH:
		next, header := authenticated(w.d[w.o:])
		w.o += header
		if s, length = w.ipTunnel(next); length >= 0 {
			length += header
		}
		return s, length
	}
	return w.ipTunnel(h.Proto)
}

// ipTunnel is tunnel for an IP protocol other than UDP.
func (w *walk) ipTunnel(proto uint8) (s step, length int) {
	switch proto {
	case iana.ProtoIPv4:
		w.note(LayerIPinIP, 0, 0, 0)
		return atIP4, -1
	case iana.ProtoIPv6:
		w.note(LayerIPinIP, 0, 0, 0)
		return atIP6, -1
	case iana.ProtoGRE:
		return w.gre()
	case iana.ProtoMPLS: // RFC 4023
		w.note(LayerMPLSinIP, 0, 0, 0)
		return atMPLS, -1
	case iana.ProtoEthernet: // RFC 8986, section 4.9
		w.note(LayerEthernetInIP, 0, 0, 0)
		return atEther, -1
	case iana.ProtoEtherIP:
		return w.etherIP(), -1
	}
	return stop, -1
}

// udpTunnel is tunnel for UDP.
func (w *walk) udpTunnel(h *Header) (s step, length int) {
	if w.left() < udpHeaderSize {
		return stop, -1
	}
	length = int(w.be16(4))
	switch {
	case length == 0: // a jumbogram, RFC 2675
		length = -1
	case length < udpHeaderSize:
		return stop, -1
	}
	w.o += udpHeaderSize
	switch tunnelOfPorts(h.SrcPort, h.DstPort) {
	case LayerVXLAN:
		if h.DstPort == iana.PortVXLANGPE {
			return w.vxlanGPE(), length
		}
		return w.vxlan(), length
	case LayerGENEVE:
		return w.geneve(), length
	case LayerGTPU:
		s, gtp := w.gtp(length - udpHeaderSize)
		return s, shorter(length, udpHeaderSize+gtp)
	case LayerL2TP:
		s, l2tp := w.l2tp()
		return s, shorter(length, udpHeaderSize+l2tp)
	case LayerLISP:
		return w.lisp(), length
	case LayerMPLSinIP: // RFC 7510
		w.doubt = ofAll
		w.note(LayerMPLSinIP, 0, 0, 0)
		return atMPLS, length
	case LayerJMirror:
		return w.jmirror(), length
	case LayerTZSP:
		return w.tzsp(), length
	}
	return stop, -1
}

// shorter returns the smaller of two lengths; an a of -1 counts as none.
func shorter(a, b int) int {
	if a < 0 {
		return b
	}
	return min(a, b)
}

// Bits of the first two bytes of a GRE header (RFC 2784, RFC 2890, RFC 2637).
const (
	greChecksum = 0x8000
	greRouting  = 0x4000
	greKey      = 0x2000
	greSequence = 0x1000
	greAck      = 0x0080
	greVersion  = 0x0007
)

// gre reads a GRE header of version 0, or of version 1 as PPTP and EoIP use it. The length
// is known for these two only, and counts from the start of the header.
func (w *walk) gre() (s step, length int) {
	if w.left() < 4 {
		return stop, -1
	}
	flags, typ := w.be16(0), w.be16(2)
	switch flags & greVersion {
	case 0:
		return w.gre0(flags, typ), -1
	case 1:
		if typ == iana.TypeEoIP {
			return w.eoip(flags)
		}
		return w.pptp(flags, typ)
	}
	return stop, -1
}

func (w *walk) gre0(flags, typ uint16) step {
	start := w.o
	w.o += 4
	for _, field := range [...]uint16{greChecksum | greRouting, greKey, greSequence} {
		if flags&field != 0 {
			w.o += 4
		}
	}
	if flags&greRouting != 0 && !w.greRoutes() {
		return stop
	}
	switch typ {
	case iana.TypeERSPAN2:
		if flags&greSequence == 0 { // type I, which has no header
			w.noteBehind(LayerERSPAN, start, 0)
			return atEther
		}
		return w.erspan2(start)
	case iana.TypeERSPAN3:
		return w.erspan3(start)
	}
	kind, id := greKind(w.d[start:], flags, typ)
	if typ == iana.TypeWCCP {
		w.redirected()
	}
	w.noteBehind(kind, start, id)
	switch typ {
	case iana.TypePPP:
		return atPPP
	case iana.TypeWCCP:
		return atIP
	}
	w.typ = typ
	return atType
}

// minSubnet is the least virtual subnet of NVGRE (RFC 7637, section 3.2).
const minSubnet = 0x1000

// greKind distinguishes NVGRE from GRE, and returns the key or the virtual subnet of a header
// of version 0.
func greKind(header []byte, flags, typ uint16) (LayerKind, uint32) {
	at := 4
	if flags&(greChecksum|greRouting) != 0 {
		at = 8
	}
	if flags&greKey == 0 || len(header) < at+4 {
		return LayerGRE, 0
	}
	key := binary.BigEndian.Uint32(header[at:])
	if typ == iana.TypeBridging && flags&(greChecksum|greSequence) == 0 && key>>8 >= minSubnet {
		return LayerNVGRE, key >> 8
	}
	return LayerGRE, key
}

// greRoutes skips the source route entries of RFC 1701. An empty entry ends them.
func (w *walk) greRoutes() bool {
	for w.left() >= 4 {
		family, length := w.be16(0), w.d[w.o+3]
		w.o += 4 + int(length)
		if family == 0 && length == 0 {
			return true
		}
	}
	return false
}

// pptp reads the enhanced GRE header of RFC 2637, section 4.1. The upper half of its key
// is the length of the payload.
func (w *walk) pptp(flags, typ uint16) (s step, length int) {
	header := 8
	if flags&greSequence != 0 {
		header += 4
	}
	if flags&greAck != 0 {
		header += 4
	}
	if flags&greKey == 0 || typ != iana.TypePPP || w.left() < header {
		return stop, -1
	}
	length = header + int(w.be16(4))
	w.note(LayerPPTP, 0, header, uint32(w.be16(6)))
	return w.goTo(header, atPPP), length
}

// erspan2 reads the header of ERSPAN type II (draft-foschiano-erspan) behind a GRE header
// that begins at start.
func (w *walk) erspan2(start int) step {
	const header = 8
	if w.left() < header {
		return stop
	}
	session := w.erspanSession()
	w.o += header
	w.noteBehind(LayerERSPAN, start, session)
	return atEther
}

// erspanSession returns the session that ERSPAN headers of types II and III have in their
// first word.
func (w *walk) erspanSession() uint32 { return uint32(w.be16(2) & 0x3ff) }

// erspan3 reads the header of ERSPAN type III (draft-foschiano-erspan): twelve
// bytes, and eight more with the last bit set.
func (w *walk) erspan3(start int) step {
	const header, subheader = 12, 8
	const frameEthernet, frameIP = 0, 2
	if w.left() < header {
		return stop
	}
	last, session := w.be16(10), w.erspanSession()
	w.o += header
	if last&1 != 0 {
		w.o += subheader
	}
	w.noteBehind(LayerERSPAN, start, session)
	switch last >> 10 & 0x1f {
	case frameEthernet:
		return atEther
	case frameIP:
		return atIP
	}
	return stop
}
