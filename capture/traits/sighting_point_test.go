// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
	"github.com/google/gopacket"
)

// tagged is an IPv4 frame with tags of 4 bytes between its addresses and its type.
func tagged(tags ...uint32) []byte {
	out := ether(iana.TypeIPv4, packet4)
	for _, tag := range slices.Backward(tags) {
		out = inserted(out, be32(tag))
	}
	return out
}

// TestPoints compares the points of two frames. Exactly the listed fields must differ.
func TestPoints(t *testing.T) {
	vxlan := func(vni byte, inner []byte) []byte {
		return ether(iana.TypeIPv4, udp4(iana.PortVXLAN, join("\x08\x00\x00\x00\x00\x00", []byte{vni}, "\x00", inner)))
	}
	geneve := func(vni byte) []byte {
		return ether(iana.TypeIPv4, udp4(iana.PortGENEVE, join("\x00\x00", be16(iana.TypeIPv4), "\x00\x00", []byte{vni}, "\x00", packet4)))
	}
	gre := func(key string) []byte {
		return ether(iana.TypeIPv4, gre4("\x20\x00", be16(iana.TypeIPv4), key, packet4))
	}
	erspan := func(session byte) []byte {
		return ether(iana.TypeIPv4, gre4("\x10\x00", be16(iana.TypeERSPAN2), "seq!", "\x10\x64\x00", []byte{session}, "\x00\x00\x00\x05", ether(iana.TypeIPv4, packet4)))
	}
	gtp := func(teid string) []byte {
		return ether(iana.TypeIPv4, udp4(iana.PortGTPU, join("\x30\xff", be16(len(packet4)), teid, packet4)))
	}
	pptp := func(call string) []byte {
		return ether(iana.TypeIPv4, gre4("\x30\x01", be16(iana.TypePPP), be16(4+len(packet4)), call, "seq!", "\xff\x03\x00\x21", packet4))
	}
	sll2Tagged := func(vlan int, typ int, rest []byte) []byte {
		return sll2(1, 0, mac(2), iana.TypeVLAN, join(be16(vlan), be16(typ), rest))
	}
	const vlan1, vlan2, outer1, outer2 = 0x81000001, 0x81000002, 0x88a80001, 0x88a80002
	for _, c := range []struct {
		name   string
		a, b   []byte
		closed PointFields // that differ without Inner
		inner  PointFields // and with it
	}{
		{"same", tagged(vlan1), tagged(vlan1), 0, 0},
		{"tag and none", tagged(vlan1), tagged(), PointVLAN, PointVLAN},
		{"other tag", tagged(vlan1), tagged(vlan2), PointVLAN, PointVLAN},
		{"priority", tagged(vlan1), tagged(vlan1 | 0xf000), 0, 0},
		{"type of tag", tagged(vlan1), tagged(outer1), 0, 0},
		{"priority tag", tagged(0x8100e000), tagged(), 0, 0},
		{"priority tag in another", tagged(outer1, 0x8100e000), tagged(outer1), 0, 0},
		{"outer tag", tagged(outer1, vlan1), tagged(vlan1), PointVLAN, PointVLAN},
		{"same tag twice", tagged(outer1, vlan1), tagged(outer1), PointVLAN, PointVLAN},
		{"order of tags", tagged(outer1, vlan2), tagged(outer2, vlan1), PointVLAN, PointVLAN},
		{"third tag", tagged(outer1, vlan2, vlan1), tagged(outer1, vlan2, vlan2), PointVLAN, PointVLAN},
		{"tag behind another header", inserted(tagged(vlan1), be16(iana.TypeVNTag), be32(5)), inserted(tagged(vlan2), be16(iana.TypeVNTag), be32(5)), PointVLAN, PointVLAN},
		{"label", tagged(vlan1), ether(iana.TypeVLAN, join(be16(1), be16(iana.TypeMPLS), "\x00\x01\x01\x40", packet4)), 0, 0},
		{"tag of an ARP", vlan(arpFrame), arpFrame, PointVLAN, PointVLAN},
		{"tags of an ARP", qinq(arpFrame), vlan(arpFrame), PointVLAN, PointVLAN},
		{"same, IPv6", ether(iana.TypeIPv6, packet6), tagged(), 0, 0},
		{"VNI", vxlan(1, ether(iana.TypeIPv4, packet4)), vxlan(2, ether(iana.TypeIPv4, packet4)), 0, PointVNI},
		{"VNI around ARP", vxlan(1, arpFrame), vxlan(2, arpFrame), 0, PointVNI},
		{"tag in a tunnel", vxlan(1, tagged(vlan1)), vxlan(1, tagged()), 0, PointVLAN},
		{"tag around a tunnel", vlan(vxlan(1, tagged())), vxlan(1, tagged()), PointVLAN, PointVLAN},
		{"tags around and in a tunnel", inserted(vxlan(1, tagged(vlan2)), be32(vlan1)), inserted(vxlan(1, tagged(vlan1)), be32(vlan2)), PointVLAN, PointVLAN},
		{"GENEVE", geneve(1), geneve(2), 0, PointVNI},
		{"GENEVE and VXLAN", geneve(1), vxlan(1, ether(iana.TypeIPv4, packet4)), 0, PointVNI},
		{"GRE key", gre("key1"), gre("key2"), 0, PointVNI},
		{"ERSPAN session", erspan(1), erspan(2), 0, PointVNI},
		{"TEID", gtp("tei1"), gtp("tei2"), 0, pointTEID},
		{"call", pptp("\x00\x01"), pptp("\x00\x02"), 0, pointTEID},
		{"session", over4(udp4(iana.PortL2TP, l2tp(0, nil, "\x00\x21", packet4))), over4(udp4(iana.PortL2TP, join(be16(2), be16(7), be16(8), "\x00\x21", packet4))), 0, pointTEID},
		{"instance", over4(lispWith(5)), over4(lispWith(6)), 0, PointVNI},
		{"intercept", over4(udp4(iana.PortJMirror, join(be32(1), be32(9), packet4))), over4(udp4(iana.PortJMirror, join(be32(2), be32(9), packet4))), 0, PointVNI},
		{"tunnel of EoIP", over4(eoip(arpFrame, len(arpFrame))), over4(with(eoip(arpFrame, len(arpFrame)), 20+6, "\x06")), 0, PointVNI},
		{"tunnel of EtherIP", over4(ip4(9, iana.ProtoEtherIP, join("\x30\x05", arpFrame))), over4(ip4(9, iana.ProtoEtherIP, join("\x30\x06", arpFrame))), 0, PointVNI},
		{"label in IP", over4(ip4(9, iana.ProtoMPLS, join(label, packet4))), over4(ip4(9, iana.ProtoMPLS, join("\x00\x02\x31\x40", packet4))), 0, 0},
		{"cooked", sll2Tagged(1, iana.TypeIPv4, packet4), sll2Tagged(2, iana.TypeIPv4, packet4), PointVLAN, PointVLAN},
		{"cooked, ARP", sll2Tagged(1, iana.TypeARP, arpFrame[14:]), sll2Tagged(2, iana.TypeARP, arpFrame[14:]), PointVLAN, PointVLAN},
		{"a tunnel and none", vxlan(1, tagged()), tagged(), 0, PointVNI},
	} {
		for field := PointVLAN; field <= PointInput; field <<= 1 {
			for inner, differ := range map[bool]PointFields{false: c.closed, true: c.inner} {
				b := newBatch(capture.LinkEthernet, c.a, c.b)
				if strings.HasPrefix(c.name, "cooked") {
					b.Interfaces[0].LinkType = capture.LinkLinuxSLL2
				}
				p := NewSightingReader(SightingConfig{Inner: inner, Fields: field}).Points(b, 0, 2)
				if (p[0] != p[1]) != (differ&field != 0) {
					t.Errorf("%s: field %b, inner %v: points %x", c.name, field, inner, p)
				}
			}
		}
	}
}

// TestPlaces checks which interfaces and inputs are points.
func TestPlaces(t *testing.T) {
	begun := uint32(1)
	b := &capture.Batch{
		Sections: []capture.Section{{Input: 0}, {Input: 0}, {Input: 1}},
		Interfaces: []capture.Interface{
			{LinkType: capture.LinkEthernet, CapturePoint: 0},
			{LinkType: capture.LinkEthernet, CapturePoint: 1},
			{LinkType: capture.LinkEthernet, CapturePoint: 0, Section: 1}, // the first interface, described again
			{LinkType: capture.LinkLinuxSLL2, CapturePoint: 2, Section: 2},
			{LinkType: capture.LinkEthernet, CapturePoint: 3, Section: 2, Origin: &begun}, // the second interface goes on
			{LinkType: capture.LinkEthernet, CapturePoint: 0, Section: 1, Origin: &begun}, // the first interface, if its origin does not count
		},
	}
	for _, f := range []struct {
		at   uint32
		data []byte
	}{
		{0, tagged()}, {1, tagged()}, {2, tagged()},
		{3, sll2(7, 0, mac(2), iana.TypeIPv4, packet4)}, {3, sll2(8, 0, mac(2), iana.TypeIPv4, packet4)}, {3, sll2(7, 4, mac(2), iana.TypeIPv4, packet4)}, {3, nil}, {4, tagged()}, {5, tagged()},
	} {
		b.Frames = append(b.Frames, capture.Frame{Data: uint32(len(b.Buf)), CapLen: uint32(len(f.data)), Interface: f.at})
		b.Buf = append(b.Buf, f.data...)
	}
	for fields, want := range map[PointFields][]int{
		PointInterface:              {0, 1, 0, 2, 3, 2, 4, 5, 0},
		PointInput:                  {0, 0, 0, 1, 1, 1, 1, 1, 0},
		PointInterface | PointInput: {0, 1, 0, 2, 3, 2, 4, 5, 0},
		PointOrigin:                 {0, 1, 0, 2, 3, 2, 4, 1, 1},
		PointVLAN:                   {0, 0, 0, 0, 0, 0, 0, 0, 0},
	} {
		points := NewSightingReader(SightingConfig{Fields: fields}).Points(b, 0, len(b.Frames))
		numbers := map[uint64]int{}
		for i, p := range points {
			if _, ok := numbers[p]; !ok {
				numbers[p] = len(numbers)
			}
			if numbers[p] != want[i] {
				t.Errorf("fields %b: frame %d is at %d, want %d", fields, i, numbers[p], want[i])
			}
		}
	}
}

// TestStackAndLayersAgree compares the points of random frames on both paths.
func TestStackAndLayersAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	buf := gopacket.NewSerializeBuffer()
	r := NewSightingReader(SightingConfig{Fields: allPointFields})
	for range 2000 {
		if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true}, generate(rng).Layers...); err != nil {
			t.Fatal(err)
		}
		b := newBatch(capture.LinkEthernet, buf.Bytes())
		if got, want := r.Points(b, 0, 1)[0], r.layered(r.placeOf(b, 0).hash, b, 0); got != want {
			t.Fatalf("frame %x: %x and %x", buf.Bytes(), got, want)
		}
	}
}

func TestPointFieldNames(t *testing.T) {
	for name, want := range map[string]PointFields{
		"vlan": PointVLAN, "vni": PointVNI | pointTEID, "interface": PointInterface, "input": PointInput, "": 0, "vlan,vni": 0,
	} {
		if got, err := parsePointField(name); got != want || (err != nil) != (want == 0) {
			t.Errorf("%q: %v, %v", name, got, err)
		}
	}
}
