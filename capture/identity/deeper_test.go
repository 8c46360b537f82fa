// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/frametest"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// plainShapes has frames that are read without a walk.
var plainShapes = func() (all []frametest.Tap) {
	add := func(name string, frame []byte) { all = append(all, frametest.OnEthernet(name, frame)) }
	six := sized6(iana.ProtoTCP, tcp(1, 2, make([]byte, 30)))
	gtp := func(flags string, packet []byte, optional ...any) []byte {
		more := join(optional...)
		return udp4(iana.PortGTPU, join(flags, "\xff", be16(len(more)+len(packet)), "teid", more, packet))
	}
	for _, inner := range []struct {
		name   string
		typ    int
		packet []byte
	}{{"4", iana.TypeIPv4, sized4(7, iana.ProtoTCP, tcp(1, 2, make([]byte, 30)))}, {"6", iana.TypeIPv6, six}} {
		typ, packet := be16(inner.typ), inner.packet
		frame := ether(inner.typ, packet)
		vxlan := join("\x08\x00\x00\x00\x00\x00\x64\x00", frame)
		for name, outer := range map[string][]byte{
			"vxlan":            udp4(iana.PortVXLAN, vxlan),
			"vxlan of linux":   udp4(iana.PortVXLANOld, vxlan),
			"vxlan with group": udp4(iana.PortVXLAN, join("\x88", vxlan[1:])),
			"vxlan with tags":  udp4(iana.PortVXLAN, join(vxlan[:8], qinq(frame))),
			"vxlan-gpe":        udp4(iana.PortVXLANGPE, vxlan),
			"geneve":           udp4(iana.PortGENEVE, join("\x00\x00\x65\x58", vxlan[4:])),
			"geneve options":   udp4(iana.PortGENEVE, join("\x02\x40\x65\x58\x00\x00\x64\x00", "option42", frame)),
			"geneve of ip":     udp4(iana.PortGENEVE, join("\x00\x00", typ, "\x00\x00\x64\x00", packet)),
			"gtp":              gtp("\x30", packet),
			"gtp sequence":     gtp("\x32", packet, "\x00\x01\x00\x00"),
			"gtp extensions":   gtp("\x34", packet, "\x00\x00\x00\x85", "\x01\x10\x01\xc0", "\x02seven7\x00"),
			"gre":              ip4(9, iana.ProtoGRE, join("\x00\x00", typ, packet)),
			"gre with all":     ip4(9, iana.ProtoGRE, join("\xb0\x00", typ, "sum.", "key.", "seq.", packet)),
			"nvgre":            ip4(9, iana.ProtoGRE, join("\x20\x00\x65\x58", "\x00\x12\x34\x00", frame)),
			"erspan I":         ip4(9, iana.ProtoGRE, join("\x00\x00\x88\xbe", frame)),
			"erspan II":        ip4(9, iana.ProtoGRE, join("\x10\x00\x88\xbe", "seq.", "\x10\x64\x00\x01\x00\x00\x00\x05", frame)),
			"ip in ip":         ip4(9, map[int]int{iana.TypeIPv4: iana.ProtoIPv4, iana.TypeIPv6: iana.ProtoIPv6}[inner.typ], packet),
			"two deep":         udp4(iana.PortVXLAN, join(vxlan[:8], ether4(ip4(8, iana.ProtoGRE, join("\x00\x00", typ, packet))))),
			"no tunnel":        udp4(53, vxlan),
			"fragment":         with(udp4(iana.PortVXLAN, vxlan), 6, "\x20"),
		} {
			add(name+" of "+inner.name, ether4(outer))
			add(name+" in 6 of "+inner.name, ether6(ip6(9, int(outer[9]), outer[20:])))
			add(name+" below labels of "+inner.name, ether(iana.TypeMPLS, join("\x00\x01\x00\x40\x00\x02\x01\x40", frametest.Summed(outer))))
		}
		session := func(n int) []byte {
			return join("\x11\x00\x00\x09", be16(n+2), be16(map[int]int{iana.TypeIPv4: 0x21, iana.TypeIPv6: 0x57}[inner.typ]))
		}
		pppoe := ether(iana.TypePPPoE, join(session(len(packet)), packet))
		add("pppoe of "+inner.name, pppoe)
		add("pppoe behind tags of "+inner.name, qinq(pppoe))
		labels := ether(iana.TypeMPLS, join("\x00\x01\x01\x40", packet))
		add("label of "+inner.name, labels)
		add("label behind a tag of "+inner.name, vlan(labels))
	}
	return all
}()

// TestDeeper checks that datagrams of the usual shapes need no walk.
func TestDeeper(t *testing.T) {
	g := New(Config{Kind: Inner})
	for _, shape := range plainShapes {
		b := newBatch(capture.LinkEthernet, repeat(shape.Data, 13)...)
		g.FromFrames(make([]headers.Protocol, 13), b, 0)
		if g.slow[0] != 0 {
			t.Errorf("%s: %b take the slow path", shape.Name, g.slow[0])
		}
		checkFromFrames(t, Config{Kind: Inner}, b, 0)
	}
}

// TestDeeperTruncated compares with a walk where frames are cut at every length.
func TestDeeperTruncated(t *testing.T) {
	for _, shape := range plainShapes {
		b := newBatch(capture.LinkEthernet, repeat(shape.Data, len(shape.Data)+1)...)
		for n := range b.Frames {
			b.Frames[n].CapLen = uint32(n)
		}
		checkDeeper(t, b)
	}
}

// TestDeeperChanged is TestDeeper where a byte of each frame has another value.
func TestDeeperChanged(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, shape := range plainShapes {
		var frames [][]byte
		for at := range min(len(shape.Data), 140) {
			for _, change := range []byte{1, 4, 8, 0x20, 0x80, byte(1 + random.IntN(255))} {
				frames = append(frames, with(shape.Data, at, string([]byte{shape.Data[at] ^ change})))
			}
		}
		checkDeeper(t, newBatch(capture.LinkEthernet, frames...))
	}
}

// TestDeeperEncrypted has random data at the ports of tunnels, some behind headers of a tunnel and a
// frame: kernels and a walk open the same tunnels.
func TestDeeperEncrypted(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, port := range []int{iana.PortVXLAN, iana.PortVXLANOld, iana.PortVXLANGPE, iana.PortGENEVE, iana.PortGTPU} {
		var frames [][]byte
		for range 3000 {
			data := make([]byte, 20+r.IntN(100))
			for i := range data {
				data[i] = byte(r.Uint32())
			}
			switch r.IntN(4) {
			case 0:
				copy(data, []string{"\x08\x00\x00\x00", "\x00\x00\x65\x58", "\x30\xff\x00\x40", "\x34\xff\x00\x40"}[r.IntN(4)])
			case 1:
				copy(data[min(20, len(data)-3):], []string{"\x08\x00\x45", "\x86\xdd\x60", "\x81\x00\x00"}[r.IntN(3)])
			case 2:
				copy(data, []string{"\x08", "\x88", "\x0c\x00\x00\x01", "\x00\x00\x65\x58", "\x30\xff"}[r.IntN(5)])
				copy(data[min(20, len(data)-3):], []string{"\x08\x00\x45", "\x86\xdd\x60"}[r.IntN(2)])
			}
			frames = append(frames, ether4(udp4(port, data)))
		}
		checkDeeper(t, newBatch(capture.LinkEthernet, frames...))
	}
}

// TestDeeperMixed has datagrams of which a part was captured only on the wire, below a label, or
// in a tunnel, before others that were captured whole.
func TestDeeperMixed(t *testing.T) {
	for cut, shape := range plainShapes {
		b := newBatch(capture.LinkEthernet, shape.Data)
		for i := range plainShapes {
			one := newBatch(capture.LinkEthernet, plainShapes[(cut+i)%len(plainShapes)].Data)
			one.Frames[0].Data += uint32(len(b.Buf))
			b.Buf, b.Frames = append(b.Buf, one.Buf...), append(b.Frames, one.Frames...)
		}
		b.Frames[0].CapLen -= 9
		checkDeeper(t, b)
	}
}

// TestDeeperBelowLabels has a frame below a label that begins as a datagram does, but is too short
// for it.
func TestDeeperBelowLabels(t *testing.T) {
	arp := join("\x45\x00\xf0\x00\x01\x02\x02\x00\x00\x00\x00\x02", be16(iana.TypeARP), "\x00\x01\x08\x00\x06\x04\x00\x01", make([]byte, 60))
	b := newBatch(capture.LinkEthernet, repeat(ether(iana.TypeMPLS, join("\x00\x01\x01\x40", frametest.Summed(arp)))[:70], 9)...)
	if h := decode(headers.NewDecoder(headers.DecoderConfig{}), b); h[0].Version != 0 {
		t.Fatalf("a walk finds %+v", h[0])
	}
	checkDeeper(t, b)
}

// TestDeeperTagged has frames with more tags than are followed.
func TestDeeperTagged(t *testing.T) {
	labels, frame := ether(iana.TypeMPLS, join("\x00\x01\x01\x40", sized4(7, iana.ProtoTCP, tcp(1, 2, make([]byte, 30))))), ether4(sized4(7, iana.ProtoTCP, tcp(1, 2, make([]byte, 30))))
	var frames [][]byte
	for range 40 {
		frames = append(frames, labels, ether4(udp4(iana.PortVXLAN, join("\x08\x00\x00\x00\x00\x00\x64\x00", frame))))
		labels, frame = vlan(labels), vlan(frame)
	}
	checkDeeper(t, newBatch(capture.LinkEthernet, frames...))
}

// TestDeeperNested does so for more tunnels in each other than are opened.
func TestDeeperNested(t *testing.T) {
	packet := udp4(53, []byte("payload of eight"))
	var frames [][]byte
	for range 11 { // a Decoder opens 8
		frames = append(frames, ether4(packet))
		packet = ip4(9, iana.ProtoGRE, join("\x00\x00", be16(iana.TypeIPv4), packet))
	}
	checkDeeper(t, newBatch(capture.LinkEthernet, frames...))
}

func checkDeeper(t *testing.T, b *capture.Batch) {
	t.Helper()
	for _, kind := range []Kind{L3, Inner} {
		for _, ignore := range []Ignore{{}, IgnoreAlso(IPID | FlowLabel | L4Checksum)} {
			cfg := Config{Kind: kind, Ignore: ignore}
			checkFromFrames(t, cfg, b, 0)
			checkDoubts(t, cfg, b)
		}
	}
}

// checkDoubts checks that FromFrames and FromHeaders doubt the same packets.
func checkDoubts(t *testing.T, cfg Config, b *capture.Batch) {
	t.Helper()
	found := map[Doubt]int{}
	for _, one := range New(cfg).FromFrames(make([]headers.Protocol, len(b.Frames)), b, 0).Doubts() {
		found[one]++
	}
	for _, one := range New(cfg).FromHeaders(b, 0, decode(headers.NewDecoder(cfg.Decode()), b)).Doubts() {
		found[one]--
	}
	for one, n := range found {
		if n != 0 {
			t.Fatalf("%+v: frame %x: doubt %+v: %d times more", cfg, b.Data(int(one.Number)), one, n)
		}
	}
}
