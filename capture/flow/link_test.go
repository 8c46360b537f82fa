// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// wifiFrame is an 802.11 frame with three addresses.
func wifiFrame(control, flags byte, rest ...any) []byte {
	return join([]byte{control, flags, 0, 0}, mac(1), mac(2), mac(3), "\x00\x00", join(rest...))
}

// linkCase is a header before a whole datagram.
type linkCase struct {
	name string
	link capture.LinkType
	head []byte
	ip   []byte // nil: nothing must be found
}

// linkCases has headers of every link type, each before a whole datagram. The expected
// results agree with tshark for the types that it knows.
var linkCases = append([]linkCase{
	{"ethernet", capture.LinkEthernet, ether(typeIPv4, nil), packet4},
	{"ethernet 802.2 snap", capture.LinkEthernet, join(mac(1), mac(2), be16(60), snap(typeIPv4, nil)), packet4},
	{"ethernet 802.2 ip", capture.LinkEthernet, join(mac(1), mac(2), be16(60), "\x06\x06\x03"), packet4},
	{"ethernet isl", capture.LinkEthernet, join("\x01\x00\x0c\x00\x00\x00", mac(2), be16(60), "\x06\x06\x03"), nil},
	{"vlan", capture.LinkEthernet, ether(typeVLAN, join(be16(100), be16(typeIPv6))), packet6},
	{"vlan 802.2", capture.LinkEthernet, ether(typeVLAN, join(be16(100), be16(60), snap(typeIPv6, nil))), packet6},
	{"four vlans", capture.LinkEthernet, ether(typeQinQ, join(be16(1), be16(typeQinQOld), be16(2), be16(typeVLAN), be16(3), be16(typeVLAN), be16(4), be16(typeIPv4))), packet4},
	{"mpls", capture.LinkEthernet, ether(typeMPLS, []byte("\x00\x01\x00\x40\x00\x02\x01\x40")), packet6},
	{"mpls pseudowire", capture.LinkEthernet, ether(typeMPLS, join("\x00\x01\x01\x40\x00\x00\x00\x00", ether(typeIPv4, nil))), packet4},
	{"pppoe", capture.LinkEthernet, ether(typePPPoE, []byte("\x11\x00\x00\x01\x00\x20\x00\x21")), packet4},
	{"pppoe v6", capture.LinkEthernet, ether(typePPPoE, []byte("\x11\x00\x00\x01\x00\x20\x57")), packet6},
	{"pbb", capture.LinkEthernet, ether(typePBB, join("\x00\x00\x00\x01", ether(typeIPv4, nil))), packet4},
	{"fabricpath", capture.LinkEthernet, ether(typeFabricPath, join("\x00\x01", ether(typeIPv4, nil))), packet4},
	{"nsh", capture.LinkEthernet, ether(typeNSH, []byte("\x0f\xc2\x02\x01\x00\x00\x01\xff")), packet4},
	{"vntag", capture.LinkEthernet, ether(typeVNTag, join("\x00\x01\x00\x02", be16(typeIPv4))), packet4},
	{"etag", capture.LinkEthernet, ether(typeETag, join("\x00\x01\x00\x02\x00\x00", be16(typeIPv6))), packet6},
	{"cmd", capture.LinkEthernet, ether(typeCMD, join("\x01\x01\x00\x01\x00\x02", be16(typeIPv4))), packet4},
	{"arp", capture.LinkEthernet, ether(0x0806, nil), nil},
	{"ethertype says v6", capture.LinkEthernet, ether(typeIPv6, nil), nil},
	{"raw", capture.LinkRaw, nil, packet4},
	{"raw 12", capture.LinkRawDLT12, nil, packet6},
	{"raw 14", capture.LinkRawDLT14, nil, packet6},
	{"ipv4", capture.LinkIPv4, nil, packet4},
	{"ipv6", capture.LinkIPv6, nil, packet6},
	{"ipv6 says v4", capture.LinkIPv6, []byte{}, nil},
	{"null little-endian", capture.LinkNull, le32(30), packet6},
	{"null big-endian", capture.LinkNull, be32(2), packet4},
	{"null ppp", capture.LinkNull, []byte("\xff\x03\x00\x21"), packet4},
	{"loop", capture.LinkLoop, be32(24), packet6},
	{"loop little-endian", capture.LinkLoop, le32(24), nil},
	{"sll", capture.LinkLinuxSLL, join("\x00\x00\x00\x01\x00\x06", mac(2), "\x00\x00", be16(typeIPv4)), packet4},
	{"sll 802.2", capture.LinkLinuxSLL, join("\x00\x00\x00\x01\x00\x06", mac(2), "\x00\x00", be16(4), snap(typeIPv4, nil)), packet4},
	{"sll netlink", capture.LinkLinuxSLL, join("\x00\x00", be16(824), "\x00\x06", mac(2), "\x00\x00", be16(typeIPv4)), nil},
	{"sll2", capture.LinkLinuxSLL2, join(be16(typeIPv6), "\x00\x00\x00\x00\x00\x01\x00\x01\x00\x06", mac(2), "\x00\x00"), packet6},
	{"ppp", capture.LinkPPP, []byte("\xff\x03\x00\x21"), packet4},
	{"ppp compressed", capture.LinkPPP, []byte("\x57"), packet6},
	{"ppp mpls", capture.LinkPPP, []byte("\x02\x81\x00\x01\x01\x40"), packet4},
	{"ppp hdlc", capture.LinkPPPHDLC, []byte("\xff\x03\x00\x57"), packet6},
	{"ppp hdlc, cisco", capture.LinkPPPHDLC, join("\x8f\x00", be16(typeIPv4)), packet4},
	{"ppp ether", capture.LinkPPPEther, []byte("\x11\x00\x00\x01\x00\x20\x00\x21"), packet4},
	{"pppd", capture.LinkPPPPPPD, []byte("\x01\x03\x00\x21"), packet4},
	{"pppd, address kept", capture.LinkPPPPPPD, []byte("\x00\xff\x03\x00\x57"), packet6},
	{"ppp with direction", capture.LinkPPPWithDir, []byte("\x00\xff\x03\x00\x21"), packet4},
	{"cisco hdlc", capture.LinkCHDLC, join("\x0f\x00", be16(typeIPv6)), packet6},
	{"cisco hdlc with direction", capture.LinkCHDLCWithDir, join("\x00\x0f\x00", be16(typeIPv4)), packet4},
	{"slip", capture.LinkSLIP, join("\x00\x45", make([]byte, 14)), packet4},
	{"slip compressed", capture.LinkSLIP, join("\x00\x80", make([]byte, 14)), nil},
	{"fddi", capture.LinkFDDI, join("\x57", mac(1), mac(2), snap(typeIPv4, nil)), packet4},
	{"fddi management", capture.LinkFDDI, join("\x41", mac(1), mac(2), snap(typeIPv4, nil)), nil},
	{"token ring", capture.LinkTokenRing, join("\x10\x40", mac(1), mac(2), snap(typeIPv6, nil)), packet6},
	{"token ring routed", capture.LinkTokenRing, join("\x10\x40", mac(1), "\x82", mac(2)[1:], "\x06\x10\x00\x11\x00\x20", snap(typeIPv4, nil)), packet4},
	{"token ring management", capture.LinkTokenRing, join("\x10\x00", mac(1), mac(2), snap(typeIPv4, nil)), nil},
	{"arcnet, old", capture.LinkARCNET, []byte("\x01\x02\xf0"), packet4},
	{"arcnet", capture.LinkARCNET, []byte("\x01\x02\xc4\x00\x00\x01"), packet6},
	{"arcnet exception", capture.LinkARCNET, []byte("\x01\x02\xd4\xff\x00\x00\x00\x00\x00\x01"), packet4},
	{"arcnet later piece", capture.LinkARCNET, []byte("\x01\x02\xd4\x02\x00\x01"), nil},
	{"infiniband", capture.LinkIPoverIB, join(make([]byte, 40), be16(typeIPv4), "\x00\x00"), packet4},
	{"mpacket express", capture.LinkEthernetMP, join("UUUUUUU\xd5", ether(typeIPv4, nil)), packet4},
	{"mpacket continued", capture.LinkEthernetMP, join("UUUUUUU\x61", ether(typeIPv4, nil)), nil},
	{"netanalyzer", capture.LinkNetAnalyzer, join("\x04\x04\x00\x04", ether(typeIPv6, nil)), packet6},
	{"mpls link", capture.LinkMPLS, []byte("\x00\x01\x01\x40"), packet4},
	{"frame relay", capture.LinkFrameRelay, []byte("\x18\x41\x03\xcc"), packet4},
	{"frame relay, long address", capture.LinkFrameRelay, []byte("\x18\x40\x40\x41\x03\x8e"), packet6},
	{"frame relay snap", capture.LinkFrameRelay, []byte("\x18\x41\x03\x00\x80\x00\x00\x00\x08\x00"), packet4},
	{"frame relay bridged", capture.LinkFrameRelay, join("\x18\x41\x03\x00\x80\x00\x80\xc2\x00\x07", ether(typeIPv4, nil)), packet4},
	{"frame relay ppp", capture.LinkFrameRelay, []byte("\x18\x41\x03\xcf\x00\x21"), packet4},
	{"frame relay, cisco", capture.LinkFrameRelay, join("\x18\x41", be16(typeIPv6)), packet6},
	{"frame relay, endless address", capture.LinkFrameRelay, []byte("\x18\x40\x40\x40\x41\x03\xcc"), nil},
	{"frame relay with direction", capture.LinkFRelayDir, []byte("\x01\x18\x41\x03\xcc"), packet4},
	{"atm", capture.LinkATMRFC1483, snap(typeIPv4, nil), packet4},
	{"atm bridged", capture.LinkATMRFC1483, join("\xaa\xaa\x03\x00\x80\xc2\x00\x07\x00\x00", ether(typeIPv4, nil)), packet4},
	{"atm nlpid", capture.LinkATMRFC1483, []byte("\xfe\xfe\x03\xcc"), packet4},
	{"sunatm", capture.LinkSunATM, join("\x82\x00\x00\x20", snap(typeIPv6, nil)), packet6},
	{"sunatm lane", capture.LinkSunATM, join("\x01\x00\x00\x20\x00\x01", ether(typeIPv4, nil)), packet4},
	{"802.11 from ds", capture.LinkIEEE80211, wifiFrame(0x08, 0x02, snap(typeIPv4, nil)), packet4},
	{"802.11 four addresses", capture.LinkIEEE80211, wifiFrame(0x08, 0x03, mac(4), snap(typeIPv4, nil)), packet4},
	{"802.11 qos", capture.LinkIEEE80211, wifiFrame(0x88, 0x01, "\x00\x00", snap(typeIPv6, nil)), packet6},
	{"802.11 ht control", capture.LinkIEEE80211, wifiFrame(0x88, 0x82, "\x00\x00\x00\x00\x00\x00", snap(typeIPv4, nil)), packet4},
	{"802.11 a-msdu", capture.LinkIEEE80211, wifiFrame(0x88, 0x02, "\x80\x00", mac(7), mac(8), be16(8+len(packet4)), snap(typeIPv4, nil)), packet4},
	{"802.11 null", capture.LinkIEEE80211, wifiFrame(0x48, 0x02, snap(typeIPv4, nil)), nil},
	{"802.11 protected", capture.LinkIEEE80211, wifiFrame(0x08, 0x42, snap(typeIPv4, nil)), nil},
	{"802.11 management", capture.LinkIEEE80211, wifiFrame(0x80, 0x00, snap(typeIPv4, nil)), nil},
	{"radiotap", capture.LinkRadiotap, join("\x00\x00\x09\x00\x02\x00\x00\x00\x00", wifiFrame(0x08, 0x02, snap(typeIPv4, nil))), packet4},
	{"radiotap padded", capture.LinkRadiotap, join("\x00\x00\x1a\x00", le32(-1<<31|3), le32(2), make([]byte, 12), "\x20\x00", wifiFrame(0x88, 0x02, "\x00\x00\x00\x00", snap(typeIPv4, nil))), packet4},
	{"prism", capture.LinkPrism, join(le32(0x44), le32(144), make([]byte, 136), wifiFrame(0x08, 0x02, snap(typeIPv4, nil))), packet4},
	{"prism big-endian", capture.LinkPrism, join(be32(0x44), be32(144), make([]byte, 136), wifiFrame(0x08, 0x02, snap(typeIPv4, nil))), packet4},
	{"prism, really avs", capture.LinkPrism, join(be32(0x80211001), be32(64), make([]byte, 56), wifiFrame(0x08, 0x02, snap(typeIPv4, nil))), packet4},
	{"avs", capture.LinkAVS, join(be32(0x80211002), be32(64), make([]byte, 56), wifiFrame(0x08, 0x02, snap(typeIPv4, nil))), packet4},
	{"ppi 802.11", capture.LinkPPI, join("\x00\x00", le16(8), le32(105), wifiFrame(0x08, 0x02, snap(typeIPv4, nil))), packet4},
	{"ppi ethernet", capture.LinkPPI, join("\x00\x00", le16(12), le32(1), "\x00\x00\x00\x00", ether(typeIPv6, nil)), packet6},
	{"ppi in ppi", capture.LinkPPI, join("\x00\x00", le16(8), le32(192), "\x00\x00", le16(8), le32(101)), packet4},
	{"pktap", capture.LinkPKTAP, join(le32(108), le32(1), le32(1), make([]byte, 96), ether(typeIPv4, nil)), packet4},
	{"pktap raw", capture.LinkUser2, join(le32(156), le32(1), le32(12), make([]byte, 144)), packet6},
	{"pktap without packet", capture.LinkPKTAP, join(le32(108), le32(0), le32(12), make([]byte, 96)), nil},
	{"enc", capture.LinkEnc, join(le32(2), make([]byte, 8)), packet4},
	{"pflog", capture.LinkPFLog, join("\x3d\x02", make([]byte, 62)), packet4},
	{"pflog v6", capture.LinkPFLog, join("\x64\x18", make([]byte, 98)), packet6},
	{"nflog", capture.LinkNFLog, join("\x02\x00\x00\x00", le16(5), le16(10), "\x00\x00\x00\x00", le16(4+len(packet4)), le16(9)), packet4},
	{"ipnet", capture.LinkIPNet, join("\x01\x1a", make([]byte, 22)), packet6},
	{"unknown", 32767, nil, nil},
}, deviceCases...)

func TestLinkTypes(t *testing.T) {
	for _, c := range linkCases {
		t.Run(c.name, func(t *testing.T) {
			datagram := c.ip
			if c.ip == nil {
				datagram = packet4
			}
			data := join(c.head, datagram)
			h := decodeOne(DecoderConfig{}, c.link, data)
			if c.ip == nil {
				if h.Version != 0 || h.Start != 0 || int(h.End) != len(data) || int(h.Wire) != len(data) {
					t.Errorf("found %+v where no IP header is", h)
				}
				return
			}
			if h.Version != c.ip[0]>>4 || !tail(h, data, c.ip) {
				t.Errorf("got %+v, want a datagram from %d to %d", h, len(c.head), len(data))
			}
			if h.SrcPort != 1000 {
				t.Errorf("source port %d, want 1000", h.SrcPort)
			}
			// Truncated anywhere, a frame must not yield anything else.
			for n := range len(data) {
				checkHeader(t, decodeOne(DecoderConfig{}, c.link, data[:n:n]), n)
			}
		})
	}
}

// TestNFLogByteOrder checks that attributes are read in the byte order of the machine
// that wrote the capture.
func TestNFLogByteOrder(t *testing.T) {
	data := join("\x0a\x00\x00\x00", be16(4+len(packet6)), be16(9), packet6)
	b := newBatch(capture.LinkNFLog, data)
	b.Sections[0].BigEndian = true
	if h := decode(DecoderConfig{}, b)[0]; !tail(h, data, packet6) {
		t.Errorf("got %+v", h)
	}
}

func TestHardwareAddresses(t *testing.T) {
	cases := []struct {
		name     string
		link     capture.LinkType
		data     []byte
		dst, src []byte // nil: none
	}{
		{"ethernet", capture.LinkEthernet, ether(typeIPv4, packet4), mac(1), mac(2)},
		{"ethernet without ip", capture.LinkEthernet, ether(0x0806, []byte("arp")), mac(1), mac(2)},
		{"pbb outermost", capture.LinkEthernet, ether(typePBB, join("\x00\x00\x00\x01", mac(3), mac(4), be16(typeIPv4), packet4)), mac(1), mac(2)},
		{"sll", capture.LinkLinuxSLL, join("\x00\x00\x00\x01\x00\x06", mac(2), "\x00\x00", be16(typeIPv4), packet4), nil, mac(2)},
		{"sll without address", capture.LinkLinuxSLL, join("\x00\x00\x00\x01\x00\x00", mac(2), "\x00\x00", be16(typeIPv4), packet4), nil, nil},
		{"sll2", capture.LinkLinuxSLL2, join(be16(typeIPv4), "\x00\x00\x00\x00\x00\x01\x00\x01\x00\x06", mac(2), "\x00\x00", packet4), nil, mac(2)},
		{"fddi", capture.LinkFDDI, join("\x50", mac(1), mac(2), snap(typeIPv4, packet4)), mac(1), mac(2)},
		{"token ring", capture.LinkTokenRing, join("\x10\x40", mac(1), mac(2), snap(typeIPv4, packet4)), mac(1), mac(2)},
		{"802.11 ad hoc", capture.LinkIEEE80211, wifiFrame(0x08, 0, snap(typeIPv4, packet4)), mac(1), mac(2)},
		{"802.11 from ds", capture.LinkIEEE80211, wifiFrame(0x08, 2, snap(typeIPv4, packet4)), mac(1), mac(3)},
		{"802.11 to ds", capture.LinkIEEE80211, wifiFrame(0x08, 1, snap(typeIPv4, packet4)), mac(3), mac(2)},
		{"802.11 bridge", capture.LinkIEEE80211, wifiFrame(0x08, 3, mac(4), snap(typeIPv4, packet4)), mac(3), mac(4)},
		{"802.11 beacon", capture.LinkIEEE80211, wifiFrame(0x80, 0, "body"), mac(1), mac(2)},
		{"802.11 a-msdu", capture.LinkIEEE80211, wifiFrame(0x88, 2, "\x80\x00", mac(7), mac(8), be16(50), snap(typeIPv4, packet4)), mac(7), mac(8)},
		{"raw", capture.LinkRaw, packet4, nil, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := decodeOne(DecoderConfig{}, c.link, c.data)
			var dst, src []byte
			if h.Flags&FlagDst != 0 {
				dst = c.data[h.Dst:][:6]
			}
			if h.Flags&FlagSrc != 0 {
				src = c.data[h.Src:][:6]
			}
			if !slices.Equal(dst, c.dst) || !slices.Equal(src, c.src) {
				t.Errorf("got %x and %x, want %x and %x", dst, src, c.dst, c.src)
			}
		})
	}
}
