// SPDX-License-Identifier: Apache-2.0

package frametest

import (
	"slices"

	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// TunnelCases has packets in tunnels.
var TunnelCases = slices.Concat([]tunnelCase{
	{"gre", Gre4("\x00\x00", BE16(iana.TypeIPv4), Packet4), Packet4},
	{"gre with everything", Gre4("\xb0\x00", BE16(iana.TypeIPv6), "\x12\x34\x00\x00", "key!", "seq!", Packet6), Packet6},
	{"gre source route", Gre4("\x40\x00", BE16(iana.TypeIPv4), "\x00\x00\x00\x00", "\x08\x00\x00\x04addr", "\x00\x00\x00\x00", Packet4), Packet4},
	{"gre endless source route", Gre4("\x40\x00", BE16(iana.TypeIPv4), "\x00\x00\x00\x00", "\x08\x00\x00\x04addr"), nil},
	{"gre bridging", Gre4("\x20\x00", BE16(iana.TypeBridging), "key!", Ether(iana.TypeIPv4, Packet4)), Packet4},
	{"gre bridging arp", Gre4("\x20\x00", BE16(iana.TypeBridging), "key!", ARPFrame), ARPFrame},
	{"gre mpls", Gre4("\x00\x00", BE16(iana.TypeMPLS), "\x00\x01\x01\x40", Packet6), Packet6},
	{"gre ppp", Gre4("\x00\x00", BE16(iana.TypePPP), "\xff\x03\x00\x21", Packet4), Packet4},
	{"gre keepalive", Gre4("\x00\x00\x00\x00"), nil},
	{"gre version 2", Gre4("\x00\x02", BE16(iana.TypeIPv4), Packet4), nil},
	{"pptp", Gre4("\x30\x81", BE16(iana.TypePPP), BE16(4+len(Packet4)), "\x00\x01", "seq!", "ack!", "\xff\x03\x00\x21", Packet4), Packet4},
	{"pptp acknowledgement", Gre4("\x20\x81", BE16(iana.TypePPP), "\x00\x00\x00\x01", "ack!"), nil},
	{"erspan I", Gre4("\x00\x00", BE16(iana.TypeERSPAN2), Ether(iana.TypeIPv4, Packet4)), Packet4},
	{"erspan II", Gre4("\x10\x00", BE16(iana.TypeERSPAN2), "seq!", "\x10\x64\x00\x01\x00\x00\x00\x05", Ether(iana.TypeVLAN, Join(BE16(5), BE16(iana.TypeIPv4), Packet4))), Packet4},
	{"erspan III", Gre4("\x10\x00", BE16(iana.TypeERSPAN3), "seq!", "\x20\x64\x00\x01", "time", "\x00\x00\x00\x00", Ether(iana.TypeIPv6, Packet6)), Packet6},
	{"erspan III subheader", Gre4("\x10\x00", BE16(iana.TypeERSPAN3), "seq!", "\x20\x64\x00\x01", "time", "\x00\x00\x00\x01", "platform", Ether(iana.TypeIPv6, Packet6)), Packet6},
	{"erspan III ip", Gre4("\x10\x00", BE16(iana.TypeERSPAN3), "seq!", "\x20\x64\x00\x01", "time", "\x00\x00\x08\x00", Packet4), Packet4},
	{"vxlan", UDP4(iana.PortVXLAN, Join("\x08\x00\x00\x00\x00\x00\x64\x00", Ether(iana.TypeIPv4, Packet4))), Packet4},
	{"vxlan, linux", UDP4(iana.PortVXLANOld, Join("\x08\x00\x00\x00\x00\x00\x64\x00", Ether(iana.TypeIPv6, Packet6))), Packet6},
	{"vxlan arp", UDP4(iana.PortVXLAN, Join("\x08\x00\x00\x00\x00\x00\x64\x00", ARPFrame)), ARPFrame},
	{"vxlan-gpe", UDP4(iana.PortVXLANGPE, Join("\x0c\x00\x00\x02\x00\x00\x64\x00", Packet6)), Packet6},
	{"vxlan-gpe ethernet", UDP4(iana.PortVXLANGPE, Join("\x0c\x00\x00\x03\x00\x00\x64\x00", Ether(iana.TypeIPv4, Packet4))), Packet4},
	{"vxlan-gpe nsh", UDP4(iana.PortVXLANGPE, Join("\x0c\x00\x00\x04\x00\x00\x64\x00", "\x0f\xc2\x02\x01\x00\x00\x01\xff", Packet4)), Packet4},
	{"geneve", UDP4(iana.PortGENEVE, Join("\x02\x00", BE16(iana.TypeBridging), "\x00\x00\x64\x00", "option42", Ether(iana.TypeIPv4, Packet4))), Packet4},
	{"geneve ip", UDP4(iana.PortGENEVE, Join("\x00\x00", BE16(iana.TypeIPv6), "\x00\x00\x64\x00", Packet6)), Packet6},
	{"geneve control", UDP4(iana.PortGENEVE, Join("\x00\x80", BE16(iana.TypeIPv6), "\x00\x00\x64\x00", Packet6)), nil},
	{"gtp", UDP4(iana.PortGTPU, Join("\x30\xff", BE16(len(Packet4)), "teid", Packet4)), Packet4},
	{"gtp sequence", UDP4(iana.PortGTPU, Join("\x32\xff", BE16(4+len(Packet6)), "teid", "\x00\x01\x00\x00", Packet6)), Packet6},
	{"gtp extensions", UDP4(iana.PortGTPU, Join("\x34\xff", BE16(16+len(Packet4)), "teid", "\x00\x00\x00\x85", "\x01\x10\x01\xc0", "\x02seven7\x00", Packet4)), Packet4},
	{"gtp echo", UDP4(iana.PortGTPU, Join("\x32\x01", BE16(4), "teid", "\x00\x01\x00\x00")), nil},
	{"gtp prime", UDP4(iana.PortGTPU, Join("\x2e\xff", BE16(len(Packet4)), "teid", Packet4)), nil},
	{"gtp empty extension", UDP4(iana.PortGTPU, Join("\x34\xff", BE16(8+len(Packet4)), "teid", "\x00\x00\x00\x85", "\x00\x10\x01\x00", Packet4)), nil},
	{"ip in ip", IP4(9, iana.ProtoIPv4, Packet4), Packet4},
	{"6 in 4", IP4(9, iana.ProtoIPv6, Packet6), Packet6},
	{"4 in 6", IP6(9, iana.ProtoIPv4, Packet4), Packet4},
	{"6 in 6 after options", IP6(9, iana.ProtoDstOpts, Join("\x29\x00\x01\x04\x00\x00\x00\x00", Packet6)), Packet6},
	{"three deep", IP4(8, iana.ProtoIPv6, IP6(9, iana.ProtoGRE, Join("\x00\x00", BE16(iana.TypeIPv4), Packet4))), Packet4},
	{"tunnel with damaged content", IP4(9, iana.ProtoIPv4, Join("\x41", Packet4[1:])), nil},
	{"other port", UDP4(4791, Join("\x08\x00\x00\x00\x00\x00\x64\x00", Ether(iana.TypeIPv4, Packet4))), nil},
	{"udp length below header", IP4(9, iana.ProtoUDP, Join(BE16(1), BE16(iana.PortVXLAN), BE16(7), "\x00\x00\x08\x00\x00\x00\x00\x00\x64\x00", Ether(iana.TypeIPv4, Packet4))), nil},
}, ipTunnelCases, UDPTunnelCases, remoteTunnelCases)

// tunnelCase is a packet in tunnels, and what they carry, or nil if they must stay closed.
type tunnelCase struct {
	Name           string
	Outer, Carried []byte
}

var ipTunnelCases = []tunnelCase{
	{"ah", ah(iana.ProtoIPv4, Packet4), Packet4},
	{"ah 6 in 4", ah(iana.ProtoIPv6, Packet6), Packet6},
	{"ah gre", ah(iana.ProtoGRE, Join("\x00\x00", BE16(iana.TypeIPv6), Packet6)), Packet6},
	{"ah tcp", ah(iana.ProtoTCP, TCP(1, 2, []byte("data"))), nil},
	{"ah twice", ah(iana.ProtoAH, Join(ahHeader, Packet4)), nil},
	{"etherip", IP4(9, iana.ProtoEtherIP, Join("\x30\x00", Ether(iana.TypeIPv4, Packet4))), Packet4},
	{"etherip arp", IP4(9, iana.ProtoEtherIP, Join("\x30\x05", ARPFrame)), ARPFrame},
	{"etherip version 2", IP4(9, iana.ProtoEtherIP, Join("\x20\x00", Ether(iana.TypeIPv4, Packet4))), nil},
	{"mpls in ip", IP4(9, iana.ProtoMPLS, Join("\x00\x01\x30\x40", Label, Packet6)), Packet6},
	{"mpls in ip, no end", IP4(9, iana.ProtoMPLS, []byte("\x00\x01\x30\x40")), nil},
	{"srv6", IP6(9, iana.ProtoRouting, Join([]byte{iana.ProtoEthernet, 2, 4, 0, 0, 0, 0, 0}, make([]byte, 16), Ether(iana.TypeIPv4, Packet4))), Packet4},
	{"srv6 arp", IP6(9, iana.ProtoEthernet, ARPFrame), ARPFrame},
	{"srv6 cut", IP6(9, iana.ProtoEthernet, ARPFrame[:13]), nil},
	{"wccp 2", Gre4("\x00\x00", BE16(iana.TypeWCCP), redirect, Packet4), Packet4},
	{"wccp 2 ipv6", Gre4("\x00\x00", BE16(iana.TypeWCCP), redirect, Packet6), Packet6},
	{"wccp 2 alternative bucket", Gre4("\x00\x00", BE16(iana.TypeWCCP), "\x40\x05\x01\x00", Packet4), Packet4},
	{"wccp 1", Gre4("\x00\x00", BE16(iana.TypeWCCP), Packet4), Packet4},
	{"eoip", Eoip(Ether(iana.TypeIPv4, Packet4), 14+len(Packet4)), Packet4},
	{"eoip arp", Eoip(ARPFrame, len(ARPFrame)), ARPFrame},
	{"eoip with padding", Eoip(Join(ARPFrame, "padding"), len(ARPFrame)), ARPFrame},
	{"eoip with a sequence number", Gre4("\x30\x01", BE16(iana.TypeEoIP), BE16(len(ARPFrame)), "\x05\x00", "seq!", ARPFrame), nil},
	{"eoip keepalive", Eoip(nil, 0), nil},
}

var UDPTunnelCases = func() []tunnelCase {
	frame, ppp := Ether(iana.TypeIPv4, Packet4), Join("\xff\x03\x00\x21", Packet4)
	lisp := func(flags, next byte, p []byte) []byte {
		return UDP4(iana.PortLISP, Join([]byte{flags, 0, 0, next}, "\x00\x00\x64\x00", p))
	}
	tzsp := func(kind, protocol int, tags string, p []byte) []byte {
		return UDP4(iana.PortTZSP, Join([]byte{1, byte(kind)}, BE16(protocol), tags, p))
	}
	unflagged := func(p []byte) []byte { return UDP4(iana.PortVXLAN, Join("\x00\x00\x00\x00\x00\x00\x64\x00", p)) }
	mirrored := func(p []byte) []byte { return UDP4(iana.PortJMirror, Join("\x00\x00\x00\x01\x00\x00\x00\x02", p)) }
	return []tunnelCase{
		{"l2tp", UDP4(iana.PortL2TP, L2tp(0, nil, ppp)), Packet4},
		{"l2tp ipv6", UDP4(iana.PortL2TP, L2tp(0, nil, "\x00\x57", Packet6)), Packet6},
		{"l2tp to a client", IP4(9, iana.ProtoUDP, UDP(iana.PortL2TP, 40000, L2tp(0, nil, ppp))), Packet4},
		{"l2tp with everything", UDP4(iana.PortL2TP, Join(BE16(0x4a02), BE16(16+len(ppp)), BE16(7), BE16(9), "\x00\x01\x00\x02\x00\x02oo", ppp, "more")), Packet4},
		{"l2tp control", UDP4(iana.PortL2TP, Join("\xc8\x02", BE16(12), "\x00\x07\x00\x00\x00\x01\x00\x02")), nil},
		{"l2tp with an unknown flag", UDP4(iana.PortL2TP, L2tp(0x10, nil, ppp)), nil},
		{"l2tp version 3", UDP4(iana.PortL2TP, Join("\x00\x03", ppp)), nil},
		{"l2tp ipcp", UDP4(iana.PortL2TP, L2tp(0, nil, "\xff\x03\x80\x21\x01\x01\x00\x04")), nil},
		{"l2tp wrong checksum", UDP4(iana.PortL2TP, L2tp(0, nil, "\x00\x21", Broken4)), Broken4},
		{"l2tp length beyond", UDP4(iana.PortL2TP, L2tp(0, nil, "\x00\x57", Packet6[:len(Packet6)-1])), Packet6[:len(Packet6)-1]},
		{"lisp", lisp(0, 0, Packet4), Packet4},
		{"lisp ipv6", lisp(0x88, 0, Packet6), Packet6},
		{"lisp with a nonce", lisp(0x80, 9, Packet4), Packet4},
		{"lisp ethernet", lisp(0x0c, 3, frame), Packet4},
		{"lisp arp", lisp(0x0c, 3, ARPFrame), ARPFrame},
		{"lisp wrong checksum", lisp(0, 0, Broken4), Broken4},
		{"lisp wrong length", lisp(0, 0, Join(Packet6, "x")), Packet6},
		{"mpls in udp", UDP4(iana.PortMPLS, Join(Label, Packet4)), Packet4},
		{"mpls in udp ipv6", UDP4(iana.PortMPLS, Join("\x00\x01\x30\x40", Label, Packet6)), Packet6},
		{"mpls in udp ethernet", UDP4(iana.PortMPLS, Join(Label, make([]byte, 4), frame)), Packet4},
		{"mpls in udp, wrong checksum", UDP4(iana.PortMPLS, Join(Label, Broken4)), Broken4},
		{"mpls in udp, other data", UDP4(iana.PortMPLS, Join(Label, "EEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEE")), nil},
		{"jmirror", mirrored(Packet4), Packet4},
		{"jmirror ipv6", mirrored(Packet6), Packet6},
		{"jmirror, other data", mirrored([]byte("EEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEE")), nil},
		{"jmirror, IPv6 too long", mirrored(Join(Packet6, "x")), Packet6},
		{"vxlan without its bit", unflagged(frame), Packet4},
		{"vxlan without its bit, arp", unflagged(ARPFrame), ARPFrame},
		{"vxlan without its bit, padded", unflagged(Join(Ether(iana.TypeIPv6, Packet6), "pad")), Packet6},
		{"vxlan without its bit, wrong checksum", unflagged(Ether(iana.TypeIPv4, Broken4)), Broken4},
		{"vxlan without its bit, other data", unflagged([]byte("no frame, but as long as one")), nil},
		{"vxlan without its bit, no arp", unflagged(Ether(iana.TypeARP, make([]byte, 28))), nil},
		{"tzsp", tzsp(0, 1, "\x01", frame), Packet4},
		{"tzsp tags", tzsp(0, 1, "\x0a\x01\xc8\x00\x29\x02\x00\x60\x01", Ether(iana.TypeIPv4, Broken4)), Broken4},
		{"tzsp arp", tzsp(1, 1, "\x01", ARPFrame), ARPFrame},
		{"tzsp wireless", tzsp(0, 18, "\x01", Join("\x08\x02\x00\x00", MAC(1), MAC(9), MAC(2), "\x10\x00", Snap(iana.TypeIPv4, Packet4))), Packet4},
		{"tzsp keepalive", tzsp(4, 1, "\x01", nil), nil},
		{"tzsp without end", tzsp(0, 1, "\x0a\x01", nil), nil},
		{"tzsp of another protocol", tzsp(0, 7, "\x01", frame), nil},
	}
}()

const (
	Label    = "\x00\x01\x31\x40" // 19, at the bottom of the stack
	redirect = "\x00\x05\x00\x01" // of WCCP
	ahHeader = "\x04\x04\x00\x00\x00\x00\x00\x07\x00\x00\x00\x01checksumsums"
)
