// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"math"

	kernels "github.com/flowdedup/flowdedup/asm/headers"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// maxTunnels is how many nested tunnels are opened.
const maxTunnels = 8

const udpHeaderSize = 8

// mayTunnel marks the protocols that can carry other packets.
var mayTunnel = [256]bool{
	iana.ProtoIPv4: true, iana.ProtoIPv6: true, iana.ProtoUDP: true, iana.ProtoGRE: true,
	iana.ProtoAH: true, iana.ProtoEtherIP: true, iana.ProtoMPLS: true, iana.ProtoEthernet: true, iana.ProtoL2TP: true,
}

// Open makes h, which describes frame d, describe the IP header or the frame without IP in the
// innermost tunnel, as Decode does with DecoderConfig.Inner. wireLen is the length of the frame
// on the wire.
func (t *Tunnels) Open(h *Header, d []byte, wireLen uint32) {
	if mayTunnel[h.Proto] {
		t.or().open(h, d, wireLen, nil)
	}
}

// open replaces h, the header of frame d, by the header inside the innermost tunnel. It does not
// open fragments. If the tunnel holds nothing that can be read, it only sets FlagClosed. It notes the
// headers, unless n is nil. It returns what it did not open, of the last tunnel or of the frame in it.
func (t *Tunnels) open(h *Header, d []byte, wireLen uint32, n *notes) (what Unopened) {
	end := max(uint64(wireLen), uint64(len(d))) // of the frame, on the wire
	stated := uint64(UnknownEnd)                // where the headers say that it ended before it was sliced
	for range maxTunnels {
		to := t.announced(h)
		if to.kind == 0 || h.Flags&FlagFragment != 0 || h.L4 == 0 {
			n.begin()
			n.closed(to.kind, h, d)
			return what
		}
		stated = min(stated, h.WireEnd(d))
		end = min(end, stated)
		in := Header{}
		var w walk // filled field by field: a literal would be copied
		w.d, w.o, w.h, w.frame, w.notes = d[:h.End:h.End], int(h.L4), &in, -1, n
		w.ends(end, stated)
		n.begin()
		s, length := w.tunnel(h, to)
		if length >= 0 {
			stated = min(stated, uint64(h.L4)+uint64(length))
			end = min(end, stated)
			w.d = d[:min(end, uint64(h.End))]
		}
		w.ends(end, stated)
		if n != nil || !w.common(s) {
			w.run(s)
		}
		n.end(&w, end)
		what = Unopened{}
		switch {
		case !w.believed():
			n.disbelieved(to.kind, h, d)
			return h.close(to.kind, d, &w, true)
		case in.Version == 0 && (w.frame < 0 || w.noIP):
			n.closed(to.kind, h, d)
			return h.close(to.kind, d, &w, false)
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

// ends notes where the packet ends, on the wire or as its headers state.
func (w *walk) ends(end, stated uint64) {
	if w.end = uint32(min(end, math.MaxUint32)); stated != UnknownEnd {
		w.end = uint32(stated)
	}
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

// tunnel reads the tunnel header at the start of the payload of h, which announces it. It
// returns the step behind it, and the length of the payload from h.L4 on, or -1 if the tunnel
// does not say.
func (w *walk) tunnel(h *Header, to *tunnelPort) (s step, length int) {
	switch h.Proto {
	case iana.ProtoUDP:
		s, length = w.udpTunnel(to)
		if to.told {
			w.doubt = certain
		}
		return s, length
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
	case iana.ProtoL2TP:
		return w.l2tpv3(), -1
	}
	return stop, -1
}

// udpTunnel is tunnel for UDP.
func (w *walk) udpTunnel(to *tunnelPort) (s step, length int) {
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
	switch to.kind {
	case LayerGTPU:
		s, gtp := w.gtp(length - udpHeaderSize)
		return s, shorter(length, udpHeaderSize+gtp)
	case LayerL2TP:
		s, l2tp := w.l2tp()
		return s, shorter(length, udpHeaderSize+l2tp)
	case LayerGUE:
		s, gue := w.gue()
		if gue >= 0 {
			length = shorter(length, udpHeaderSize+gue)
		}
		return s, length
	}
	return w.inDatagram(to), length
}

// inDatagram reads the header of a tunnel that fills the datagram.
func (w *walk) inDatagram(to *tunnelPort) step {
	switch to.kind {
	case LayerVXLAN:
		if to.generic {
			return w.vxlanGPE()
		}
		return w.vxlan()
	case LayerGENEVE:
		return w.geneve()
	case LayerLISP:
		return w.lisp()
	case LayerMPLSinIP: // RFC 7510
		w.doubt = ofAll
		w.note(LayerMPLSinIP, 0, 0, 0)
		return atMPLS
	case LayerJMirror:
		return w.jmirror()
	case LayerTZSP:
		return w.tzsp()
	case LayerCAPWAP:
		return w.capwap()
	case LayerLWAPP:
		return w.lwapp()
	case LayerTeredo:
		return w.teredo()
	case LayerSkip:
		return w.skipped(int(to.skip))
	}
	return stop
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
	return w.unknown(unopenedTunnel, uint32(LayerGRE)), -1
}

func (w *walk) gre0(flags, typ uint16) step {
	start := w.o
	w.o += kernels.GRELength(flags)
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
	case iana.TypeMirror:
		const header = 22 // without what other readers need
		w.noteBehind(LayerGRE, start, 0)
		return w.goTo(header, atEther)
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
	switch {
	case flags&greKey == 0 || typ != iana.TypePPP:
		return w.unknown(unopenedTunnel, uint32(LayerGRE)), -1
	case w.left() < header:
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
	return w.unknown(unopenedTunnel, uint32(LayerERSPAN))
}
