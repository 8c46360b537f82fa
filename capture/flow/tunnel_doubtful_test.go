// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// broken4 is packet4 with a wrong checksum in its header: no tunnel is believed to carry it.
var broken4 = join(packet4[:10], "\xab\xcd", packet4[12:])

const (
	label    = "\x00\x01\x31\x40" // 19, at the bottom of the stack
	redirect = "\x00\x05\x00\x01" // of WCCP
	ahHeader = "\x04\x04\x00\x00\x00\x00\x00\x07\x00\x00\x00\x01checksumsums"
)

func ah(next byte, p []byte) []byte {
	return ip4(9, protoAH, join([]byte{next}, ahHeader[1:], p))
}

// eoip is a frame in MikroTik's EoIP, with so many bytes by its length field.
func eoip(frame []byte, n int) []byte {
	return gre4("\x20\x01", be16(typeEoIP), be16(n), "\x05\x00", frame)
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

// l2tp is a data message with a tunnel of 7 and a session of 9.
func l2tp(flags int, before []byte, ppp ...any) []byte {
	return join(be16(flags|2), before, be16(7), be16(9), join(ppp...))
}

// over4 is an Ethernet frame with an IPv4 packet.
func over4(packet []byte) []byte { return ether(typeIPv4, packet) }

// lispWith is a packet in LISP with an instance.
func lispWith(instance uint32) []byte {
	return udp4(portLISP, join("\x08\x00\x00\x00", be32(instance<<8), packet4))
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

// TestDoubtful checks that a tunnel which is not believed is none, unless it may only be
// cut off.
func TestDoubtful(t *testing.T) {
	decoder := NewDecoder(DecoderConfig{Inner: true})
	for _, c := range udpTunnelCases {
		b := newBatch(capture.LinkRaw, c.outer)
		layers := decoder.Layers(nil, b, 0)
		if last := layers[len(layers)-1]; (c.carried == nil) != (len(layers) == 1) || last.Kind == LayerUnread {
			t.Errorf("%s: %+v", c.name, layers)
		}
		cut := newBatch(capture.LinkRaw, c.outer[:min(36, len(c.outer)-1)])
		cut.Frames[0].WireLen = uint32(len(c.outer))
		layers = decoder.Layers(nil, cut, 0)
		if last := layers[len(layers)-1]; last.Kind != LayerUnread || len(layers) != 2 {
			t.Errorf("%s, cut: %+v", c.name, layers)
		}
	}
}

// TestOrdinaryDatagrams checks that other programs may use the ports of tunnels that are
// recognized by their content.
func TestOrdinaryDatagrams(t *testing.T) {
	dns := "\x01\x00\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00\x07example\x03com\x00\x00\x01\x00\x01\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\x0a\x00\x00\x01"
	quic := "\x45\xee\x01\x02\x03\x04\x05\x06\x45\x00\x00\x20\x00\x01\x00\x00\x40\x11\x00\x00 what looks like IPv4"
	for _, port := range []int{portL2TP, portLISP, portMPLS, portJMirror, portTZSP, portVXLAN} {
		for i, payload := range []string{dns, quic, string(make([]byte, 64)), "\x00\x02" + string(make([]byte, 64)), "short", ""} {
			d := udp4(port, []byte(payload))
			if h := decodeOne(DecoderConfig{Inner: true}, capture.LinkRaw, d); h.Flags&FlagInner != 0 || h.Start != 0 {
				t.Errorf("port %d, payload %d: %+v", port, i, h)
			}
		}
	}
}
