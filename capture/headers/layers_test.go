// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/frametest"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// describeLayers writes layers as "kind:id@start-end".
func describeLayers(list []Layer) string {
	var words []string
	for _, l := range list {
		word := fmt.Sprintf("%v@%d-%d", l.Kind, l.Start, l.End)
		if l.ID != 0 {
			word = fmt.Sprintf("%v:%d@%d-%d", l.Kind, l.ID, l.Start, l.End)
		}
		if l.Kind == LayerUnread {
			word = fmt.Sprintf("unread %v@%d", LayerKind(l.ID), l.Start)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func layersOf(inner bool, link capture.LinkType, data []byte) []Layer {
	return NewDecoder(DecoderConfig{Inner: inner}).Layers(nil, newBatch(link, data), 0)
}

func TestLayers(t *testing.T) {
	tagged := func(typ int, rest ...any) []byte {
		return ether(iana.TypeQinQ, join(be16(0xe00a), be16(iana.TypeVLAN), be16(20), be16(typ), join(rest...)))
	}
	vxlan := join("\x08\x00\x00\x00\x00\x12\x34\x00", ether(iana.TypeVLAN, join(be16(7), be16(iana.TypeIPv4), packet4)))
	cases := []struct {
		name string
		link capture.LinkType
		data []byte
		want string
	}{
		{"plain", 1, ether(iana.TypeIPv4, packet4), "ethernet@0-50 ip@14-50"},
		{"tags", 1, tagged(iana.TypeIPv4, packet4), "ethernet@0-58 vlan:10@14-18 vlan:20@18-22 ip@22-58"},
		{"arp", 1, tagged(iana.TypeARP, "arp"), "ethernet@0-25 vlan:10@14-18 vlan:20@18-22"},
		{"tag cut", 1, ether(iana.TypeVLAN, be16(5)), "ethernet@0-16 unread vlan@14"},
		{"labels", 1, tagged(iana.TypeMPLS, "\x00\x01\x00\x40\x00\x02\x01\x40", packet6),
			"ethernet@0-97 vlan:10@14-18 vlan:20@18-22 mpls:16@22-26 mpls:32@26-30 ip@30-97"},
		{"label cut", 1, ether(iana.TypeMPLS, []byte("\x00\x01\x00\x40\x00")), "ethernet@0-19 mpls:16@14-18 unread mpls@18"},
		{"pseudowire", 1, ether(iana.TypeMPLS, join("\x00\x01\x01\x40\x00\x00\x00\x00", tagged(iana.TypeIPv4, packet4))),
			"ethernet@0-80 mpls:16@14-18 ethernet@22-80 vlan:10@36-40 vlan:20@40-44 ip@44-80"},
		{"arista", 1, ether(iana.TypeArista, join("\x00\x01\x00\x10", "secsnano", be16(iana.TypeVLAN), be16(20), be16(iana.TypeIPv4), packet4)),
			"ethernet@0-68 arista@14-28 vlan:20@28-32 ip@32-68"},
		{"arista cut", 1, ether(iana.TypeArista, []byte("\x00\x01\x00\x20secn")), "ethernet@0-22 unread arista@14"},
		{"ethernet in mpls", 1, ether(iana.TypeMPLS, join("\x00\x01\x01\x40", ether(iana.TypeIPv4, packet4))),
			"ethernet@0-68 mpls:16@14-18 ethernet@18-68 ip@32-68"},
		{"pppoe", 1, ether(iana.TypePPPoE, join("\x11\x00\x12\x34", be16(2+len(packet4)), "\x00\x21", packet4)),
			"ethernet@0-58 pppoe:4660@14-20 ip@22-58"},
		{"pppoe cut", 1, ether(iana.TypePPPoE, []byte("\x11\x00\x12\x34\x00")), "ethernet@0-19 unread pppoe@14"},
		{"pppoe control", 1, ether(iana.TypePPPoE, []byte("\x11\x00\x12\x34\x00\x02\xc0\x21")), "ethernet@0-22 pppoe:4660@14-20"},
		{"sll2", capture.LinkLinuxSLL2, join(be16(iana.TypeVLAN), make([]byte, 18), be16(9), be16(iana.TypeIPv4), packet4), "vlan:9@20-24 ip@24-60"},
		{"vxlan", 1, ether(iana.TypeIPv4, udp4(iana.PortVXLAN, vxlan)),
			"ethernet@0-104 ip@14-104 vxlan:4660@42-50 ethernet@50-104 vlan:7@64-68 ip@68-104"},
		{"vxlan cut", 1, ether(iana.TypeIPv4, udp4(iana.PortVXLAN, vxlan))[:60], "ethernet@0-60 ip@14-60 unread vxlan@34"},
		{"vxlan-gpe", 101, udp4(iana.PortVXLANGPE, join("\x0c\x00\x00\x02\x00\x00\x64\x00", packet6)), "ip@0-103 vxlan:100@28-36 ip@36-103"},
		{"geneve", 101, udp4(iana.PortGENEVE, join("\x01\x00", be16(iana.TypeBridging), "\x00\x00\x64\x00", "opti", arpFrame)),
			fmt.Sprintf("ip@0-%d geneve:100@28-40 ethernet@40-%[1]d", 40+len(arpFrame))},
		{"gtp", 101, udp4(iana.PortGTPU, join("\x32\xff", be16(4+len(packet4)), "\x00\x00\x01\x02", "\x00\x01\x00\x00", packet4)),
			"ip@0-76 gtp:258@28-40 ip@40-76"},
		{"gtp echo", 101, udp4(iana.PortGTPU, []byte("\x32\x01\x00\x04\x00\x00\x00\x00\x00\x01\x00\x00")), "ip@0-40 unread gtp@20"},
		{"gre", 101, gre4("\x00\x00", be16(iana.TypeIPv4), packet4), "ip@0-60 gre@20-24 ip@24-60"},
		{"gre key", 101, gre4("\xb0\x00", be16(iana.TypeIPv4), "sums", "\x00\x00\x00\x05", "seq!", packet4), "ip@0-72 gre:5@20-36 ip@36-72"},
		{"gretap key", 101, gre4("\x20\x00", be16(iana.TypeBridging), "\x00\x00\x00\x05", arpFrame),
			fmt.Sprintf("ip@0-%d gre:5@20-28 ethernet@28-%[1]d", 28+len(arpFrame))},
		{"nvgre", 101, gre4("\x20\x00", be16(iana.TypeBridging), "\x00\x10\x01\xff", ether(iana.TypeIPv4, packet4)),
			"ip@0-78 nvgre:4097@20-28 ethernet@28-78 ip@42-78"},
		{"pptp", 101, gre4("\x30\x81", be16(iana.TypePPP), be16(4+len(packet4)), "\x00\x07", "seq!", "ack!", "\xff\x03\x00\x21", packet4),
			"ip@0-76 pptp:7@20-36 ip@40-76"},
		{"erspan I", 101, gre4("\x00\x00", be16(iana.TypeERSPAN2), ether(iana.TypeIPv4, packet4)), "ip@0-74 erspan@20-24 ethernet@24-74 ip@38-74"},
		{"erspan II", 101, gre4("\x10\x00", be16(iana.TypeERSPAN2), "seq!", "\x10\x64\xfc\x09\x00\x00\x00\x05", ether(iana.TypeIPv4, packet4)),
			"ip@0-86 erspan:9@20-36 ethernet@36-86 ip@50-86"},
		{"erspan III", 101, gre4("\x10\x00", be16(iana.TypeERSPAN3), "seq!", "\x20\x64\x00\x09", "time", "\x00\x00\x00\x01", "platform", ether(iana.TypeIPv4, packet4)),
			"ip@0-98 erspan:9@20-48 ethernet@48-98 ip@62-98"},
		{"nested", 101, ip4(8, iana.ProtoIPv6, ip6(9, iana.ProtoGRE, join("\x00\x00", be16(iana.TypeIPv4), packet4))),
			"ip@0-100 ipip@20-20 ip@20-100 gre@60-64 ip@64-100"},
		{"fragment", 101, join("\x45\x00\x00\x24\x00\x01\x20\x00\x09\x2f\x00\x00", packet4[12:36]), "ip@0-36 unread gre@20"},
	}
	for _, c := range cases {
		if got := describeLayers(layersOf(true, c.link, c.data)); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
		outer, _, _ := strings.Cut(c.want, " ip@")
		got := describeLayers(layersOf(false, c.link, c.data))
		if strings.HasPrefix(c.want, "ip@") {
			outer = ""
		}
		if !strings.HasPrefix(got, outer) || strings.Count(got, "ip@") > 1 || strings.Contains(c.want, "ip@") != strings.Contains(got, "ip@") {
			t.Errorf("%s, without Inner: %s", c.name, got)
		}
		for n := range len(c.data) {
			b := newBatch(c.link, c.data[:n:n])
			checkLayers(t, b, 0)
			b.Frames[0].WireLen = uint32(len(c.data))
			checkLayers(t, b, 0)
		}
	}
}

// TestLayersWire checks lengths of packets that were truncated, and of frames with a
// trailer.
func TestLayersWire(t *testing.T) {
	carried := join(ether(iana.TypeIPv4, packet4), "padding")
	data := join(ether(iana.TypeIPv4, udp4(iana.PortVXLAN, join("\x08\x00\x00\x00\x00\x12\x34\x00", carried))), "trailer")
	for _, n := range []int{len(data), 80, 90} {
		b := newBatch(capture.LinkEthernet, data[:n:n])
		b.Frames[0].WireLen = uint32(len(data))
		list := NewDecoder(DecoderConfig{Inner: true}).Layers(nil, b, 0)
		want := []uint32{uint32(len(data)), uint32(len(data) - 14 - 7), 0, uint32(len(carried)), uint32(len(packet4))}
		for i, l := range list {
			if l.Wire != want[i] {
				t.Errorf("%d bytes: %v has %d bytes on the wire, want %d", n, l.Kind, l.Wire, want[i])
			}
		}
	}
}

// checkLayers checks that the layers of a frame lie within it and agree with its Header.
func checkLayers(t *testing.T, b *capture.Batch, i int) {
	t.Helper()
	for _, inner := range []bool{false, true} {
		d := NewDecoder(DecoderConfig{Inner: inner})
		var h [1]Header
		d.Decode(h[:], b, i)
		list := d.Layers(nil, b, i)
		if err := agree(&h[0], list, b.Frames[i].CapLen); err != nil {
			t.Fatalf("inner %v: %v: %s, header %+v, frame %x", inner, err, describeLayers(list), h[0], b.Data(i))
		}
	}
}

// agree returns why a Header and layers do not fit together.
func agree(h *Header, list []Layer, length uint32) error {
	tunnels, ip, carried := 0, -1, -1 // carried is the frame behind the last tunnel
	at := uint32(0)
	for i, l := range list {
		switch {
		case l.Start < at || l.End < l.Start || l.End > length:
			return fmt.Errorf("layer %d is not in order or within %d bytes", i, length)
		case l.Kind == LayerUnread && i != len(list)-1:
			return fmt.Errorf("layer %d is not the last", i)
		case l.Kind.Tunnel():
			tunnels++
			ip, carried = -1, -1
		case l.Kind == LayerEthernet && carried < 0:
			carried = i
		case l.Kind == LayerIP && ip >= 0:
			return fmt.Errorf("two datagrams without a tunnel between")
		case l.Kind == LayerIP:
			ip = i
		}
		at = l.Start
		if (l.Wire != 0) != (l.Kind == LayerEthernet || l.Kind == LayerIP) || l.Wire != 0 && l.Wire < l.End-l.Start {
			return fmt.Errorf("layer %d has %d bytes on the wire", i, l.Wire)
		}
	}
	switch {
	case (tunnels > 0) != (h.Flags&FlagInner != 0):
		return fmt.Errorf("%d tunnels", tunnels)
	case (ip >= 0) != (h.Version != 0):
		return fmt.Errorf("an IP header or none")
	case ip >= 0 && (list[ip].Start != h.Start || list[ip].End != h.End):
		return fmt.Errorf("another datagram")
	case ip < 0 && tunnels > 0:
		if l := list[carried]; l.Start != h.Start || l.End != h.End || l.Wire != h.Wire {
			return fmt.Errorf("another frame")
		}
	}
	return nil
}

// TestLayersOfCaptures compares layers and headers on all captures.
func TestLayersOfCaptures(t *testing.T) {
	t.Run("testdata", func(t *testing.T) { checkLayersIn(t, filepath.Join("..", "..", "testdata", "pcaps")) })
	t.Run("shared", func(t *testing.T) { checkLayersIn(t, sharedCaptures(t)) })
}

func checkLayersIn(t *testing.T, dir string) {
	frames := 0
	for _, ending := range []string{"*.pcap", "*.pcapng", "*.gz"} {
		names, err := filepath.Glob(filepath.Join(dir, ending))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			eachBatch(t, name, func(b *capture.Batch) {
				for i := range min(len(b.Frames), 2000) {
					checkLayers(t, b, i)
					frames++
				}
			})
		}
	}
	if frames == 0 {
		t.Errorf("no frames in %s", dir)
	}
}

// TestLayersOfCases checks all frames of the other tests, whole and truncated.
func TestLayersOfCases(t *testing.T) {
	for _, c := range linkCases {
		for _, packet := range [][]byte{c.Ip, packet4, tunnelCases[0].Outer} {
			data := join(c.Head, packet)
			for n := range len(data) + 1 {
				checkLayers(t, newBatch(c.Link, data[:n:n]), 0)
			}
		}
	}
	for _, c := range tunnelCases {
		for n := range len(c.Outer) + 1 {
			checkLayers(t, newBatch(capture.LinkRaw, c.Outer[:n:n]), 0)
		}
	}
}

// TestLayersBut leaves headers of some kinds out of lists, of stacks of many tags and labels too.
func TestLayersBut(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	d := NewDecoder(DecoderConfig{Inner: true})
	for _, c := range tunnelCases {
		for range 50 {
			typ, outer := iana.TypeIPv4, c.Outer
			if r.IntN(2) == 0 {
				for at := range r.IntN(300) {
					outer = join([]byte{byte(r.Uint32()), byte(r.Uint32()), byte(choose(at == 0, 1, 0)), 64}, outer)
					typ = iana.TypeMPLS
				}
			}
			for range r.IntN(maxTypes + 3) {
				outer = join(be16(r.IntN(4096)), be16(typ), outer)
				typ = iana.TypeVLAN
			}
			data := ether(typ, outer)
			b := newBatch(capture.LinkEthernet, data[:len(data)-r.IntN(8)])
			checkLayers(t, b, 0)
			skipped := LayerKinds(r.Uint32()) &^ (1 << LayerUnread)
			want := slices.DeleteFunc(d.Layers(nil, b, 0), func(l Layer) bool { return skipped>>l.Kind&1 != 0 })
			if got := d.LayersBut(skipped, nil, b, 0); !slices.Equal(got, want) {
				t.Fatalf("%x: %v, want %v of %x", skipped, got, want, data)
			}
		}
	}
}

// TestLayersOfDamage checks frames in which bytes were changed at random.
func TestLayersOfDamage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range tunnelCases {
		for range 200 {
			data := ether(iana.TypeVLAN, join(be16(5), be16(iana.TypeIPv4), c.Outer))
			for range 1 + r.IntN(4) {
				data[12+r.IntN(len(data)-12)] = byte(r.Uint32())
			}
			checkLayers(t, newBatch(capture.LinkEthernet, data), 0)
		}
	}
}

// FuzzLayers checks that no bytes under any link type lead to a panic, or to layers that
// lie outside of the frame or contradict its Header.
func FuzzLayers(f *testing.F) {
	for _, c := range linkCases {
		f.Add(uint32(c.Link), join(c.Head, packet4), uint32(100))
	}
	for _, c := range tunnelCases {
		f.Add(uint32(capture.LinkRaw), c.Outer, uint32(0))
	}
	f.Fuzz(func(t *testing.T, link uint32, data []byte, wireLen uint32) {
		b := newBatch(capture.LinkType(link), data)
		b.Frames[0].WireLen = wireLen
		checkLayers(t, b, 0)
	})
}

// TestLayersSteadyState checks that nothing is allocated once the list has grown.
func TestLayersSteadyState(t *testing.T) {
	var frames [][]byte
	for _, c := range tunnelCases {
		frames = append(frames, ether(iana.TypeVLAN, join(be16(1), be16(iana.TypeIPv4), c.Outer)))
	}
	b := newBatch(capture.LinkEthernet, frames...)
	d := NewDecoder(DecoderConfig{Inner: true})
	var list []Layer
	run := func() {
		for i := range b.Frames {
			list = d.Layers(list[:0], b, i)
		}
	}
	if n := testing.AllocsPerRun(10, run); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestPlain finds the headers that every program reads alike.
func TestPlain(t *testing.T) {
	ip := frametest.IP4(1, 17, frametest.UDP(1, 2, []byte("payload")))
	tag := func(types ...int) []byte {
		frame := frametest.Ether4(ip)
		for _, typ := range types {
			frame = frametest.Inserted(frame, frametest.BE16(typ), frametest.BE16(5))
		}
		return frame
	}
	p := &Plain{Outer: []uint16{0x8100, 0x88a8}}
	d := NewDecoder(DecoderConfig{Inner: true})
	for _, c := range []struct {
		name  string
		link  capture.LinkType
		frame []byte
		want  bool
	}{
		{"plain", capture.LinkEthernet, tag(), true},
		{"802.1Q", capture.LinkEthernet, tag(0x8100), true},
		{"802.1ad", capture.LinkEthernet, tag(0x8100, 0x88a8), true},
		{"two of 802.1Q", capture.LinkEthernet, tag(0x8100, 0x8100), true},
		{"802.1ad inside", capture.LinkEthernet, tag(0x88a8, 0x8100), false},
		{"three", capture.LinkEthernet, tag(0x8100, 0x8100, 0x8100), false},
		{"before 802.1ad", capture.LinkEthernet, tag(0x9100), false},
		{"MPLS", capture.LinkEthernet, frametest.Ether(0x8847, frametest.Join([]byte{0, 1, 1, 64}, ip)), false},
		{"SNAP", capture.LinkEthernet, frametest.Ether(8+len(ip), frametest.Snap(0x0800, ip)), false},
		{"tunnel", capture.LinkEthernet, frametest.Ether4(frametest.IP4(2, 4, ip)), false},
		{"no IP", capture.LinkEthernet, frametest.ARP(1), true},
		{"raw", capture.LinkRaw, ip, true},
		{"cooked", capture.LinkLinuxSLL, frametest.SLL(0, frametest.MAC(1), 0x0800, ip), true},
		{"cooked, tagged", capture.LinkLinuxSLL, frametest.SLL(0, frametest.MAC(1), 0x8100, frametest.Join(frametest.BE16(5), frametest.BE16(0x0800), ip)), false},
	} {
		b := frametest.NewBatch(c.link, c.frame)
		var h [1]Header
		d.Decode(h[:], b, 0)
		if got := p.Has(&h[0], c.link, b.Data(0)); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
