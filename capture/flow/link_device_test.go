// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// arista is a frame with the time header of a switch, in 64 or 48 bits.
func arista(frame []byte, version int, time string) []byte {
	return inserted(frame, be16(typeArista), be16(1), be16(version), time)
}

// macsec is a frame in a security tag of IEEE 802.1AE with the given control bits. sci is the
// identifier of the channel, if the control bits announce one.
func macsec(frame []byte, control byte, sci string) []byte {
	length := 0
	if n := len(frame) - 12; n < 48 {
		length = n
	}
	return join(inserted(frame, be16(typeMACsec), []byte{control, byte(length)}, be32(9), sci), "integrity check!")
}

// erf is the header of an ERF record of a type before a packet of so many bytes.
func erf(typ byte, wire int, rest ...any) []byte {
	return join("\x00\x00\x00\x00\x00\xf1\x53\x65", []byte{typ, 4}, be16(18+wire), be16(0), be16(wire), join(rest...))
}

// deviceCases are those of linkCases whose headers switches, cards and routers have added.
var deviceCases = []linkCase{
	{"arista 64", capture.LinkEthernet, arista(ether(typeIPv4, nil), 0x10, "secsnano"), packet4},
	{"arista 48", capture.LinkEthernet, arista(ether(typeIPv6, nil), 0x20, "scnano"), packet6},
	{"arista 64 utc", capture.LinkEthernet, arista(ether(typeIPv4, nil), 0x110, "secsnano"), packet4},
	{"arista vlan", capture.LinkEthernet, arista(ether(typeVLAN, join(be16(7), be16(typeIPv4))), 0x10, "secsnano"), packet4},
	{"arista 802.2", capture.LinkEthernet, arista(join(mac(1), mac(2), be16(60), snap(typeIPv4, nil)), 0x20, "scnano"), packet4},
	{"arista, other version", capture.LinkEthernet, arista(ether(typeIPv4, nil), 0x30, "secsnano"), nil},
	{"arista, other subtype", capture.LinkEthernet, inserted(ether(typeIPv4, nil), be16(typeArista), be16(2), be16(0x10), "secsnano"), nil},
	{"macsec", capture.LinkEthernet, ether(typeMACsec, join("\x00\x00", be32(9), be16(typeIPv4))), packet4},
	{"macsec with identifier", capture.LinkEthernet, ether(typeMACsec, join("\x20\x00", be32(9), mac(1), "\x00\x01", be16(typeIPv6))), packet6},
	{"macsec encrypted", capture.LinkEthernet, ether(typeMACsec, join("\x0c\x00", be32(9), be16(typeIPv4))), nil},
	{"r-tag", capture.LinkEthernet, ether(typeRTag, join("\x00\x00\x00\x05", be16(typeIPv4))), packet4},
	{"r-tag behind vlan", capture.LinkEthernet, ether(typeVLAN, join(be16(10), be16(typeRTag), "\x00\x00\x00\x05", be16(typeIPv6))), packet6},
	{"trill", capture.LinkEthernet, ether(typeTRILL, join("\x00\x20\x00\x01\x00\x02", ether(typeIPv4, nil))), packet4},
	{"trill with options", capture.LinkEthernet, ether(typeTRILL, join("\x00\xa0\x00\x01\x00\x02", "options!", ether(typeIPv6, nil))), packet6},
	{"trill, other version", capture.LinkEthernet, ether(typeTRILL, join("\x40\x20\x00\x01\x00\x02", ether(typeIPv4, nil))), nil},
	{"batman broadcast", capture.LinkEthernet, ether(typeBATMAN, join("\x01\x0f\x32\x00", be32(1), mac(2), ether(typeIPv4, nil))), packet4},
	{"batman unicast", capture.LinkEthernet, ether(typeBATMAN, join("\x40\x0f\x32\x00", mac(2), ether(typeIPv6, nil))), packet6},
	{"batman, four addresses", capture.LinkEthernet, ether(typeBATMAN, join("\x42\x0f\x32\x00", mac(2), mac(3), "\x01\x00", ether(typeIPv4, nil))), packet4},
	{"batman originator", capture.LinkEthernet, ether(typeBATMAN, join("\x00\x0f\x32\x00", ether(typeIPv4, nil))), nil},
	{"batman, other version", capture.LinkEthernet, ether(typeBATMAN, join("\x40\x0d\x32\x00", mac(2), ether(typeIPv4, nil))), nil},
	{"9200", capture.LinkEthernet, ether(typeQinQOld2, join(be16(10), be16(typeIPv4))), packet4},
	{"edsa under ethernet", capture.LinkEthernet, ether(typeEDSA, join("\x00\x00\x40\x00\x00\x00", be16(typeIPv4))), packet4},
	{"realtek, four bytes", capture.LinkEthernet, ether(typeRealtek, join("\xa0\x01", be16(typeIPv4))), packet4},
	{"realtek, eight bytes", capture.LinkEthernet, ether(typeRealtek, join("\x04\x00\x00\x00\x00\x01", be16(typeIPv6))), packet6},
	{"realtek management", capture.LinkEthernet, ether(typeRealtek, join("\x01\x00", be16(typeIPv4))), nil},
	{"brcm", capture.LinkBRCM, join(mac(1), mac(2), "\x20\x00\x00\x01", be16(typeIPv4)), packet4},
	{"brcm 802.2", capture.LinkBRCM, join(mac(1), mac(2), "\x20\x00\x00\x01", be16(60), snap(typeIPv4, nil)), packet4},
	{"brcm, prepended", capture.LinkBRCMPrepend, join("\x20\x00\x00\x01", ether(typeIPv6, nil)), packet6},
	{"dsa", capture.LinkDSA, join(mac(1), mac(2), "\xc0\x08\x00\x00", be16(typeIPv4)), packet4},
	{"edsa", capture.LinkEDSA, join(mac(1), mac(2), "\xda\xda\x00\x00\xc0\x08\x00\x00", be16(typeIPv6)), packet6},
	{"arcnet, linux", capture.LinkARCNETLinux, []byte("\x01\x02\x00\x00\xd4\x00\x00\x01"), packet4},
	{"arcnet, linux, old", capture.LinkARCNETLinux, []byte("\x01\x02\x00\x00\xf0"), packet4},
	{"arcnet, linux, v6", capture.LinkARCNETLinux, []byte("\x01\x02\x00\x00\xc4\x00\x00\x01"), packet6},
	{"juniper", capture.LinkJuniperEther, join("MGC\x81", be16(6), "\x02\x01\x00\x03\x01\x04", ether(typeIPv4, nil)), packet4},
	{"juniper without extensions", capture.LinkJuniperEther, join("MGC\x01", ether(typeIPv6, nil)), packet6},
	{"juniper without link header", capture.LinkJuniperEther, []byte("MGC\x03\x00\x00\x00\x02"), packet4},
	{"juniper, other letters", capture.LinkJuniperEther, join("MGX\x01", ether(typeIPv4, nil)), nil},
	{"juniper ppp", capture.LinkJuniperPPP, []byte("MGC\x00\xff\x03\x00\x21"), packet4},
	{"juniper frame relay", capture.LinkJuniperFR, []byte("MGC\x00\x18\x41\x03\xcc"), packet4},
	{"juniper hdlc", capture.LinkJuniperCHDLC, join("MGC\x00\x0f\x00", be16(typeIPv6)), packet6},
	{"erf", capture.LinkERF, erf(2, 14+len(packet4), "\x00\x00", ether(typeIPv4, nil)), packet4},
	{"erf extended", capture.LinkERF, erf(0x82, 14+len(packet4), "\x83flow id", "\x04hash id", "\x00\x00", ether(typeIPv4, nil)), packet4},
	{"erf hdlc", capture.LinkERF, erf(1, 4+len(packet6), "\x0f\x00", be16(typeIPv6)), packet6},
	{"erf ppp", capture.LinkERF, erf(1, 4+len(packet4), "\xff\x03\x00\x21"), packet4},
	{"erf ipv6", capture.LinkERF, erf(23, len(packet6)), packet6},
	{"erf metadata", capture.LinkERF, erf(27, 14+len(packet4), "\x00\x00", ether(typeIPv4, nil)), nil},
	{"ip over fibre channel", capture.LinkIPoverFC, join("\x00\x00", mac(1), "\x00\x00", mac(2), snap(typeIPv4, nil)), packet4},
	{"ieee 1394", capture.LinkIEEE1394, join("11111111", "22222222", be16(typeIPv4)), packet4},
	{"symantec", capture.LinkSymantec, join("sixsix", be16(typeIPv4), make([]byte, 36)), packet4},
	{"epon", capture.LinkEPON, join("\x55\x55\xd5\x55\x55\x00\x01\x00", ether(typeIPv4, nil)), packet4},
	{"netanalyzer transparent", capture.LinkNetAnalyzerT, join("\x00\x06\x00\x00", "UUUUUUU\xd5", ether(typeIPv4, nil)), packet4},
	{"netanalyzer, short preamble", capture.LinkNetAnalyzerT, join("\x00\x06\x00\x00", "UUU\xd5", ether(typeIPv6, nil)), packet6},
	{"netanalyzer event", capture.LinkNetAnalyzer, join("\x00\x05\x00\x00", ether(typeIPv4, nil)), nil},
}

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

// tsharkOpens has the cases in which tshark finds the datagram too.
func tsharkOpens(c *linkCase) bool {
	for _, other := range []string{
		"arista 802.2", "9200", "edsa", "realtek", "brcm", "dsa", "netanalyzer transparent", "netanalyzer, short", "juniper without link",
	} {
		if strings.HasPrefix(c.name, other) {
			return false
		}
	}
	return c.ip != nil
}

// TestDevicesByTshark compares the addresses of the cases with those that tshark finds.
func TestDevicesByTshark(t *testing.T) {
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("tshark is not here: ", err)
	}
	var taps []tap
	var want []string
	for i := range deviceCases {
		c := &deviceCases[i]
		if !tsharkOpens(c) {
			continue
		}
		taps = append(taps, tap{link: c.link, data: join(c.head, c.ip)})
		address := "10.0.0.1\t"
		if c.ip[0]>>4 == 6 {
			address = "\t2001:db8::1"
		}
		want = append(want, address)
	}
	var b capture.Batch
	for _, s := range taps {
		b.Append(capture.Frame{Interface: b.AppendInterface(capture.Interface{LinkType: s.link})}, s.data)
	}
	name := filepath.Join(t.TempDir(), "devices.pcapng")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := pcapfile.NewWriter(file, pcapfile.WriterOptions{})
	if err := w.Write(&b, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("tshark", "-r", name, "-T", "fields", "-e", "ip.src", "-e", "ipv6.src").Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(string(bytes.TrimRight(out, "\n")), "\n")
	if !slices.Equal(got, want) {
		for i, c := range taps {
			if i >= len(got) || got[i] != want[i] {
				t.Errorf("link type %v, %x: tshark finds %q, want %q", c.link, c.data, got[min(i, len(got)-1)], want[i])
			}
		}
	}
}
