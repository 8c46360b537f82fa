// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/frametest"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// TestUnopened says of frames without IP what was not opened in them: "" is nothing.
func TestUnopened(t *testing.T) {
	vxlan := func(frame []byte) []byte {
		return ether(iana.TypeIPv4, udp4(iana.PortVXLAN, join("\x08\x00\x00\x00\x00\x00\x07\x00", frame)))
	}
	for _, c := range []struct {
		name  string
		inner bool
		link  capture.LinkType
		data  []byte
		want  string
	}{
		{"ip", false, capture.LinkEthernet, ether(iana.TypeIPv4, packet4), ""},
		{"arp", false, capture.LinkEthernet, ether(iana.TypeARP, []byte("arp")), ""},
		{"arp behind a tag", false, capture.LinkEthernet, ether(iana.TypeVLAN, join(be16(1), be16(iana.TypeARP), "arp")), ""},
		{"lldp", false, capture.LinkEthernet, ether(0x88cc, []byte("lldp")), ""},
		{"spanning tree", false, capture.LinkEthernet, join(mac(1), mac(2), be16(38), "\x42\x42\x03", make([]byte, 35)), ""},
		{"is-is", false, capture.LinkEthernet, join(mac(1), mac(2), be16(100), "\xfe\xfe\x03", make([]byte, 97)), ""},
		{"raw ipx", false, capture.LinkEthernet, join(mac(1), mac(2), be16(30), "\xff\xff", make([]byte, 28)), ""},
		{"cdp", false, capture.LinkEthernet, join(mac(1), mac(2), be16(60), "\xaa\xaa\x03\x00\x00\x0c\x20\x00", make([]byte, 52)), ""},
		{"link control", false, capture.LinkEthernet, ether(iana.TypePPPoE, []byte("\x11\x00\x00\x01\x00\x0a\xc0\x21\x09\x01\x00\x08magi")), ""},
		{"can", false, capture.LinkLinuxSLL, join("\x00\x00\x01\x18\x00\x00", make([]byte, 8), be16(12), "can frame"), ""},
		{"batman originator", false, capture.LinkEthernet, ether(iana.TypeBATMAN, []byte("\x00\x0f\x32\x00")), ""},
		{"cut short", false, capture.LinkEthernet, mac(1), ""},
		{"tag cut short", false, capture.LinkEthernet, ether(iana.TypeVLAN, nil), ""},
		{"time cut short", false, capture.LinkEthernet, ether(iana.TypeArista, []byte("\x00\x01\x00\x10")), ""},
		{"ip cut short", false, capture.LinkEthernet, ether(iana.TypeIPv4, packet4[:10]), ""},
		{"no ip behind its type", false, capture.LinkEthernet, ether(iana.TypeIPv4, []byte("\x20\x0a\x08\x06")), "ethertype-0800"},
		{"wrong length in ip", false, capture.LinkEthernet, ether(iana.TypeIPv4, join("\x42", packet4[1:])), "ethertype-0800"},
		{"another version of ip", false, capture.LinkEthernet, ether(iana.TypeIPv6, packet4), "ethertype-86dd"},
		{"ipv6 cut short", false, capture.LinkEthernet, ether(iana.TypeIPv6, packet6[:39]), ""},
		{"no version", false, capture.LinkRaw, []byte("\x70"), "linktype-101"},
		{"nothing behind the type", false, capture.LinkEthernet, ether(iana.TypeIPv4, nil), ""},
		{"unknown type", false, capture.LinkEthernet, ether(0x88b5, packet4), "ethertype-88b5"},
		{"unknown type behind a tag", false, capture.LinkEthernet, ether(iana.TypeVLAN, join(be16(1), be16(0xcafe), packet4)), "ethertype-cafe"},
		{"unknown type in snap", false, capture.LinkEthernet, join(mac(1), mac(2), be16(60), snap(0x0601, packet4)), "ethertype-0601"},
		{"unknown version of a time", false, capture.LinkEthernet, arista(ether(iana.TypeIPv4, packet4), 0x30, "secsnano"), "ethertype-d28b"},
		{"unknown sap", false, capture.LinkEthernet, join(mac(1), mac(2), be16(60), "\x64\x64\x03", packet4), "llc-64"},
		{"compressed tcp", false, capture.LinkPPP, []byte("\xff\x03\x00\x2d compressed"), "ppp-002d"},
		{"encrypted", false, capture.LinkEthernet, macsec(ether(iana.TypeIPv4, packet4), 0x2c, "channel!"), "macsec-encrypted"},
		{"encrypted radio", false, capture.LinkIEEE80211, wifiFrame(0x08, 0x42, "encrypted"), "802.11-encrypted"},
		{"beacon", false, capture.LinkIEEE80211, wifiFrame(0x80, 0, "beacon"), ""},
		{"labels", false, capture.LinkEthernet, ether(iana.TypeMPLS, join("\x00\x01\x01\x40", "\x70 nothing that is known")), "mpls"},
		{"link type", false, 290, packet4, "linktype-290"},
		{"record of another type", false, capture.LinkERF, erf(27, 4, "meta"), "linktype-197"},
		{"in a tunnel", true, capture.LinkEthernet, vxlan(ether(0x88b5, packet4)), "ethertype-88b5"},
		{"in a tunnel that is not opened", false, capture.LinkEthernet, vxlan(ether(0x88b5, packet4)), ""},
		{"nsh", false, capture.LinkEthernet, ether(iana.TypeNSH, join("\x0f\xc2\x02\x06\x00\x00\x01\xff", packet4)), "nsh-06"},
		{"frame relay fragment", false, capture.LinkFrameRelay, join("\x18\x41\x03\xb1", packet4), "nlpid-b1"},
		{"is-is in frame relay", false, capture.LinkFrameRelay, []byte("\x18\x41\x03\x83is-is"), ""},
		{"multilink fragment", false, capture.LinkPPP, join("\xff\x03\x00\x3d\x40\x00\x00\x07", packet4), "ppp-multilink-fragment"},
		{"multilink in l2tpv3", true, capture.LinkIPv4, ip4(9, iana.ProtoL2TP, join("\x00\x00\x00\x07", "\xff\x03\x00\x3d\x40\x00\x00\x07", packet4[8:])), "l2tpv3"},
		{"unknown type in gre", true, capture.LinkIPv4, gre4("\x00\x00", be16(0x88b5), packet4), "ethertype-88b5"},
		{"unknown type in gre, not opened", false, capture.LinkIPv4, gre4("\x00\x00", be16(0x88b5), packet4), ""},
		{"gre keepalive", true, capture.LinkIPv4, gre4("\x00\x00\x00\x00"), ""},
		{"gre version 2", true, capture.LinkIPv4, gre4("\x00\x02", be16(iana.TypeIPv4), packet4), "gre"},
		{"ppp in gre", true, capture.LinkIPv4, gre4("\x00\x00", be16(iana.TypePPP), "\xff\x03\x00\x2d compressed"), "ppp-002d"},
		{"erspan III of another frame", true, capture.LinkIPv4, gre4("\x10\x00", be16(iana.TypeERSPAN3), "seq!", "\x20\x64\x00\x01", "time", "\x00\x00\x04\x00", packet4), "erspan"},
		{"labels in ip", true, capture.LinkIPv4, ip4(9, iana.ProtoMPLS, join("\x00\x01\x01\x40", "\x70 nothing that is known")), "mpls"},
		{"vxlan-gpe of another protocol", true, capture.LinkIPv4, udp4(iana.PortVXLANGPE, join("\x0c\x00\x00\x07\x00\x00\x07\x00", packet4)), "vxlan"},
		{"geneve of another version", true, capture.LinkIPv4, udp4(iana.PortGENEVE, join("\x40\x00\x65\x58\x00\x00\x07\x00", packet4)), "geneve"},
		{"capwap fragment", true, capture.LinkIPv4, udp4(iana.PortCAPWAP, join(frametest.Capwap(0x80, false), packet4)), "capwap-fragment"},
		{"capwap encrypted", true, capture.LinkIPv4, udp4(iana.PortCAPWAP, []byte("\x01\x00\x00\x00\x17\xfe\xfd\x00\x01 encrypted")), "capwap-dtls"},
		{"capwap with an encrypted frame", true, capture.LinkIPv4, udp4(iana.PortCAPWAP, join(frametest.Capwap(0, true), wifiFrame(0x08, 0x42, "encrypted"))), "802.11-encrypted"},
		{"capwap keep-alive", true, capture.LinkIPv4, udp4(iana.PortCAPWAP, join(frametest.Capwap(0x08, false), make([]byte, 20))), ""},
		{"lwapp fragment", true, capture.LinkIPv4, udp4(iana.PortLWAPP, frametest.Lwapp(0x02, packet4)), "lwapp-fragment"},
		{"other data at a port of tunnels", true, capture.LinkIPv4, udp4(iana.PortCAPWAP, make([]byte, 80)), "capwap"},
		{"in a tunnel in a tunnel", true, capture.LinkIPv4, ip4(9, iana.ProtoIPv4, gre4("\x00\x00", be16(0x88b5), packet4)), "ethertype-88b5"},
		{"tunnel cut short", true, capture.LinkIPv4, gre4("\x20\x00")[:24], ""},
		{"no vxlan", true, capture.LinkEthernet, ether(iana.TypeIPv4, udp4(iana.PortVXLAN, []byte("other data, at a port of a tunnel"))), "vxlan"},
		{"no lisp", true, capture.LinkEthernet, ether(iana.TypeIPv4, udp4(iana.PortLISP, []byte("EEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEE"))), "lisp"},
		{"no lisp in a tunnel", true, capture.LinkEthernet, vxlan(ether(iana.TypeIPv4, udp4(iana.PortLISP, []byte("EEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEE")))), "lisp"},
		{"no lisp, not opened", false, capture.LinkEthernet, ether(iana.TypeIPv4, udp4(iana.PortLISP, []byte("EEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEE"))), ""},
		{"damaged ip in ip", true, capture.LinkEthernet, ether(iana.TypeIPv4, ip4(9, iana.ProtoIPv4, join("\x41", packet4[1:]))), "ipip"},
		{"cut in a tunnel", true, capture.LinkEthernet, vxlan(ether(iana.TypeIPv4, packet4[:10])), "vxlan"},
		{"unknown type in gre", true, capture.LinkEthernet, ether(iana.TypeIPv4, gre4("\x00\x00\x88\xb5", packet4)), "ethertype-88b5"},
		{"control of gtp", true, capture.LinkEthernet, ether(iana.TypeIPv4, udp4(iana.PortGTPU, []byte("\x32\x01\x00\x04teid\x00\x01\x00\x00"))), ""},
		{"control of l2tp", true, capture.LinkEthernet, ether(iana.TypeIPv4, udp4(iana.PortL2TP, []byte("\xc8\x02\x00\x0c\x00\x07\x00\x00\x00\x01\x00\x02"))), ""},
		{"control of geneve", true, capture.LinkEthernet, ether(iana.TypeIPv4, udp4(iana.PortGENEVE, []byte("\x00\x80\x65\x58\x00\x00\x64\x00"))), ""},
		{"keepalive of gre", true, capture.LinkEthernet, ether(iana.TypeIPv4, gre4("\x00\x00\x00\x00")), ""},
		{"keepalive of tzsp", true, capture.LinkEthernet, ether(iana.TypeIPv4, udp4(iana.PortTZSP, []byte("\x01\x04\x00\x00\x01"))), ""},
		{"arp in a tunnel", true, capture.LinkEthernet, vxlan(ether(iana.TypeARP, []byte("arp"))), ""},
	} {
		got := ""
		if what, ok := NewDecoder(DecoderConfig{Inner: c.inner}).Unopened(newBatch(c.link, c.data), 0); ok {
			got = what.String()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestUnopenedBounded checks that no stream makes the counts grow, and that the frequent kind
// is counted however many rare kinds there are.
func TestUnopenedBounded(t *testing.T) {
	var c UnopenedCounts
	if c.ByName() != nil {
		t.Error("counts of nothing")
	}
	for i := range uint32(10000) {
		c.Count(Unopened{0xd28b, unopenedType}, 1)
		c.Count(Unopened{0xa000 + i%1000, unopenedType}, 1)
	}
	var again UnopenedCounts
	for _, one := range c.List() {
		again.Count(one.What, one.Frames)
	}
	again.Add(&UnopenedCounts{})
	for _, counts := range []*UnopenedCounts{&c, &again} {
		all, sum := counts.ByName(), uint64(0)
		for _, n := range all {
			sum += n
		}
		if len(all) > maxUnopened+1 || sum != 20000 || all["ethertype-d28b"] != 10000 || all["others"] == 0 {
			t.Errorf("%d of %d frames in %d kinds: %v", sum, 20000, len(all), all)
		}
	}
}

// TestUnopenedSteadyState checks that counting allocates nothing.
func TestUnopenedSteadyState(t *testing.T) {
	b := newBatch(capture.LinkEthernet, ether(0x88b5, packet4))
	d, c := NewDecoder(DecoderConfig{Inner: true}), UnopenedCounts{}
	if n := testing.AllocsPerRun(100, func() {
		if what, ok := d.Unopened(b, 0); ok {
			c.Count(what, 1)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
