// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// TestIdentityWithoutDevices checks that a packet is the same behind each header, whatever the
// header says, and that its addresses are the same as without.
func TestIdentityWithoutDevices(t *testing.T) {
	for _, datagram := range [][]byte{packet4, packet6} {
		want := identityOf(Config{}, capture.LinkRaw, datagram)
		for _, c := range deviceCases {
			if c.Ip == nil || c.Ip[0]>>4 != datagram[0]>>4 {
				continue
			}
			if got := identityOf(Config{}, c.Link, join(c.Head, datagram, "a trailer")); got != want {
				t.Errorf("%s: another packet", c.Name)
			}
		}
	}
}

// TestFramesBehindDevices checks that a frame without IP is the same with each header of a
// switch, and with its check sequence where the capture has it.
func TestFramesBehindDevices(t *testing.T) {
	arp := padded60(ether(iana.TypeARP, join("\x00\x01\x08\x00\x06\x04\x00\x01", mac(2), []byte{10, 0, 0, 2}, make([]byte, 6), []byte{10, 0, 0, 1})))
	lldp := ether(0x88cc, []byte("\x02\x07\x04\x02\x00\x00\x00\x00\x02\x04\x02\x07p\x06\x02\x00\x78\x00\x00, and more than fits a short frame"))
	stp := padded60(join(mac(1), mac(2), be16(38), "\x42\x42\x03", make([]byte, 34), "\x01"))
	for name, frame := range map[string][]byte{"arp": arp, "lldp": lldp, "stp": stp} {
		want := identityOf(Config{}, capture.LinkEthernet, frame)
		for _, s := range []tap{
			onEthernet("arista", arista(frame, 0x10, "secsnano")), onEthernet("another time", arista(frame, 0x20, "scnano")),
			onEthernet("macsec", macsec(frame, 0, "")), onEthernet("macsec, identifier", macsec(frame, 0x20, "channel!")),
			onEthernet("r-tag", inserted(frame, be16(iana.TypeRTag), "\x00\x00\x00\x05")),
			onEthernet("trill", ether(iana.TypeTRILL, join("\x00\x20\x00\x01\x00\x02", frame))),
			onEthernet("in mpls", ether(iana.TypeMPLS, join("\x00\x01\x01\x40", frame))),
			{Link: capture.LinkDSA, Name: "dsa", Data: inserted(frame, "\xc0\x08\x00\x00")},
			{Link: capture.LinkBRCMPrepend, Name: "brcm", Data: join("\x20\x00\x00\x01", frame)},
			{Link: capture.LinkERF, Name: "erf", Data: erf(2, len(frame), "\x00\x00", frame, "padding!")},
			{Link: capture.LinkEPON, Name: "epon", Data: join("\x55\x55\xd5\x55\x55\x00\x01\x00", frame)},
			{Link: capture.LinkNetAnalyzer, Name: "netanalyzer", Data: join("\x00\x04\x00\x00", frame, "sum!")},
			{Link: capture.LinkNetAnalyzerT, Name: "transparent", Data: join("\x00\x06\x00\x00UUUUUUU\xd5", frame, "sum!")},
		} {
			if got := identityOf(Config{}, s.Link, s.Data); got != want {
				t.Errorf("%s, %s: %q, want %q", name, s.Name, got.text, want.text)
			}
		}
	}
}
