// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// TestIdentityWithoutDevices checks that a packet is the same behind each header, whatever the
// header says, and that its addresses are those that it has without.
func TestIdentityWithoutDevices(t *testing.T) {
	for _, datagram := range [][]byte{packet4, packet6} {
		want := identityOf(IdentityConfig{}, capture.LinkRaw, datagram)
		for _, c := range deviceCases {
			if c.ip == nil || c.ip[0]>>4 != datagram[0]>>4 {
				continue
			}
			if got := identityOf(IdentityConfig{}, c.link, join(c.head, datagram, "a trailer")); got != want {
				t.Errorf("%s: another packet", c.name)
			}
		}
	}
}

// TestFramesBehindDevices checks that a frame without IP is the same with each header of a
// switch, and with its check sequence where the capture has one.
func TestFramesBehindDevices(t *testing.T) {
	arp := padded60(ether(typeARP, join("\x00\x01\x08\x00\x06\x04\x00\x01", mac(2), []byte{10, 0, 0, 2}, make([]byte, 6), []byte{10, 0, 0, 1})))
	lldp := ether(0x88cc, []byte("\x02\x07\x04\x02\x00\x00\x00\x00\x02\x04\x02\x07p\x06\x02\x00\x78\x00\x00, and more than fits a short frame"))
	stp := padded60(join(mac(1), mac(2), be16(38), "\x42\x42\x03", make([]byte, 34), "\x01"))
	for name, frame := range map[string][]byte{"arp": arp, "lldp": lldp, "stp": stp} {
		want := identityOf(IdentityConfig{}, capture.LinkEthernet, frame)
		for _, s := range []tap{
			onEthernet("arista", arista(frame, 0x10, "secsnano")), onEthernet("another time", arista(frame, 0x20, "scnano")),
			onEthernet("macsec", macsec(frame, 0, "")), onEthernet("macsec, identifier", macsec(frame, 0x20, "channel!")),
			onEthernet("r-tag", inserted(frame, be16(typeRTag), "\x00\x00\x00\x05")),
			onEthernet("trill", ether(typeTRILL, join("\x00\x20\x00\x01\x00\x02", frame))),
			onEthernet("in mpls", ether(typeMPLS, join("\x00\x01\x01\x40", frame))),
			{link: capture.LinkDSA, name: "dsa", data: inserted(frame, "\xc0\x08\x00\x00")},
			{link: capture.LinkBRCMPrepend, name: "brcm", data: join("\x20\x00\x00\x01", frame)},
			{link: capture.LinkERF, name: "erf", data: erf(2, len(frame), "\x00\x00", frame, "padding!")},
			{link: capture.LinkEPON, name: "epon", data: join("\x55\x55\xd5\x55\x55\x00\x01\x00", frame)},
			{link: capture.LinkNetAnalyzer, name: "netanalyzer", data: join("\x00\x04\x00\x00", frame, "sum!")},
			{link: capture.LinkNetAnalyzerT, name: "transparent", data: join("\x00\x06\x00\x00UUUUUUU\xd5", frame, "sum!")},
		} {
			if got := identityOf(IdentityConfig{}, s.link, s.data); got != want {
				t.Errorf("%s, %s: %q, want %q", name, s.name, got.text, want.text)
			}
		}
	}
}
