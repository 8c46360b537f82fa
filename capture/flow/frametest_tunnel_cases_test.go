// SPDX-License-Identifier: Apache-2.0

package flow

import "slices"

// tunnelCases has packets in tunnels.
var tunnelCases = slices.Concat([]tunnelCase{
	{"gre", gre4("\x00\x00", be16(typeIPv4), packet4), packet4},
	{"gre with everything", gre4("\xb0\x00", be16(typeIPv6), "\x12\x34\x00\x00", "key!", "seq!", packet6), packet6},
	{"gre source route", gre4("\x40\x00", be16(typeIPv4), "\x00\x00\x00\x00", "\x08\x00\x00\x04addr", "\x00\x00\x00\x00", packet4), packet4},
	{"gre endless source route", gre4("\x40\x00", be16(typeIPv4), "\x00\x00\x00\x00", "\x08\x00\x00\x04addr"), nil},
	{"gre bridging", gre4("\x20\x00", be16(typeBridging), "key!", ether(typeIPv4, packet4)), packet4},
	{"gre bridging arp", gre4("\x20\x00", be16(typeBridging), "key!", arpFrame), arpFrame},
	{"gre mpls", gre4("\x00\x00", be16(typeMPLS), "\x00\x01\x01\x40", packet6), packet6},
	{"gre ppp", gre4("\x00\x00", be16(typePPP), "\xff\x03\x00\x21", packet4), packet4},
	{"gre keepalive", gre4("\x00\x00\x00\x00"), nil},
	{"gre version 2", gre4("\x00\x02", be16(typeIPv4), packet4), nil},
	{"pptp", gre4("\x30\x81", be16(typePPP), be16(4+len(packet4)), "\x00\x01", "seq!", "ack!", "\xff\x03\x00\x21", packet4), packet4},
	{"pptp acknowledgement", gre4("\x20\x81", be16(typePPP), "\x00\x00\x00\x01", "ack!"), nil},
	{"erspan I", gre4("\x00\x00", be16(typeERSPAN2), ether(typeIPv4, packet4)), packet4},
	{"erspan II", gre4("\x10\x00", be16(typeERSPAN2), "seq!", "\x10\x64\x00\x01\x00\x00\x00\x05", ether(typeVLAN, join(be16(5), be16(typeIPv4), packet4))), packet4},
	{"erspan III", gre4("\x10\x00", be16(typeERSPAN3), "seq!", "\x20\x64\x00\x01", "time", "\x00\x00\x00\x00", ether(typeIPv6, packet6)), packet6},
	{"erspan III subheader", gre4("\x10\x00", be16(typeERSPAN3), "seq!", "\x20\x64\x00\x01", "time", "\x00\x00\x00\x01", "platform", ether(typeIPv6, packet6)), packet6},
	{"erspan III ip", gre4("\x10\x00", be16(typeERSPAN3), "seq!", "\x20\x64\x00\x01", "time", "\x00\x00\x08\x00", packet4), packet4},
	{"vxlan", udp4(portVXLAN, join("\x08\x00\x00\x00\x00\x00\x64\x00", ether(typeIPv4, packet4))), packet4},
	{"vxlan, linux", udp4(portVXLANOld, join("\x08\x00\x00\x00\x00\x00\x64\x00", ether(typeIPv6, packet6))), packet6},
	{"vxlan arp", udp4(portVXLAN, join("\x08\x00\x00\x00\x00\x00\x64\x00", arpFrame)), arpFrame},
	{"vxlan-gpe", udp4(portVXLANGPE, join("\x0c\x00\x00\x02\x00\x00\x64\x00", packet6)), packet6},
	{"vxlan-gpe ethernet", udp4(portVXLANGPE, join("\x0c\x00\x00\x03\x00\x00\x64\x00", ether(typeIPv4, packet4))), packet4},
	{"vxlan-gpe nsh", udp4(portVXLANGPE, join("\x0c\x00\x00\x04\x00\x00\x64\x00", "\x0f\xc2\x02\x01\x00\x00\x01\xff", packet4)), packet4},
	{"geneve", udp4(portGENEVE, join("\x02\x00", be16(typeBridging), "\x00\x00\x64\x00", "option42", ether(typeIPv4, packet4))), packet4},
	{"geneve ip", udp4(portGENEVE, join("\x00\x00", be16(typeIPv6), "\x00\x00\x64\x00", packet6)), packet6},
	{"geneve control", udp4(portGENEVE, join("\x00\x80", be16(typeIPv6), "\x00\x00\x64\x00", packet6)), nil},
	{"gtp", udp4(portGTPU, join("\x30\xff", be16(len(packet4)), "teid", packet4)), packet4},
	{"gtp sequence", udp4(portGTPU, join("\x32\xff", be16(4+len(packet6)), "teid", "\x00\x01\x00\x00", packet6)), packet6},
	{"gtp extensions", udp4(portGTPU, join("\x34\xff", be16(16+len(packet4)), "teid", "\x00\x00\x00\x85", "\x01\x10\x01\xc0", "\x02seven7\x00", packet4)), packet4},
	{"gtp echo", udp4(portGTPU, join("\x32\x01", be16(4), "teid", "\x00\x01\x00\x00")), nil},
	{"gtp prime", udp4(portGTPU, join("\x2e\xff", be16(len(packet4)), "teid", packet4)), nil},
	{"gtp empty extension", udp4(portGTPU, join("\x34\xff", be16(8+len(packet4)), "teid", "\x00\x00\x00\x85", "\x00\x10\x01\x00", packet4)), nil},
	{"ip in ip", ip4(9, protoIPv4, packet4), packet4},
	{"6 in 4", ip4(9, protoIPv6, packet6), packet6},
	{"4 in 6", ip6(9, protoIPv4, packet4), packet4},
	{"6 in 6 after options", ip6(9, protoDstOpts, join("\x29\x00\x01\x04\x00\x00\x00\x00", packet6)), packet6},
	{"three deep", ip4(8, protoIPv6, ip6(9, protoGRE, join("\x00\x00", be16(typeIPv4), packet4))), packet4},
	{"tunnel with damaged content", ip4(9, protoIPv4, join("\x41", packet4[1:])), nil},
	{"other port", udp4(4791, join("\x08\x00\x00\x00\x00\x00\x64\x00", ether(typeIPv4, packet4))), nil},
	{"udp length below header", ip4(9, protoUDP, join(be16(1), be16(portVXLAN), be16(7), "\x00\x00\x08\x00\x00\x00\x00\x00\x64\x00", ether(typeIPv4, packet4))), nil},
}, ipTunnelCases, udpTunnelCases)

// tunnelCase is a packet in tunnels, and what they carry, or nil if they must stay closed.
type tunnelCase struct {
	name           string
	outer, carried []byte
}

var ipTunnelCases = []tunnelCase{
	{"ah", ah(protoIPv4, packet4), packet4},
	{"ah 6 in 4", ah(protoIPv6, packet6), packet6},
	{"ah gre", ah(protoGRE, join("\x00\x00", be16(typeIPv6), packet6)), packet6},
	{"ah tcp", ah(protoTCP, tcp(1, 2, []byte("data"))), nil},
	{"ah twice", ah(protoAH, join(ahHeader, packet4)), nil},
	{"etherip", ip4(9, protoEtherIP, join("\x30\x00", ether(typeIPv4, packet4))), packet4},
	{"etherip arp", ip4(9, protoEtherIP, join("\x30\x05", arpFrame)), arpFrame},
	{"etherip version 2", ip4(9, protoEtherIP, join("\x20\x00", ether(typeIPv4, packet4))), nil},
	{"mpls in ip", ip4(9, protoMPLS, join("\x00\x01\x30\x40", label, packet6)), packet6},
	{"mpls in ip, no end", ip4(9, protoMPLS, []byte("\x00\x01\x30\x40")), nil},
	{"srv6", ip6(9, protoRouting, join([]byte{protoEthernet, 2, 4, 0, 0, 0, 0, 0}, make([]byte, 16), ether(typeIPv4, packet4))), packet4},
	{"srv6 arp", ip6(9, protoEthernet, arpFrame), arpFrame},
	{"srv6 cut", ip6(9, protoEthernet, arpFrame[:13]), nil},
	{"wccp 2", gre4("\x00\x00", be16(typeWCCP), redirect, packet4), packet4},
	{"wccp 2 ipv6", gre4("\x00\x00", be16(typeWCCP), redirect, packet6), packet6},
	{"wccp 2 alternative bucket", gre4("\x00\x00", be16(typeWCCP), "\x40\x05\x01\x00", packet4), packet4},
	{"wccp 1", gre4("\x00\x00", be16(typeWCCP), packet4), packet4},
	{"eoip", eoip(ether(typeIPv4, packet4), 14+len(packet4)), packet4},
	{"eoip arp", eoip(arpFrame, len(arpFrame)), arpFrame},
	{"eoip with padding", eoip(join(arpFrame, "padding"), len(arpFrame)), arpFrame},
	{"eoip with a sequence number", gre4("\x30\x01", be16(typeEoIP), be16(len(arpFrame)), "\x05\x00", "seq!", arpFrame), nil},
	{"eoip keepalive", eoip(nil, 0), nil},
}

var udpTunnelCases = func() []tunnelCase {
	frame, ppp := ether(typeIPv4, packet4), join("\xff\x03\x00\x21", packet4)
	lisp := func(flags, next byte, p []byte) []byte {
		return udp4(portLISP, join([]byte{flags, 0, 0, next}, "\x00\x00\x64\x00", p))
	}
	tzsp := func(kind, protocol int, tags string, p []byte) []byte {
		return udp4(portTZSP, join([]byte{1, byte(kind)}, be16(protocol), tags, p))
	}
	unflagged := func(p []byte) []byte { return udp4(portVXLAN, join("\x00\x00\x00\x00\x00\x00\x64\x00", p)) }
	mirrored := func(p []byte) []byte { return udp4(portJMirror, join("\x00\x00\x00\x01\x00\x00\x00\x02", p)) }
	return []tunnelCase{
		{"l2tp", udp4(portL2TP, l2tp(0, nil, ppp)), packet4},
		{"l2tp ipv6", udp4(portL2TP, l2tp(0, nil, "\x00\x57", packet6)), packet6},
		{"l2tp to a client", ip4(9, protoUDP, udp(portL2TP, 40000, l2tp(0, nil, ppp))), packet4},
		{"l2tp with everything", udp4(portL2TP, join(be16(0x4a02), be16(16+len(ppp)), be16(7), be16(9), "\x00\x01\x00\x02\x00\x02oo", ppp, "more")), packet4},
		{"l2tp control", udp4(portL2TP, join("\xc8\x02", be16(12), "\x00\x07\x00\x00\x00\x01\x00\x02")), nil},
		{"l2tp with an unknown flag", udp4(portL2TP, l2tp(0x10, nil, ppp)), nil},
		{"l2tp version 3", udp4(portL2TP, join("\x00\x03", ppp)), nil},
		{"l2tp ipcp", udp4(portL2TP, l2tp(0, nil, "\xff\x03\x80\x21\x01\x01\x00\x04")), nil},
		{"l2tp wrong checksum", udp4(portL2TP, l2tp(0, nil, "\x00\x21", broken4)), nil},
		{"l2tp length beyond", udp4(portL2TP, l2tp(0, nil, "\x00\x57", packet6[:len(packet6)-1])), nil},
		{"lisp", lisp(0, 0, packet4), packet4},
		{"lisp ipv6", lisp(0x88, 0, packet6), packet6},
		{"lisp with a nonce", lisp(0x80, 9, packet4), packet4},
		{"lisp ethernet", lisp(0x0c, 3, frame), packet4},
		{"lisp arp", lisp(0x0c, 3, arpFrame), arpFrame},
		{"lisp wrong checksum", lisp(0, 0, broken4), nil},
		{"lisp wrong length", lisp(0, 0, join(packet6, "x")), nil},
		{"mpls in udp", udp4(portMPLS, join(label, packet4)), packet4},
		{"mpls in udp ipv6", udp4(portMPLS, join("\x00\x01\x30\x40", label, packet6)), packet6},
		{"mpls in udp ethernet", udp4(portMPLS, join(label, make([]byte, 4), frame)), packet4},
		{"mpls in udp, other data", udp4(portMPLS, join(label, broken4)), nil},
		{"jmirror", mirrored(packet4), packet4},
		{"jmirror ipv6", mirrored(packet6), packet6},
		{"jmirror, other data", mirrored([]byte("EEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEE")), nil},
		{"jmirror, IPv6 too long", mirrored(join(packet6, "x")), nil},
		{"vxlan without its bit", unflagged(frame), packet4},
		{"vxlan without its bit, arp", unflagged(arpFrame), arpFrame},
		{"vxlan without its bit, padded", unflagged(join(ether(typeIPv6, packet6), "pad")), packet6},
		{"vxlan without its bit, wrong checksum", unflagged(ether(typeIPv4, broken4)), nil},
		{"vxlan without its bit, other data", unflagged([]byte("no frame, but as long as one")), nil},
		{"vxlan without its bit, no arp", unflagged(ether(typeARP, make([]byte, 28))), nil},
		{"tzsp", tzsp(0, 1, "\x01", frame), packet4},
		{"tzsp tags", tzsp(0, 1, "\x0a\x01\xc8\x00\x29\x02\x00\x60\x01", ether(typeIPv4, broken4)), broken4},
		{"tzsp arp", tzsp(1, 1, "\x01", arpFrame), arpFrame},
		{"tzsp wireless", tzsp(0, 18, "\x01", join("\x08\x02\x00\x00", mac(1), mac(9), mac(2), "\x10\x00", snap(typeIPv4, packet4))), packet4},
		{"tzsp keepalive", tzsp(4, 1, "\x01", nil), nil},
		{"tzsp without end", tzsp(0, 1, "\x0a\x01", nil), nil},
		{"tzsp of another protocol", tzsp(0, 7, "\x01", frame), nil},
	}
}()

const (
	label    = "\x00\x01\x31\x40" // 19, at the bottom of the stack
	redirect = "\x00\x05\x00\x01" // of WCCP
	ahHeader = "\x04\x04\x00\x00\x00\x00\x00\x07\x00\x00\x00\x01checksumsums"
)
