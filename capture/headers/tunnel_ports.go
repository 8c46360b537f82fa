// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	kernels "github.com/flowdedup/flowdedup/asm/headers"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// Tunnels says which UDP ports stand for tunnels. It is immutable, so goroutines may share it.
// A nil *Tunnels has the ports that are in use for tunnels.
type Tunnels struct {
	ports [256]*tunnelPort // by the low byte of a port
	// plain has the tunnels that a kernel opens.
	plain *kernels.Tunnels
	text  string
}

// tunnelPort is a port, and the tunnel that it stands for.
type tunnelPort struct {
	port    uint16
	kind    LayerKind // 0 for none
	generic bool      // LayerVXLAN: with the generic protocol extension
	told    bool      // a user has named the tunnel, so it is not doubtful
	skip    uint16    // LayerSkip: the length of the header
	next    *tunnelPort
}

// usualPorts are the ports of tunnels without a word of the user.
var usualPorts = []tunnelPort{
	{port: iana.PortVXLAN, kind: LayerVXLAN}, {port: iana.PortVXLANOld, kind: LayerVXLAN},
	{port: iana.PortVXLANGPE, kind: LayerVXLAN, generic: true},
	{port: iana.PortGENEVE, kind: LayerGENEVE}, {port: iana.PortGTPU, kind: LayerGTPU},
	{port: iana.PortL2TP, kind: LayerL2TP}, {port: iana.PortLISP, kind: LayerLISP},
	{port: iana.PortMPLS, kind: LayerMPLSinIP}, {port: iana.PortJMirror, kind: LayerJMirror},
	{port: iana.PortTZSP, kind: LayerTZSP}, {port: iana.PortCAPWAP, kind: LayerCAPWAP},
	{port: iana.PortLWAPP, kind: LayerLWAPP}, {port: iana.PortTeredo, kind: LayerTeredo},
	{port: iana.PortGUE, kind: LayerGUE},
}

// answering marks the tunnels whose servers answer from their port to any port: RFC 2661, section
// 8.1; RFC 4380, section 5.3.1; RFC 5415, section 3.1; RFC 5412, section 3.1. All packets of other
// tunnels go to the tunnel's port.
var answering = [layerKinds]bool{LayerL2TP: true, LayerTeredo: true, LayerCAPWAP: true, LayerLWAPP: true}

// noPort is of no tunnel.
var noPort tunnelPort

// usualTunnels has usualPorts.
var usualTunnels = newTunnels(nil)

// newTunnels returns the ports of told, and the usualPorts that told does not have. told has no port
// twice.
func newTunnels(told []tunnelPort) *Tunnels {
	t := &Tunnels{}
	var to, from []uint16
	for _, p := range slices.Concat(told, usualPorts) {
		if t.at(p.port) != &noPort {
			continue
		}
		p.next = t.ports[p.port%256]
		t.ports[p.port%256] = &p
		if p.kind != 0 {
			to = append(to, p.port)
		}
		if answering[p.kind] {
			from = append(from, p.port)
		}
	}
	t.plain = t.newPlain(to, from)
	return t
}

// newPlain has the shapes over UDP that most datagrams have, with headers of 8 bytes and
// options, GRE and IP in IP.
func (t *Tunnels) newPlain(to, from []uint16) *kernels.Tunnels {
	shape := func(port uint16, kind LayerKind, mask, value uint64, words uint8) (s kernels.TunnelShape) {
		if t.at(port).kind == kind {
			s = kernels.TunnelShape{Port: port, Mask: mask, Value: value, Words: words}
		}
		return s
	}
	// With an identifier, and without the next protocol or the control bit of VXLAN-GPE.
	const vxlanMask, vxlan = 0x0d << 56, 0x08 << 56
	return kernels.NewTunnels([4]kernels.TunnelShape{
		shape(iana.PortVXLAN, LayerVXLAN, vxlanMask, vxlan, 0),
		shape(iana.PortVXLANOld, LayerVXLAN, vxlanMask, vxlan, 0),
		shape(iana.PortVXLANGPE, LayerVXLAN, vxlanMask, vxlan, 0),
		shape(iana.PortGENEVE, LayerGENEVE, 0xc080ffff<<32, iana.TypeBridging<<32, 0x3f), // version 0
	}, // A packet of a user, and no optional fields.
		shape(iana.PortGTPU, LayerGTPU, 0xf7ff<<48, 0x30ff<<48, 0), to, from, &mayTunnel)
}

// or returns t, or the usual tunnels.
func (t *Tunnels) or() *Tunnels {
	if t == nil {
		return usualTunnels
	}
	return t
}

// at returns the tunnel of a port.
func (t *Tunnels) at(port uint16) *tunnelPort {
	for p := t.ports[port%256]; p != nil; p = p.next {
		if p.port == port {
			return p
		}
	}
	return &noPort
}

// ofPorts returns the tunnel that UDP ports stand for.
func (t *Tunnels) ofPorts(src, dst uint16) *tunnelPort {
	if to := t.at(dst); to.kind != 0 {
		return to
	}
	if from := t.at(src); answering[from.kind] {
		return from
	}
	return &noPort
}

// IsPort reports whether UDP packets to a port may belong to a tunnel. Packets from some of these
// ports may, too.
func (t *Tunnels) IsPort(port uint16) bool { return t.or().at(port).kind != 0 }

// byProtocol has the tunnels of IP protocols.
var byProtocol = func() (all [256]tunnelPort) {
	for number := range all {
		all[number].kind = kindOfProtocol(uint8(number))
	}
	return all
}()

// announced returns the tunnel that the protocol and the ports of an IP header announce. The protocol
// behind an authentication header may be a tunnel or not.
func (t *Tunnels) announced(h *Header) *tunnelPort {
	if h.Proto == iana.ProtoUDP {
		return t.ofPorts(h.SrcPort, h.DstPort)
	}
	return &byProtocol[h.Proto]
}

// Announces returns the kind of tunnel that the protocol and the ports of an IP header announce,
// or 0.
func (t *Tunnels) Announces(h *Header) LayerKind { return t.or().announced(h).kind }

// toldKinds are the names of tunnels over UDP that a user may name.
var toldKinds = map[string]tunnelPort{
	"vxlan": {kind: LayerVXLAN}, "vxlan-gpe": {kind: LayerVXLAN, generic: true}, "geneve": {kind: LayerGENEVE}, "gtp": {kind: LayerGTPU}, "l2tp": {kind: LayerL2TP},
	"lisp": {kind: LayerLISP}, "mpls": {kind: LayerMPLSinIP}, "jmirror": {kind: LayerJMirror}, "tzsp": {kind: LayerTZSP}, "capwap": {kind: LayerCAPWAP},
	"lwapp": {kind: LayerLWAPP}, "teredo": {kind: LayerTeredo}, "gue": {kind: LayerGUE}, "none": {},
}

// toldSkip begins the name of a header that is skipped.
const toldSkip = "skip:"

// ToldKinds lists the names of tunnels that ParseTunnels knows, without skip:N.
func ToldKinds() (names []string) {
	for name := range toldKinds {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// ParseTunnels reads words with commas between them, each a UDP port and what comes to it:
// "10800=vxlan", "5555=skip:16" for 16 bytes before Ethernet or IP, or "4789=none". It returns
// the usual tunnels with these in their place or besides. Content of the named ports needs no
// proof.
func ParseTunnels(text string) (*Tunnels, error) {
	var told []tunnelPort
	for word := range strings.SplitSeq(text, ",") {
		p, err := parsePort(strings.TrimSpace(word))
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(told, func(o tunnelPort) bool { return o.port == p.port }) {
			return nil, fmt.Errorf("port %d is named twice", p.port)
		}
		told = append(told, p)
	}
	t := newTunnels(told)
	slices.SortFunc(told, func(a, b tunnelPort) int { return cmp.Compare(a.port, b.port) })
	var words []string
	for i := range told {
		words = append(words, told[i].String())
	}
	t.text = strings.Join(words, ",")
	return t, nil
}

// parsePort reads a word of ParseTunnels.
func parsePort(word string) (tunnelPort, error) {
	number, name, _ := strings.Cut(word, "=")
	port, err := strconv.ParseUint(number, 10, 16)
	p, known := toldKinds[name]
	if length, is := strings.CutPrefix(name, toldSkip); is {
		n, bad := strconv.ParseUint(length, 10, 16)
		p, known = tunnelPort{kind: LayerSkip, skip: uint16(n)}, bad == nil
	}
	if err != nil || port == 0 || !known {
		return p, fmt.Errorf("%q must be a UDP port and what comes to it, such as 10800=vxlan, 5555=skip:16 or 4789=none: %s or %sN", word, strings.Join(ToldKinds(), ", "), toldSkip)
	}
	p.port, p.told = uint16(port), true
	return p, nil
}

// String returns a word of ParseTunnels.
func (p *tunnelPort) String() string {
	name := toldSkip + strconv.Itoa(int(p.skip))
	for kind, is := range toldKinds {
		if p.kind == is.kind && p.generic == is.generic {
			name = kind
		}
	}
	return strconv.Itoa(int(p.port)) + "=" + name
}

// String returns the ports that a user has named, by their numbers, as ParseTunnels reads them. It
// is "" for the usual tunnels.
func (t *Tunnels) String() string { return t.or().text }
