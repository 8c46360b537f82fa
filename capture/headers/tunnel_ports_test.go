// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// TestParseTunnels reads ports, and refuses what is none.
func TestParseTunnels(t *testing.T) {
	for text, want := range map[string]string{
		"10800=vxlan":                      "10800=vxlan",
		"9=vxlan-gpe, 4789=none,7=skip:16": "7=skip:16,9=vxlan-gpe,4789=none",
		"1=gtp,65535=skip:0":               "1=gtp,65535=skip:0",
	} {
		tunnels, err := ParseTunnels(text)
		if err != nil || tunnels.String() != want {
			t.Errorf("%q: %v, %v", text, tunnels, err)
		}
	}
	for _, text := range []string{"", "=", "10800", "10800=", "vxlan", "0=vxlan", "65536=vxlan", "-1=vxlan", "9=skip", "9=skip:", "9=skip:-1", "9=skip:65536", "9=gre", "9=vxlan,", "9=vxlan,9=none"} {
		if tunnels, err := ParseTunnels(text); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, %v", text, tunnels, err)
		}
	}
	for _, name := range ToldKinds() {
		if tunnels, err := ParseTunnels("9=" + name); err != nil || tunnels.String() != "9="+name {
			t.Errorf("%s: %v, %v", name, tunnels, err)
		}
	}
	if s := (*Tunnels)(nil).String(); s != "" {
		t.Errorf("the usual tunnels: %q", s)
	}
}

// TestToldTunnels opens what a user has named: also content that would be doubted at a port of
// other programs, and headers of any length before Ethernet or IP.
func TestToldTunnels(t *testing.T) {
	tunnels, err := ParseTunnels("1=vxlan,257=vxlan-gpe,2=skip:0,3=skip:5,4=jmirror,5=capwap,4789=none,2152=vxlan,8472=skip:8")
	if err != nil {
		t.Fatal(err)
	}
	to := func(port int, parts ...any) []byte { return udp4(port, join(parts...)) }
	const vni = "\x00\x00\x64\x00"
	for name, c := range map[string]struct{ outer, want []byte }{
		"vxlan":                 {to(1, "\x08\x00\x00\x00", vni, ether(iana.TypeIPv4, packet4)), packet4},
		"no bit, wrong sum":     {to(1, "\x00\x00\x00\x00", vni, ether(iana.TypeIPv4, broken4)), broken4},
		"no bit, another frame": {to(1, "\x00\x00\x00\x00", vni, ether(0x88cc, []byte("lldp"))), ether(0x88cc, []byte("lldp"))},
		"the same low byte":     {to(257, "\x0c\x00\x00\x02", vni, packet6), packet6},
		"ip":                    {to(2, packet4), packet4},
		"ethernet":              {to(2, ether(iana.TypeIPv6, packet6)), packet6},
		"ethernet behind five":  {to(3, "five!", vlan(ether(iana.TypeIPv4, packet4))), packet4},
		"ip behind five":        {to(3, "five!", broken4), broken4},
		"arp behind five":       {to(3, "five!", arpFrame), arpFrame},
		"nothing behind five":   {to(3, "five!"), nil},
		"less than five":        {to(3, "four"), nil},
		"jmirror, wrong sum":    {to(4, "12345678", broken4), broken4},
		"closed":                {to(4789, "\x08\x00\x00\x00", vni, ether(iana.TypeIPv4, packet4)), nil},
		"in the place of gtp":   {to(2152, "\x08\x00\x00\x00", vni, ether(iana.TypeIPv4, packet4)), packet4},
		"skipped vxlan":         {to(8472, "\x00\x00\x00\x00", vni, ether(iana.TypeIPv4, packet4)), packet4},
		"capwap answer":         {ip4(9, iana.ProtoUDP, udp(5, 40000, join("\x00\x10\x42\x00\x00\x00\x00\x00", ether(iana.TypeIPv4, broken4)))), broken4},
		"not from vxlan":        {ip4(9, iana.ProtoUDP, udp(1, 40000, join("\x08\x00\x00\x00", vni, ether(iana.TypeIPv4, packet4)))), nil},
	} {
		want := c.want
		if want == nil {
			want = c.outer
		}
		for _, data := range [][]byte{c.outer, ether(iana.TypeIPv4, c.outer)} {
			link := map[bool]capture.LinkType{true: capture.LinkRaw, false: capture.LinkEthernet}[len(data) == len(c.outer)]
			h := decodeOne(DecoderConfig{Inner: true, Tunnels: tunnels}, link, data)
			if got := data[h.Start:h.End]; string(got) != string(want) || (h.Flags&FlagInner != 0) != (c.want != nil) {
				t.Errorf("%s: %x, want %x", name, got, want)
			}
		}
	}
}
