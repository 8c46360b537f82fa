// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

func TestLinkTypes(t *testing.T) {
	for _, c := range linkCases {
		t.Run(c.Name, func(t *testing.T) {
			datagram := c.Ip
			if c.Ip == nil {
				datagram = packet4
			}
			data := join(c.Head, datagram)
			h := decodeOne(DecoderConfig{}, c.Link, data)
			if c.Ip == nil {
				if h.Version != 0 || h.Start != 0 || int(h.End) != len(data) || int(h.Wire) != len(data) {
					t.Errorf("found %+v where no IP header is", h)
				}
				return
			}
			if h.Version != c.Ip[0]>>4 || !tail(h, data, c.Ip) {
				t.Errorf("got %+v, want a datagram from %d to %d", h, len(c.Head), len(data))
			}
			if h.SrcPort != 1000 {
				t.Errorf("source port %d, want 1000", h.SrcPort)
			}
			// Truncated anywhere, a frame must not yield anything else.
			for n := range len(data) {
				checkHeader(t, decodeOne(DecoderConfig{}, c.Link, data[:n:n]), n)
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
	if h := decode(NewDecoder(DecoderConfig{}), b)[0]; !tail(h, data, packet6) {
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
		{"ethernet", capture.LinkEthernet, ether(iana.TypeIPv4, packet4), mac(1), mac(2)},
		{"ethernet without ip", capture.LinkEthernet, ether(0x0806, []byte("arp")), mac(1), mac(2)},
		{"pbb outermost", capture.LinkEthernet, ether(iana.TypePBB, join("\x00\x00\x00\x01", mac(3), mac(4), be16(iana.TypeIPv4), packet4)), mac(1), mac(2)},
		{"sll", capture.LinkLinuxSLL, join("\x00\x00\x00\x01\x00\x06", mac(2), "\x00\x00", be16(iana.TypeIPv4), packet4), nil, mac(2)},
		{"sll without address", capture.LinkLinuxSLL, join("\x00\x00\x00\x01\x00\x00", mac(2), "\x00\x00", be16(iana.TypeIPv4), packet4), nil, nil},
		{"sll2", capture.LinkLinuxSLL2, join(be16(iana.TypeIPv4), "\x00\x00\x00\x00\x00\x01\x00\x01\x00\x06", mac(2), "\x00\x00", packet4), nil, mac(2)},
		{"fddi", capture.LinkFDDI, join("\x50", mac(1), mac(2), snap(iana.TypeIPv4, packet4)), mac(1), mac(2)},
		{"token ring", capture.LinkTokenRing, join("\x10\x40", mac(1), mac(2), snap(iana.TypeIPv4, packet4)), mac(1), mac(2)},
		{"802.11 ad hoc", capture.LinkIEEE80211, wifiFrame(0x08, 0, snap(iana.TypeIPv4, packet4)), mac(1), mac(2)},
		{"802.11 from ds", capture.LinkIEEE80211, wifiFrame(0x08, 2, snap(iana.TypeIPv4, packet4)), mac(1), mac(3)},
		{"802.11 to ds", capture.LinkIEEE80211, wifiFrame(0x08, 1, snap(iana.TypeIPv4, packet4)), mac(3), mac(2)},
		{"802.11 bridge", capture.LinkIEEE80211, wifiFrame(0x08, 3, mac(4), snap(iana.TypeIPv4, packet4)), mac(3), mac(4)},
		{"802.11 beacon", capture.LinkIEEE80211, wifiFrame(0x80, 0, "body"), mac(1), mac(2)},
		{"802.11 a-msdu", capture.LinkIEEE80211, wifiFrame(0x88, 2, "\x80\x00", mac(7), mac(8), be16(50), snap(iana.TypeIPv4, packet4)), mac(7), mac(8)},
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

// TestMultilink reads whole packets of PPP multilink with long and short numbers, and protocols that
// are compressed or not.
func TestMultilink(t *testing.T) {
	const packets = 100_000
	r := rand.New(rand.NewPCG(43, 44))
	wrong := 0
	for range packets {
		inside := someDatagram(r, []byte{4, 6}[r.IntN(2)], r.IntN(len(sums)))
		header := []byte{0xc0 | byte(r.IntN(16)), byte(r.Uint32())}
		if r.IntN(2) == 0 {
			header = join("\xc0", randomBytes(r, 3))
		}
		protocol := map[byte]byte{4: pppIPv4, 6: pppIPv6}[inside[0]>>4]
		if r.IntN(2) == 0 {
			header = append(header, 0)
		}
		data := join("\xff\x03\x00\x3d", header, []byte{protocol}, inside)
		if h := decodeOne(DecoderConfig{}, capture.LinkPPP, data); int(h.Start) != len(data)-len(inside) || h.Version != inside[0]>>4 {
			wrong++
		}
	}
	t.Logf("%d of %d wrong", wrong, packets)
	if wrong > 10 {
		t.Errorf("%d of %d wrong", wrong, packets)
	}
}
