// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/frametest"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// cooked returns a frame of each version of Linux cooked captures.
func cooked(protocol int, packet []byte) map[capture.LinkType][]byte {
	return map[capture.LinkType][]byte{
		capture.LinkLinuxSLL:  frametest.SLL(0, mac(2), protocol, packet),
		capture.LinkLinuxSLL2: frametest.SLL2(3, 0, mac(2), protocol, packet),
	}
}

// checkTags checks that a frame has the VLAN and as many tags before a packet at its end. If there
// are tags that its header hides, the kernels must not take it for IP.
func checkTags(t *testing.T, link capture.LinkType, data, packet []byte, wire uint32, vlan uint16, tags uint8) {
	t.Helper()
	b := newBatch(link, data)
	b.Frames[0].WireLen = wire
	h := decode(NewDecoder(DecoderConfig{}), b)[0]
	if int(h.Start) != len(data)-len(packet) || h.Version != packet[0]>>4 || h.VLAN != vlan || h.Tags != tags {
		t.Fatalf("%v %x of %d bytes: %+v, want %d tags of VLAN %d before %x", link, data, wire, h, tags, vlan, packet)
	}
	checkCommon(t, b, 0)
	m := []digest.Message{{Len: uint32(len(data))}}
	if PlaceIP(m, link, b.Buf); tags > 0 && m[0].Len != 0 {
		t.Fatalf("%v %x: a kernel gets a tag as IP", link, data)
	}
}

// TestHiddenTag gives every tag to packets whose cooked header has the type behind it: some begin
// as an IP header does.
func TestHiddenTag(t *testing.T) {
	four := frametest.Sized4(7, iana.ProtoUDP, frametest.UDPSum(53, 0x1234, frametest.Body))
	unfilled, wrong := slices.Clone(four), slices.Clone(four)
	copy(unfilled[10:], "\x00\x00")
	wrong[10]++
	six := frametest.Sized6(iana.ProtoTCP, frametest.Body)
	for name, packet := range map[string][]byte{"right": four, "unfilled": unfilled, "wrong": wrong, "six": six} {
		t.Run(name, func(t *testing.T) {
			typ := iana.TypeIPv4
			if packet[0]>>4 == 6 {
				typ = iana.TypeIPv6
			}
			for tci := range 1 << 16 {
				tagged := join(be16(tci), be16(typ), packet)
				for link, data := range cooked(typ, tagged) {
					checkTags(t, link, data, packet, uint32(len(data)), uint16(tci)&0xfff, 1)
				}
				if tci%7 > 0 {
					continue
				}
				// Truncated, with padding behind it, with a third tag, and behind the first tag, as
				// libpcap inserts it.
				data := frametest.SLL2(3, 0, mac(2), typ, tagged[:48])
				checkTags(t, capture.LinkLinuxSLL2, data, packet[:44], uint32(20+len(tagged)), uint16(tci)&0xfff, 1)
				data = frametest.SLL2(3, 0, mac(2), typ, join(be16(tci), be16(iana.TypeVLAN), be16(9), be16(typ), packet))
				checkTags(t, capture.LinkLinuxSLL2, data, packet, uint32(len(data)), uint16(tci)&0xfff, 2)
				data = frametest.SLL(0, mac(2), iana.TypeQinQ, join(be16(5), be16(typ), tagged))
				checkTags(t, capture.LinkLinuxSLL, data, packet, uint32(len(data)), 5, 2)
			}
		})
	}
}

// TestHiddenTagPadded has a short packet that was padded on the wire.
func TestHiddenTagPadded(t *testing.T) {
	packet := frametest.Sized4(7, iana.ProtoUDP, frametest.UDPSum(53, 0x1234, nil))
	for tci := range 1 << 16 {
		data := frametest.SLL2(3, 0, mac(2), iana.TypeIPv4, join(be16(tci), be16(iana.TypeIPv4), packet, make([]byte, 14)))
		h := decodeOne(DecoderConfig{}, capture.LinkLinuxSLL2, data)
		if h.Start != 24 || int(h.End) != 24+len(packet) || h.Tags != 1 {
			t.Fatalf("tag %04x: %+v", tci, h)
		}
	}
}

// TestNoHiddenTag has packets without tags that resemble packets with a tag: their length or flow
// label is a type, and what follows may be any bytes.
func TestNoHiddenTag(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	types := []int{iana.TypeIPv4, iana.TypeVLAN, iana.TypeQinQ, iana.TypeIPv6}
	for range 300000 {
		typ, packet := iana.TypeIPv4, make([]byte, 2048)
		for i := range 60 {
			packet[i] = byte(r.Uint32())
		}
		packet[0] = 0x45
		copy(packet[2:], be16(len(packet)))
		packet[4] = 0x45 + byte(r.UintN(11)) // as the version behind a tag
		copy(packet[6:], [][]byte{{0, 0}, {0x40, 0}, {0x20, 1}}[r.UintN(3)])
		if r.UintN(2) == 0 {
			copy(packet[10:], "\x00\x00")
			copy(packet, frametest.Summed(packet[:20]))
		}
		if r.UintN(2) == 0 {
			typ, packet[0], packet[6], packet[7], packet[8], packet[24] = iana.TypeIPv6, 0x60, iana.ProtoTCP, 64, 0x20, 0x20
			copy(packet[2:], be16(types[r.UintN(4)]))
			copy(packet[4:], be16(len(packet)-40))
		}
		cut := packet[:44+r.UintN(2000)]
		for link, data := range cooked(typ, cut) {
			checkTags(t, link, data, cut, uint32(len(data)-len(cut)+len(packet)), 0, 0)
		}
	}
}

// TestHiddenTagWithoutIP has other packets than IP behind tags that the header hides, and such
// without tags.
func TestHiddenTagWithoutIP(t *testing.T) {
	arp, stp := frametest.ARP(1)[14:], join("\x42\x42\x03", make([]byte, 35))
	label, session := join("\x00\x02\x01\x40", packet6), join("\x11\x00\x00\x05", be16(2+len(packet4)), "\x00\x21", packet4)
	snapped := join(snap(0x0800, nil), packet4)
	for _, c := range []struct {
		name        string
		protocol    int
		tag, packet []byte
		ip          []byte
	}{
		{"arp", iana.TypeARP, join(be16(1), be16(iana.TypeARP)), arp, nil},
		{"arp untagged", iana.TypeARP, nil, arp, nil},
		{"labels", iana.TypeMPLS, join(be16(0x4007), be16(iana.TypeMPLS)), label, packet6},
		{"labels untagged", iana.TypeMPLS, nil, label, packet6},
		{"session", iana.TypePPPoE, join(be16(0x1100), be16(iana.TypePPPoE)), session, packet4},
		{"session untagged, of the type's number", iana.TypePPPoE, nil, join("\x11\x00", be16(iana.TypePPPoE), session[4:]), packet4},
		{"802.2", len(stp), join(be16(7), be16(len(stp))), stp, nil},
		{"802.2 snap", len(snapped), join(be16(7), be16(len(snapped))), snapped, packet4},
		{"802.2 in two", len(stp), join(be16(7), be16(iana.TypeQinQ), be16(8), be16(len(stp))), stp, nil},
		{"can", 12, nil, join(frametest.BE32(12), "\x08\x00\x00\x00", make([]byte, 8)), nil},
		{"unknown", 0x88b5, join(be16(7), be16(0x88b5)), stp, nil},
	} {
		for link, data := range cooked(c.protocol, join(c.tag, c.packet)) {
			if c.name == "can" { // ARPHRD_CAN
				at := map[capture.LinkType]int{capture.LinkLinuxSLL: 2, capture.LinkLinuxSLL2: 8}[link]
				copy(data[at:], be16(280))
			}
			b := newBatch(link, data)
			h, p := decode(NewDecoder(DecoderConfig{}), b)[0], NonIPParts{}
			if int(h.Tags) != len(c.tag)/4 || len(c.tag) > 0 && h.VLAN != binary.BigEndian.Uint16(c.tag)&0xfff {
				t.Errorf("%s, %v: %+v", c.name, link, h)
			}
			switch {
			case c.ip != nil && !tail(h, data, c.ip), c.ip == nil && (h.Version != 0 || !p.Read(b, 0, &h)):
				t.Errorf("%s, %v: %+v", c.name, link, h)
			case c.ip == nil && int(p.Payload) != len(data)-len(c.packet):
				t.Errorf("%s, %v: payload at %d of %x", c.name, link, p.Payload, data)
			}
			checkCommon(t, b, 0)
		}
	}
}

// TestHiddenTagOfAnyLength cuts a frame everywhere.
func TestHiddenTagOfAnyLength(t *testing.T) {
	for link, data := range cooked(iana.TypeIPv4, join(be16(0x4567), be16(iana.TypeVLAN), be16(8), be16(iana.TypeIPv4), packet4)) {
		for n := range data {
			b := newBatch(link, data[:n:n])
			b.Frames[0].WireLen = uint32(len(data))
			checkCommon(t, b, 0)
			h := decode(NewDecoder(DecoderConfig{}), b)[0]
			checkHeader(t, h, n)
			if start := len(data) - len(packet4); h.Version != 0 && int(h.Start) != start {
				t.Fatalf("%v cut to %d: %+v", link, n, h)
			}
		}
	}
}
