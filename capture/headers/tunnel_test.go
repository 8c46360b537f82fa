// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

func TestTunnels(t *testing.T) {
	for _, c := range tunnelCases {
		t.Run(c.Name, func(t *testing.T) {
			data := ether(map[byte]int{4: iana.TypeIPv4, 6: iana.TypeIPv6}[c.Outer[0]>>4], c.Outer)
			outer := decodeOne(DecoderConfig{}, capture.LinkEthernet, data)
			if !tail(outer, data, c.Outer) || outer.Flags&FlagInner != 0 {
				t.Fatalf("without Inner: %+v", outer)
			}
			data = append(data, "trailer"...)
			h := decodeOne(DecoderConfig{Inner: true}, capture.LinkEthernet, data)
			want := c.Carried
			if want == nil {
				want = c.Outer
			}
			if (h.Flags&FlagInner != 0) != (c.Carried != nil) {
				t.Errorf("opened or not: %+v", h)
			}
			if got := string(data[h.Start:h.End]); got != string(want) {
				t.Errorf("got %x\nwant %x", got, want)
			}
			if string(c.Carried) == string(arpFrame) {
				if h.Version != 0 || int(h.Wire) != len(arpFrame) {
					t.Errorf("got %+v, want a frame without IP", h)
				}
			}
			for n := range len(data) {
				checkHeader(t, decodeOne(DecoderConfig{Inner: true}, capture.LinkEthernet, data[:n:n]), n)
			}
		})
	}
}

// TestTunnelsByGopacket opens tunnels that another implementation wrote.
func TestTunnelsByGopacket(t *testing.T) {
	ip := func(proto layers.IPProtocol) *layers.IPv4 {
		return &layers.IPv4{Version: 4, TTL: 9, Protocol: proto, SrcIP: net.IP{1, 1, 1, 1}, DstIP: net.IP{2, 2, 2, 2}}
	}
	eth := &layers.Ethernet{SrcMAC: mac(3), DstMAC: mac(4), EthernetType: layers.EthernetTypeIPv4}
	for name, stack := range map[string][]gopacket.SerializableLayer{
		"gre":   {ip(layers.IPProtocolGRE), &layers.GRE{Protocol: layers.EthernetTypeIPv4, KeyPresent: true, Key: 7, SeqPresent: true, ChecksumPresent: true}},
		"vxlan": {ip(layers.IPProtocolUDP), &layers.UDP{DstPort: 4789}, &layers.VXLAN{ValidIDFlag: true, VNI: 5}, eth},
		"gtp":   {ip(layers.IPProtocolUDP), &layers.UDP{DstPort: 2152}, &layers.GTPv1U{Version: 1, ProtocolType: 1, MessageType: 255, MessageLength: uint16(len(packet4)), TEID: 5}},
	} {
		t.Run(name, func(t *testing.T) {
			buf := gopacket.NewSerializeBuffer()
			stack = append(stack, gopacket.Payload(packet4))
			if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true}, stack...); err != nil {
				t.Fatal(err)
			}
			data := buf.Bytes()
			h := decodeOne(DecoderConfig{Inner: true}, capture.LinkRaw, data)
			if string(data[h.Start:h.End]) != string(packet4) || h.SrcPort != 1000 {
				t.Errorf("got %+v in %x", h, data)
			}
		})
	}
}

// TestTunnelFragments checks that fragments are not opened, and that a whole packet with
// a fragment header is.
func TestTunnelFragments(t *testing.T) {
	whole := udp4(iana.PortVXLAN, join("\x08\x00\x00\x00\x00\x00\x64\x00", ether(iana.TypeIPv4, packet4)))
	first := append([]byte(nil), whole...)
	first[6] = 0x20
	atomic := ip6(9, iana.ProtoFragment, join("\x04\x00\x00\x00iden", packet4))
	for _, c := range []struct {
		name string
		data []byte
		open bool
	}{{"whole", whole, true}, {"first fragment", first, false}, {"atomic fragment", atomic, true}} {
		h := decodeOne(DecoderConfig{Inner: true}, capture.LinkRaw, c.data)
		if open := h.Flags&FlagInner != 0; open != c.open {
			t.Errorf("%s: opened %v, want %v", c.name, open, c.open)
		}
	}
}

// TestTunnelLink checks whose addresses and tags a header has.
func TestTunnelLink(t *testing.T) {
	inner := join(mac(7), mac(8), be16(iana.TypeVLAN), be16(0x6005), be16(iana.TypeIPv4), packet4)
	bridged := ether(iana.TypeVLAN, join(be16(100), be16(iana.TypeIPv4), gre4("\x00\x00", be16(iana.TypeBridging), inner)))
	routed := ether(iana.TypeVLAN, join(be16(100), be16(iana.TypeIPv4), ip4(9, iana.ProtoIPv4, packet4)))
	h := decodeOne(DecoderConfig{Inner: true}, capture.LinkEthernet, bridged)
	if h.VLAN != 5 || bridged[h.Dst+5] != 7 || bridged[h.Src+5] != 8 || h.Tags != 1 {
		t.Errorf("bridged: %+v", h)
	}
	h = decodeOne(DecoderConfig{Inner: true}, capture.LinkEthernet, routed)
	if h.VLAN != 100 || h.Dst != 0 || h.Src != 6 || h.Tag != 14 || h.Tags != 1 {
		t.Errorf("routed: %+v", h)
	}
	// A tag before the frame that a tunnel carries is not part of the frame.
	odd := gre4("\x00\x00", be16(iana.TypeVLAN), be16(3), be16(iana.TypeBridging), arpFrame)
	h = decodeOne(DecoderConfig{Inner: true}, capture.LinkRaw, odd)
	if h.Version != 0 || h.Tags != 0 || string(odd[h.Start:h.End]) != string(arpFrame) {
		t.Errorf("tag before the frame: %+v", h)
	}
}

// TestTunnelDepth checks the limit of nested tunnels.
func TestTunnelDepth(t *testing.T) {
	data := packet4
	for range 50 {
		data = ip4(9, iana.ProtoIPv4, data)
	}
	h := decodeOne(DecoderConfig{Inner: true}, capture.LinkRaw, data)
	if h.Start != 20*maxTunnels {
		t.Errorf("innermost header at %d, want %d", h.Start, 20*maxTunnels)
	}
}

// TestTunnelOf names exactly the tunnels that identity Inner opens.
func TestTunnelOf(t *testing.T) {
	names := map[string]LayerKind{
		"gre": LayerGRE, "pptp": LayerGRE, "erspan": LayerERSPAN, "vxlan": LayerVXLAN, "vxlan-gpe": LayerVXLAN, "geneve": LayerGENEVE, "gtp": LayerGTPU,
		"ip": LayerIPinIP, "6": LayerIPinIP, "4": LayerIPinIP, "three": LayerIPinIP, "ah": LayerIPinIP, "wccp": LayerGRE, "eoip": LayerEoIP, "etherip": LayerEtherIP,
		"mpls": LayerMPLSinIP, "srv6": LayerEthernetInIP, "l2tp": LayerL2TP, "lisp": LayerLISP, "jmirror": LayerJMirror, "tzsp": LayerTZSP,
		"capwap": LayerCAPWAP, "lwapp": LayerLWAPP, "teredo": LayerTeredo, "gue": LayerGUE, "l2tpv3": LayerL2TPv3, "mirror": LayerGRE,
	}
	for _, c := range tunnelCases {
		want := LayerKind(0)
		if c.Carried != nil {
			first, _, _ := strings.Cut(c.Name, " ")
			want = names[strings.TrimSuffix(first, ",")]
		}
		if got := usualTunnels.tunnelOf(newBatch(capture.LinkRaw, c.Outer), 0); got != Tunnel(want) {
			t.Errorf("%s: %v, want %v", c.Name, got, Tunnel(want))
		}
		for n := range len(c.Outer) {
			usualTunnels.tunnelOf(newBatch(capture.LinkRaw, c.Outer[:n:n]), 0) // must not read beyond
		}
	}
}

// Packets of raw IP, bare and in tunnels.
const (
	plainUDP = "\x45\x00\x00\x1c\x00\x01\x00\x00\x40\x11\x00\x00\x0a\x00\x00\x01\x0a\x00\x00\x02" + "\x00\x05\x00\x06\x00\x08\x00\x00"
	inGRE    = "\x45\x00\x00\x34\x00\x01\x00\x00\x40\x2f\x00\x00\x0a\x00\x00\x01\x0a\x00\x00\x02" + "\x00\x00\x08\x00" + plainUDP
	inIP     = "\x45\x00\x00\x30\x00\x01\x00\x00\x40\x04\x00\x00\x0a\x00\x00\x01\x0a\x00\x00\x02" + plainUDP
)

// batches cuts a stream of packets into batches of random lengths.
func batches(r *rand.Rand, packets []string) (all []*capture.Batch) {
	for len(packets) > 0 {
		b := &capture.Batch{Interfaces: []capture.Interface{{LinkType: capture.LinkRaw}}, Sections: make([]capture.Section, 1)}
		n := min(r.IntN(300), len(packets))
		for _, p := range packets[:n] {
			size := uint32(len(p))
			b.Frames = append(b.Frames, capture.Frame{Data: uint32(len(b.Buf)), CapLen: size, WireLen: size})
			b.Buf = append(b.Buf, p...)
		}
		all, packets = append(all, b), packets[n:]
	}
	return all
}

// TestTunnelSample checks that every packet of a short stream is sampled, and every 16th
// of a long stream, wherever batches end.
func TestTunnelSample(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 4096, 4097, 60_000} {
		packets := make([]string, n)
		tunnels := 0
		for i := range packets {
			packets[i] = []string{plainUDP, inGRE, inGRE, inIP}[r.IntN(4)]
			if packets[i] != plainUDP {
				tunnels++
			}
		}
		var first *TunnelSample
		for range 3 {
			s := &TunnelSample{}
			for _, b := range batches(r, packets) {
				s.Add(b)
			}
			if first == nil {
				first = s
			}
			if *s != *first {
				t.Fatalf("%d packets: the sample depends on batches", n)
			}
		}
		share, kinds := first.Share()
		if first.seen != uint64(n) || n <= 4096 && share != float64(tunnels)/math.Max(1, float64(n)) {
			t.Errorf("%d packets: share %v of %d", n, share, first.seen)
		}
		if n < 4096 {
			continue
		}
		if math.Abs(share-0.75) > 0.04 || !slices.Equal(kinds, []Tunnel{Tunnel(LayerGRE), Tunnel(LayerIPinIP)}) { // five standard errors
			t.Errorf("%d packets: share %v, %v", n, share, kinds)
		}
		for i := range first.n {
			if got, want := first.kinds[i] == 0, packets[i<<first.shift] == plainUDP; got != want {
				t.Fatalf("%d packets: sample %d is of another packet", n, i)
			}
		}
	}
}

// TestPseudowires reads sessions with any cookie and sublayer: of sound packets, whatever their
// checksum, hardly any is read as something else, and of random data none is taken for a packet.
func TestPseudowires(t *testing.T) {
	const packets = 100_000
	r := rand.New(rand.NewPCG(41, 42))
	wrong, closed, invented := 0, 0, 0
	for i := range packets {
		inside := someDatagram(r, []byte{4, 6}[r.IntN(2)], r.IntN(len(sums)))
		before := randomBytes(r, []int{0, 4, 8}[r.IntN(3)])
		if r.IntN(2) == 0 {
			before = append(before, 0x40, 0, byte(i>>8), byte(i))
		}
		switch r.IntN(8) {
		case 0:
		case 1:
			before = append(before, join("\xff\x03", be16(map[byte]int{4: pppIPv4, 6: pppIPv6}[inside[0]>>4]))...)
		default:
			frame := ether(map[byte]int{4: iana.TypeIPv4, 6: iana.TypeIPv6}[inside[0]>>4], nil)
			copy(frame, randomBytes(r, 12))
			if r.IntN(4) == 0 {
				frame = vlan(frame)
			}
			before = append(before, frame...)
		}
		data := ip4(9, iana.ProtoL2TP, join("\x00\x00\x00\x4d", before, inside))
		at := len(data) - len(inside)
		h := decodeOne(DecoderConfig{Inner: true}, capture.LinkRaw, data)
		switch {
		case h.Flags&FlagInner == 0:
			closed++
		case int(h.Start) != at || h.Version != inside[0]>>4:
			wrong++
		}
		random := ip4(9, iana.ProtoL2TP, join("\x00\x00\x00\x4d", randomBytes(r, 20+r.IntN(300))))
		if h = decodeOne(DecoderConfig{Inner: true}, capture.LinkRaw, random); h.Flags&FlagInner != 0 {
			invented++
		}
	}
	t.Logf("of %d: %d wrong, %d closed; of random data %d opened", packets, wrong, closed, invented)
	if wrong > 20 || closed > 100 || invented > 3 {
		t.Errorf("of %d: %d wrong, %d closed; of random data %d opened", packets, wrong, closed, invented)
	}
}

// TestDoubtful checks that a tunnel which is not believed is none, unless it may only be
// cut off.
func TestDoubtful(t *testing.T) {
	decoder := NewDecoder(DecoderConfig{Inner: true})
	for _, c := range udpTunnelCases {
		b := newBatch(capture.LinkRaw, c.Outer)
		layers := decoder.Layers(nil, b, 0)
		if last := layers[len(layers)-1]; (c.Carried == nil) != (len(layers) == 1) || last.Kind == LayerUnread {
			t.Errorf("%s: %+v", c.Name, layers)
		}
		cut := newBatch(capture.LinkRaw, c.Outer[:min(36, len(c.Outer)-1)])
		cut.Frames[0].WireLen = uint32(len(c.Outer))
		layers = decoder.Layers(nil, cut, 0)
		if last := layers[len(layers)-1]; last.Kind != LayerUnread || len(layers) != 2 {
			t.Errorf("%s, cut: %+v", c.Name, layers)
		}
	}
}

// TestRandomDatagrams sends random data to the ports of tunnels, as programs that encrypt do. All but
// few keep the addresses outside.
func TestRandomDatagrams(t *testing.T) {
	const datagrams = 100_000
	r := rand.New(rand.NewPCG(35, 36))
	for _, to := range usualPorts {
		n, b := 0, &capture.Batch{}
		for range datagrams {
			b = newBatch(capture.LinkRaw, ip4(1, iana.ProtoUDP, udp(50000, int(to.port), randomBytes(r, 16+r.IntN(200)))))
			if h := decode(NewDecoder(DecoderConfig{Inner: true}), b)[0]; h.Flags&FlagInner != 0 {
				n++
			}
		}
		t.Logf("%d (%v): %d of %d opened", to.port, to.kind, n, datagrams)
		if n > 3 {
			t.Errorf("%d (%v): %d of %d opened", to.port, to.kind, n, datagrams)
		}
	}
}

// TestOrdinaryDatagrams checks that other programs may use the ports of tunnels that are
// recognized by their content.
func TestOrdinaryDatagrams(t *testing.T) {
	dns := "\x01\x00\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00\x07example\x03com\x00\x00\x01\x00\x01\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\x0a\x00\x00\x01"
	quic := "\x45\xee\x01\x02\x03\x04\x05\x06\x45\x17\x00\x2b\x59\x01\x22\x03\x40\x11\x71\x3c what looks like IPv4"
	for _, port := range []int{iana.PortL2TP, iana.PortLISP, iana.PortMPLS, iana.PortJMirror, iana.PortTZSP, iana.PortVXLAN, iana.PortCAPWAP, iana.PortLWAPP, iana.PortTeredo, iana.PortGUE} {
		for i, payload := range []string{dns, quic, string(make([]byte, 64)), "\x00\x02" + string(make([]byte, 64)), "short", ""} {
			d := udp4(port, []byte(payload))
			if h := decodeOne(DecoderConfig{Inner: true}, capture.LinkRaw, d); h.Flags&FlagInner != 0 || h.Start != 0 {
				t.Errorf("port %d, payload %d: %+v", port, i, h)
			}
		}
	}
}
