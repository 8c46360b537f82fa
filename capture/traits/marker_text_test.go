// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"encoding/binary"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
	"github.com/flowdedup/flowdedup/capture/internal/frametest"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// described is a UDP packet as a capture point saw it.
type described struct {
	iface    uint32
	time     int64
	src      byte // the last byte of the source's hardware address
	vlans    []uint16
	priority uint8
	mpls     []uint32
	pppoe    uint16
	vni      uint32 // 0 is no tunnel
	outerTTL uint8
	ipv6     bool
	ttl, tos uint8
	df       bool
	arp      bool // in place of IP
	payload  string
	lan      byte // 0xa or 0xb in the trailer of PRP; 0 is none
	short    int  // of 5 words of payload
	padding  int
	checksum byte // is added to the checksum of the IPv4 header
	capLen   int  // 0 is all
}

// Interfaces of the tests: two with names in a section, one without a name, a second that
// is called eth0, two pcap files, an interface of another pcapng file, and cooked headers.
const (
	eth0 = iota
	eth1
	unnamed
	otherEth0
	onePcap
	otherPcap
	otherInput
	cooked
)

func newMarkerBatch() *capture.Batch {
	b := &capture.Batch{
		Sections: []capture.Section{
			{Format: capture.FormatPcapNG}, {Input: 1, Format: capture.FormatPcap}, {Input: 2, Format: capture.FormatPcap},
			{Input: 3, Format: capture.FormatPcapNG},
		},
		Interfaces: []capture.Interface{
			{Name: "eth0"}, {Name: "eth1", ID: 1}, {ID: 2}, {Name: "eth0", ID: 3}, {Name: "one.pcap", Section: 1},
			{Name: "other.pcap", Section: 2}, {Name: "eth0", Section: 3}, {Name: "any", ID: 4, LinkType: capture.LinkLinuxSLL2},
		},
	}
	for i := range b.Interfaces {
		it := &b.Interfaces[i]
		it.CapturePoint = uint32(i)
		if it.LinkType == 0 {
			it.LinkType = capture.LinkEthernet
		}
	}
	return b
}

// bytes returns the frame.
func (s *described) bytes(t testing.TB) []byte {
	t.Helper()
	ethernet := &layers.Ethernet{DstMAC: net.HardwareAddr{2, 0, 0, 0, 0, 99}, SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, s.src}, EthernetType: layers.EthernetTypeIPv4}
	var list []gopacket.SerializableLayer
	if s.vni != 0 {
		outer := &layers.Ethernet{DstMAC: make(net.HardwareAddr, 6), SrcMAC: make(net.HardwareAddr, 6), EthernetType: layers.EthernetTypeIPv4}
		ip := &layers.IPv4{Version: 4, TTL: s.outerTTL, Protocol: layers.IPProtocolUDP, SrcIP: net.IP{192, 0, 2, 1}, DstIP: net.IP{192, 0, 2, 2}}
		list = append(list, outer, ip, &layers.UDP{SrcPort: 9999, DstPort: 4789}, &layers.VXLAN{ValidIDFlag: true, VNI: s.vni})
	}
	list = append(list, ethernet)
	announce := &ethernet.EthernetType
	for _, id := range s.vlans {
		tag := &layers.Dot1Q{VLANIdentifier: id, Priority: s.priority, Type: layers.EthernetTypeIPv4}
		*announce, announce = layers.EthernetTypeDot1Q, &tag.Type
		list = append(list, tag)
	}
	for i, label := range s.mpls {
		*announce = layers.EthernetTypeMPLSUnicast
		list = append(list, &layers.MPLS{Label: label, TTL: 9, StackBottom: i == len(s.mpls)-1})
	}
	if s.pppoe != 0 {
		*announce = layers.EthernetTypePPPoESession
		list = append(list, &layers.PPPoE{Version: 1, Type: 1, SessionId: s.pppoe}, &layers.PPP{PPPType: layers.PPPTypeIPv4})
	}
	udp := &layers.UDP{SrcPort: 53, DstPort: 54}
	switch {
	case s.arp:
		*announce = layers.EthernetTypeARP
		list = append(list, gopacket.Payload("0123456789012345678901234567"))
	case s.ipv6:
		*announce = layers.EthernetTypeIPv6
		ip := &layers.IPv6{Version: 6, HopLimit: s.ttl, TrafficClass: s.tos, NextHeader: layers.IPProtocolUDP, SrcIP: net.ParseIP("fd00::1"), DstIP: net.ParseIP("fd00::2")}
		list = append(list, ip, udp)
	default:
		ip := &layers.IPv4{Version: 4, TTL: s.ttl, TOS: s.tos, Protocol: layers.IPProtocolUDP, SrcIP: net.IP{10, 0, 0, 1}, DstIP: net.IP{10, 0, 0, 2}}
		list = append(list, ip, udp)
	}
	list = append(list, gopacket.Payload(strings.Repeat("payload ", 5-s.short)+s.payload))
	buf := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: false}, list...); err != nil {
		t.Fatal(err)
	}
	data := append(buf.Bytes(), make([]byte, s.padding)...)
	if s.iface == cooked {
		data = append([]byte{data[12], data[13], 0, 0, 0, 0, 0, s.src, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0}, data[14:]...)
	}
	if s.lan != 0 {
		data = append(data, 0, 1, s.lan<<4, byte(len(data)-14+6), 0x88, 0xfb)
	}
	if s.checksum != 0 {
		data[14+10] += s.checksum
	}
	if s.df {
		data[14+6] |= 0x40
	}
	return data
}

// appendTo appends the packet to a batch.
func (s *described) appendTo(t testing.TB, b *capture.Batch) {
	t.Helper()
	data := s.bytes(t)
	f := capture.Frame{Time: s.time, Data: uint32(len(b.Buf)), CapLen: uint32(len(data)), WireLen: uint32(len(data)), Interface: s.iface}
	if s.capLen > 0 {
		f.CapLen = uint32(s.capLen)
	}
	b.Buf = append(b.Buf, data...)
	b.Frames = append(b.Frames, f)
}

// TestComments compares two sightings of a packet.
func TestComments(t *testing.T) {
	for _, c := range []struct {
		name   string
		kept   described
		change func(s *described)
		want   string // after the number
	}{
		{"identical", described{}, func(*described) {}, ", at the same time, identical"},
		{"later", described{}, func(s *described) { s.time += 210_999 }, ", 0.210 ms later, identical"},
		{"just later", described{}, func(s *described) { s.time++ }, ", 1 ns later, identical"},
		{"much later", described{}, func(s *described) { s.time += 61_234_567_890 }, ", 61.234 s later, identical"},
		{"earlier", described{}, func(s *described) { s.time -= 12_345_678 }, ", 12.345 ms earlier, identical"},
		{"extreme times", described{time: 1<<63 - 1}, func(s *described) { s.time = -1<<63 + 1 }, ", 18446744073.709 s earlier, identical"},
		{"copy without time", described{}, func(s *described) { s.time = capture.NoTime }, ", identical"},
		{"nothing has a time", described{time: capture.NoTime}, func(*described) {}, ", identical"},

		{"VLAN", described{vlans: []uint16{10}}, func(s *described) { s.vlans = []uint16{20} }, ", VLAN 10 -> 20"},
		{"tagged", described{}, func(s *described) { s.vlans = []uint16{0} }, ", VLAN none -> 0"},
		{"untagged", described{vlans: []uint16{4095, 20}}, func(s *described) { s.vlans = nil }, ", VLAN 4095/20 -> none"},
		{"outer tag off", described{vlans: []uint16{30, 20}}, func(s *described) { s.vlans = s.vlans[1:] }, ", VLAN 30/20 -> 20"},
		{"priority", described{vlans: []uint16{10}}, func(s *described) { s.priority = 5 }, ", VLAN tag"},
		{"many tags", described{vlans: []uint16{1, 2, 3, 4, 5, 6, 7, 8}}, func(s *described) { s.vlans = []uint16{1, 2, 3, 4, 5, 6, 7, 9} }, ", VLAN tag"},
		{"tagged, without IP", described{arp: true}, func(s *described) { s.vlans = []uint16{10} }, ", VLAN none -> 10"},
		{"MPLS", described{mpls: []uint32{100, 200}}, func(s *described) { s.mpls = []uint32{300} }, ", MPLS 100/200 -> 300"},
		{"MPLS off", described{mpls: []uint32{100}}, func(s *described) { s.mpls = nil }, ", MPLS 100 -> none"},
		{"many labels", described{mpls: []uint32{1, 2, 3, 4, 5, 6, 7, 8}}, func(s *described) { s.mpls = []uint32{1, 2, 3, 4, 5, 6, 7, 9} }, ", headers before IP"},
		{"session", described{pppoe: 7}, func(s *described) { s.pppoe = 8 }, ", PPPoE 7 -> 8"},
		{"VNI", described{vni: 5000}, func(s *described) { s.vni = 6000 }, ", VXLAN 5000 -> 6000"},
		{"outer header", described{vni: 5000, outerTTL: 9}, func(s *described) { s.outerTTL = 8 }, ", headers before IP"},
		{"tunnel", described{}, func(s *described) { s.vni = 1 }, ", VXLAN none -> 1"},
		{"VLAN in a tunnel", described{vni: 5, vlans: []uint16{10}}, func(s *described) { s.vlans = []uint16{20} }, ", VLAN 10 -> 20"},

		{"TTL", described{ttl: 64}, func(s *described) { s.ttl = 63 }, ", TTL 64 -> 63"},
		{"hop limit", described{ipv6: true, ttl: 64}, func(s *described) { s.ttl = 63 }, ", hop limit 64 -> 63"},
		{"ToS", described{}, func(s *described) { s.tos = 0xb8 }, ", ToS 0x00 -> 0xb8"},
		{"class", described{ipv6: true, tos: 0xb8}, func(s *described) { s.tos = 1 }, ", traffic class 0xb8 -> 0x01"},
		{"DF", described{ttl: 64}, func(s *described) { s.ttl, s.df = 63, true }, ", TTL 64 -> 63, DF set"},
		{"no DF", described{df: true}, func(s *described) { s.df = false }, ", DF cleared"},
		{"checksum", described{}, func(s *described) { s.checksum = 1 }, ", other bytes"},
		{"MAC", described{}, func(s *described) { s.src = 8 }, ", MAC"},
		{"payload", described{}, func(s *described) { s.payload = "!" }, ", length 82 -> 83"},
		{"other payload", described{payload: "a"}, func(s *described) { s.payload = "b" }, ", other bytes"},
		{"other bytes, without IP", described{arp: true, payload: "a"}, func(s *described) { s.payload = "b" }, ", other bytes"},
		{"padding", described{}, func(s *described) { s.padding = 11 }, ", length 82 -> 93"},
		{"tagged, padded", described{short: 5}, func(s *described) { s.vlans = []uint16{10} }, ", VLAN none -> 10"},
		{"padded, without IP", described{arp: true, short: 5}, func(s *described) { s.vlans = []uint16{10} }, ", VLAN none -> 10"},
		{"truncated", described{}, func(s *described) { s.capLen = 45 }, ", captured 82 -> 45 bytes"},
		{"truncated, tagged", described{capLen: 45}, func(s *described) { s.capLen, s.vlans = 49, []uint16{10} }, ", VLAN none -> 10"},
		{"routed", described{vlans: []uint16{10}, ttl: 64}, func(s *described) {
			*s = described{iface: eth1, time: 210_000, src: 1, vlans: []uint16{20}, ttl: 63}
		}, ", 0.210 ms later, VLAN 10 -> 20, TTL 64 -> 63, interface eth0 -> eth1, MAC"},

		{"interface", described{}, func(s *described) { s.iface = eth1 }, ", interface eth0 -> eth1"},
		{"unnamed interface", described{}, func(s *described) { s.iface = unnamed }, ", interface eth0 -> #2"},
		{"interface of the same name", described{}, func(s *described) { s.iface = otherEth0 }, ", interface eth0 #0 -> eth0 #3"},
		{"pcap files", described{iface: onePcap}, func(s *described) { s.iface = otherPcap }, ", input one.pcap -> other.pcap"},
		{"the same interface in two files", described{}, func(s *described) { s.iface = otherInput }, ", input all.pcapng -> #3"},
		{"interfaces in two files", described{iface: eth1}, func(s *described) { s.iface = otherInput }, ", interface eth1 -> eth0, input all.pcapng -> #3"},
		{"LANs", described{lan: 0xa}, func(s *described) { s.lan = 0xb }, ", LAN A -> LAN B, other bytes"},
		{"LANs at two interfaces", described{lan: 0xb}, func(s *described) { s.lan, s.iface = 0xa, eth1 }, ", LAN B -> LAN A, interface eth0 -> eth1, other bytes"},
		{"no LAN", described{lan: 0xb}, func(s *described) { s.lan = 0 }, ", LAN B -> no LAN, length 88 -> 82"},
		{"cooked", described{iface: cooked, src: 2}, func(s *described) { s.src = 3 }, ", interface 2 -> 3"},
	} {
		b, s := newMarkerBatch(), c.kept
		s.appendTo(t, b)
		c.change(&s)
		s.appendTo(t, b)
		m := NewMarker(MarkerConfig{
			Decoder: headers.NewDecoder(headers.DecoderConfig{Inner: c.kept.vni != 0 || s.vni != 0}),
			Inputs:  []string{"all.pcapng", "one.pcap", "other.pcap"},
		})
		got, _ := m.Mark(b, []digest.Digest{{1, 2}, {1, 2}}, []uint64{2}, nil, nil)
		if len(got.Comments.Of(0)) != 0 {
			t.Errorf("%s: %q on what is kept", c.name, got.Comments.Of(0))
		}
		want := "copy of packet 1" + c.want
		if !strings.HasPrefix(c.want, ", ") || c.kept.time == s.time && s.time != capture.NoTime && !strings.Contains(c.want, "time") {
			want = "copy of packet 1, at the same time" + c.want
		}
		if text := string(got.Comments.Of(1)); text != want {
			t.Errorf("%s: %q, want %q", c.name, text, want)
		}
	}
}

// TestShortFrames compares comments on copies of frames that were kept as they came with those on
// descriptions of all frames.
func TestShortFrames(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	frames := append(frametest.MostlyFast(), frametest.NearCopies()...)
	for i, frame := range frames[:1000] {
		frames = append(frames, frametest.PRP(frame, 14, 0xa+i%2, i), frametest.Checked(frametest.PRP(frame, 14, 0xa, i)))
	}
	short, markers := 0, []*Marker{}
	for _, inner := range []bool{true, false} {
		markers = append(markers, newMarker(MarkerConfig{Decoder: headers.NewDecoder(headers.DecoderConfig{Inner: inner})}, 1))
	}
	for n := range 40_000 {
		frame := frames[n%len(frames)]
		frame = frame[:min(len(frame), 30+r.IntN(90))]
		other := slices.Clone(frame)
		for range min(len(other)/12, r.IntN(3)*r.IntN(6)) {
			other = slices.Insert(other, 12, iana.TypeVLAN>>8, iana.TypeVLAN&0xff, byte(r.IntN(256)), byte(r.IntN(256)))
		}
		for range min(len(other), r.IntN(3)) {
			other[r.IntN(min(len(other), []int{14, 34, 90}[r.IntN(3)]))] ^= 1 << r.IntN(8)
		}
		links := [...]capture.LinkType{capture.LinkEthernet, capture.LinkRaw, capture.LinkLinuxSLL2}
		b := frametest.NewBatch(links[max(r.IntN(12)-9, 0)], frame, other)
		m := markers[n%2]
		m.interfaces, m.sections = b.Interfaces, b.Sections
		m.keep(make([]digest.Digest, 1), b, 0, 1)
		kept := m.kept.find(digest.Digest{}, 0, 0)
		if kept.raw {
			short++
		}
		got := string(m.comment(nil, m.recall(kept, b, 1), &m.copied))
		if want := string(m.comment(nil, m.describe(&m.original, b, 0, 1), m.describe(&m.copied, b, 1, 2))); got != want {
			t.Fatalf("%q, want %q\n%x\n%x", got, want, frame, other)
		}
	}
	if short < 10_000 {
		t.Errorf("%d short frames", short)
	}
}

// TestShortOptions has copies whose options, and nothing else, say where their PRP trailers end.
func TestShortOptions(t *testing.T) {
	b, o := newMarkerBatch(), binary.LittleEndian
	for lan := 0xa; lan <= 0xb; lan++ {
		frame := frametest.Join(frametest.PRP(frametest.Over4(frametest.Packet4), 14, lan, 1), "FCS?")
		const sequence = 4 << 5 // of 4 bytes at the end
		record := capturetest.PacketBlock(o, 0, 1, uint32(len(frame)), frame, capturetest.Option(o, encoding.OptFlags, sequence, 0, 0, 0))
		f := capture.Frame{CapLen: uint32(len(frame)), WireLen: uint32(len(frame)), Record: uint32(len(b.Buf)), RecordLen: uint32(len(record))}
		f.Data = f.Record + encoding.PacketHead
		b.Buf, b.Frames = append(b.Buf, record...), append(b.Frames, f)
	}
	m := NewMarker(MarkerConfig{Decoder: headers.NewDecoder(headers.DecoderConfig{})})
	got, _ := m.Mark(b, make([]digest.Digest, 2), []uint64{2}, nil, nil)
	if text := string(got.Comments.Of(1)); text != "copy of packet 1, at the same time, LAN A -> LAN B, other bytes" {
		t.Error(text)
	}
}

// TestNames writes only printable names, and not too much of them.
func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"":                       "",
		"eth0":                   "eth0",
		"Netzwerk ä":             "Netzwerk ä",
		"a\nb\x00c\x1b[2J":       "a?b?c?[2J",
		"\xff\xfe":               "\uFFFD\uFFFD",
		strings.Repeat("x", 99):  strings.Repeat("x", 64) + "...",
		strings.Repeat("ää", 40): strings.Repeat("ää", 16) + "...",
	} {
		if got := string(appendName(nil, name)); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
