// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/enum"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// Layer is a header on the way from the start of a frame to the IP header that a Decoder
// describes. Offsets are in bytes from the first captured byte of the frame, and
// Start <= End <= captured length always holds.
type Layer struct {
	Kind LayerKind
	// Start and End delimit the header. Those of LayerEthernet and LayerIP delimit the
	// whole frame or datagram that begins with it, as far as it was captured.
	Start, End uint32
	// ID is the identifier of a VLAN (12 bits), the label of an MPLS entry (20 bits), the
	// session of PPPoE (16 bits) or ERSPAN (10 bits), the VNI of VXLAN or GENEVE (24
	// bits), the tunnel endpoint of GTP-U, the key of GRE, the call of PPTP, the virtual
	// subnet of NVGRE, the tunnel (upper 16 bits) and session of L2TP, the session
	// of L2TPv3 (32 bits), the number of the tunnel of EoIP (16 bits) or EtherIP (12 bits), the instance of LISP (24 bits), or the
	// intercept of JMirror. It is 0 where a header has none. Of LayerUnread it is the
	// LayerKind that was not read.
	ID uint32
	// Wire is set only for LayerEthernet and LayerIP: the length on the wire of the frame or
	// datagram. A datagram states it. For a frame the enclosing header or the capture states
	// it.
	Wire uint32
}

// LayerKind is the protocol of a Layer.
type LayerKind uint8

// The headers that Layers lists.
const (
	LayerEthernet LayerKind = iota + 1
	// LayerIP is IPv4 or IPv6.
	LayerIP
	// LayerVLAN is an 802.1Q or 802.1ad tag without its first two bytes, the type field of the
	// header before it: it ends with the type of the next header.
	LayerVLAN
	// LayerMPLS is an entry of a label stack (RFC 3032).
	LayerMPLS
	// LayerPPPoE is the header of a session (RFC 2516), without the PPP protocol behind
	// it.
	LayerPPPoE
	// LayerArista is the time header of Arista switches. Like a tag, it begins behind the type
	// field that announces it, and ends with the type of the next header.
	LayerArista
	// LayerIPinIP is a tunnel without a header of its own (RFC 2003, RFC 2473).
	LayerIPinIP
	LayerGRE
	LayerPPTP // GRE of version 1 (RFC 2637)
	// LayerNVGRE is GRE that carries Ethernet and has a key of which the upper 24 bits are
	// a virtual subnet (RFC 7637). Other keys, whose upper bits are below the range of
	// virtual subnets, are LayerGRE.
	LayerNVGRE
	// LayerERSPAN is a GRE header and the ERSPAN header of type II or III behind it. Type
	// I has none.
	LayerERSPAN
	// LayerVXLAN is VXLAN, or VXLAN-GPE.
	LayerVXLAN
	LayerGENEVE
	LayerGTPU
	// LayerL2TP is L2TP of version 2 (RFC 2661).
	LayerL2TP
	LayerLISP
	// LayerMPLSinIP is a tunnel without a header of its own: a label stack in IP or UDP
	// (RFC 4023, RFC 7510).
	LayerMPLSinIP
	// LayerEthernetInIP is an Ethernet frame in IP, also without a header of a tunnel, as segment
	// routing carries it (RFC 8986).
	LayerEthernetInIP
	LayerEtherIP // RFC 3378
	LayerEoIP    // MikroTik's
	LayerTZSP
	LayerJMirror // Juniper's
	LayerL2TPv3  // RFC 3931, over IP and over UDP
	LayerCAPWAP  // of data (RFC 5415)
	LayerLWAPP   // RFC 5412
	LayerTeredo  // RFC 4380
	LayerGUE     // draft-ietf-intarea-gue
	// LayerSkip is a header of a length that a user has named.
	LayerSkip
	// LayerUnread is the last of a list, and says that a header of the kind in ID was not
	// followed: it was cut short, is in a fragment, carries an unknown protocol, or lies beyond
	// maxTunnels.
	LayerUnread
	layerKinds int = iota + 1
)

var layerNames = [layerKinds]string{
	"", "ethernet", "ip", "vlan", "mpls", "pppoe", "arista", "ipip", "gre", "pptp", "nvgre", "erspan", "vxlan", "geneve", "gtp",
	"l2tp", "lisp", "mpls-in-ip", "ethernet-in-ip", "etherip", "eoip", "tzsp", "jmirror",
	"l2tpv3", "capwap", "lwapp", "teredo", "gue", "skip", "unread",
}

// String returns the name of the protocol in lower case.
func (k LayerKind) String() string { return enum.Name(layerNames[:], k) }

// Tunnel reports whether k is a tunnel, whose header lies behind an IP header.
func (k LayerKind) Tunnel() bool { return k >= LayerIPinIP && k < LayerUnread }

// HasID reports whether headers of kind k carry an identifier: see Layer.ID.
func (k LayerKind) HasID() bool {
	switch k {
	case LayerVLAN, LayerMPLS, LayerPPPoE:
		return true
	case LayerIPinIP, LayerMPLSinIP, LayerEthernetInIP, LayerTZSP, LayerCAPWAP, LayerLWAPP, LayerTeredo, LayerGUE, LayerSkip:
		return false
	}
	return k.Tunnel()
}

// Layers appends the headers of frame i of b to dst, the outermost first, and returns the
// extended slice. Decode describes the last LayerIP or, where it finds a
// frame without IP in a tunnel, the first LayerEthernet behind the last tunnel. A Decoder
// without Inner stops at the first IP header. Layers takes time linear in the length of the
// frame, and allocates only when dst has to grow. It panics if b has no frame i.
func (d *Decoder) Layers(dst []Layer, b *capture.Batch, i int) []Layer {
	return d.LayersBut(0, dst, b, i)
}

// LayerKinds is a set of kinds: bit k stands for LayerKind k.
type LayerKinds uint32

// LayersBut is Layers without the headers of some kinds, whose number a frame may choose.
func (d *Decoder) LayersBut(skipped LayerKinds, dst []Layer, b *capture.Batch, i int) []Layer {
	f := &b.Frames[i]
	var h Header
	n := notes{list: dst, skipped: skipped}
	readFrame(&h, b, i, &n)
	if d.inner {
		d.tunnels.open(&h, b.Data(i), f.WireLen, &n)
	}
	return n.list
}

// notes is where a walk notes the headers that it reads. nil takes none.
type notes struct {
	list []Layer
	from int // the first layer of the walk
	// skipped are kinds that are not noted.
	skipped LayerKinds
}

// takes reports whether headers of a kind are noted.
func (n *notes) takes(kind LayerKind) bool { return n != nil && n.skipped>>kind&1 == 0 }

// note adds a header that begins n bytes after the offset of the walk.
func (w *walk) note(kind LayerKind, n, length int, id uint32) {
	if !w.notes.takes(kind) {
		return
	}
	start := uint32(w.o + n)
	w.notes.list = append(w.notes.list, Layer{Kind: kind, Start: start, End: start + uint32(length), ID: id})
}

// noteBehind adds a header from start to the offset of the walk.
func (w *walk) noteBehind(kind LayerKind, start int, id uint32) {
	w.note(kind, start-w.o, w.o-start, id)
}

// noteUnread adds that a header at the offset of the walk was not read.
func (w *walk) noteUnread(kind LayerKind) {
	if w.notes != nil {
		w.notes.unread(kind, min(w.o, len(w.d)))
	}
}

func (n *notes) unread(kind LayerKind, at int) {
	n.list = append(n.list, Layer{Kind: LayerUnread, Start: uint32(at), End: uint32(at), ID: uint32(kind)})
}

// begin says that a further walk begins.
func (n *notes) begin() {
	if n != nil {
		n.from = len(n.list)
	}
}

// end completes the notes of the walk: frames end where it ended, on the wire at end.
func (n *notes) end(w *walk, end uint64) {
	if n == nil {
		return
	}
	for i := n.from; i < len(n.list); i++ {
		switch l := &n.list[i]; l.Kind {
		case LayerEthernet:
			l.End = uint32(len(w.d))
			l.Wire = uint32(min(max(end, uint64(l.End))-uint64(l.Start), 1<<32-1))
		case LayerIP:
			ends := min(max(end, uint64(l.End)), w.h.WireEnd(w.d))
			l.Wire = uint32(min(ends-uint64(l.Start), 1<<32-1))
		}
	}
}

// closed takes back the notes of a walk into a tunnel of a kind without readable content.
func (n *notes) closed(kind LayerKind, h *Header, d []byte) {
	if n == nil {
		return
	}
	n.list = n.list[:n.from]
	if kind = kindBehind(kind, h, d); kind != 0 {
		n.unread(kind, int(max(h.L4, h.Start)))
	}
}

// kindBehind returns the kind of tunnel that h announces, or the kind behind an authentication
// header.
func kindBehind(kind LayerKind, h *Header, d []byte) LayerKind {
	if h.Proto == iana.ProtoAH && h.L4 != 0 {
		next, _ := authenticated(d[h.L4:h.End])
		return kindOfProtocol(next)
	}
	return kind
}

// disbelieved takes back the notes of a walk into a tunnel without a plausible packet. It was
// no tunnel, unless the packet was truncated.
func (n *notes) disbelieved(kind LayerKind, h *Header, d []byte) {
	if n == nil {
		return
	}
	n.list = n.list[:n.from]
	if h.WireEnd(d) > uint64(len(d)) {
		n.closed(kind, h, d)
	}
}

// kindOfProtocol returns the kind of tunnel that an IP protocol stands for, or 0.
func kindOfProtocol(proto uint8) LayerKind {
	switch proto {
	case iana.ProtoIPv4, iana.ProtoIPv6, iana.ProtoAH:
		return LayerIPinIP
	case iana.ProtoGRE:
		return LayerGRE
	case iana.ProtoMPLS:
		return LayerMPLSinIP
	case iana.ProtoEthernet:
		return LayerEthernetInIP
	case iana.ProtoEtherIP:
		return LayerEtherIP
	case iana.ProtoL2TP:
		return LayerL2TPv3
	}
	return 0
}
